# From the sources of a study to clean records: every dropped line is counted in the JSON beside them.


rule fetch:
    output:
        corpus=f"{STUDY}/corpora/raw/{{corpus}}.tsv.zst",
        about=f"{STUDY}/corpora/raw/{{corpus}}.json",
    log:
        f"{STUDY}/logs/fetch_{{corpus}}.log",
    benchmark:
        f"{STUDY}/benchmarks/fetch_{{corpus}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=600,
    params:
        spec=lambda w: json.dumps(source(w.corpus)),
        languages=PAIR,
        mirror=f"--mirror {config['mirror']}" if config["mirror"] else "",
        seed=config["seed"],
    shell:
        "python -m distill.fetch --name {wildcards.corpus} --languages {params.languages} --spec {params.spec:q}"
        " {params.mirror} --seed {params.seed} --output {output.corpus} 2> {log}"


rule subset:
    """A random subset, where a corpus has a `sample`."""
    input:
        corpus=f"{STUDY}/corpora/raw/{{corpus}}.tsv.zst",
    output:
        corpus=f"{STUDY}/corpora/subset/{{corpus}}.tsv.zst",
        about=f"{STUDY}/corpora/subset/{{corpus}}.json",
    log:
        f"{STUDY}/logs/subset_{{corpus}}.log",
    benchmark:
        f"{STUDY}/benchmarks/subset_{{corpus}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=120,
    params:
        sample=lambda w: config["corpora"][w.corpus]["sample"],
        seed=config["seed"],
    shell:
        "python -m distill.subset --input {input.corpus} --sample {params.sample} --seed {params.seed}"
        " --output {output.corpus} 2> {log}"


rule copy_held_out:
    """Dev and test sets are never filtered."""
    input:
        corpus=f"{STUDY}/corpora/raw/{{corpus}}.tsv.zst",
    output:
        corpus=f"{STUDY}/corpora/clean/{{corpus}}.tsv.zst",
        counts=f"{STUDY}/corpora/clean/{{corpus}}.json",
    log:
        f"{STUDY}/logs/clean_{{corpus}}.log",
    benchmark:
        f"{STUDY}/benchmarks/clean_{{corpus}}.tsv"
    wildcard_constraints:
        corpus="|".join(map(re.escape, HELD_OUT)),
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    params:
        role=lambda w: config["corpora"][w.corpus]["role"],
        languages=PAIR,
    shell:
        "python -m distill.clean --input {input.corpus} --role {params.role} --languages {params.languages}"
        " --output {output.corpus} 2> {log}"


rule clean:
    """A shard is a range of the corpus, so nothing has to be cut up before."""
    input:
        corpus=lambda w: f"{STUDY}/corpora/{taken(w.corpus)}/{w.corpus}.tsv.zst",
        held_out=ancient(expand(f"{STUDY}/corpora/raw/{{name}}.tsv.zst", name=HELD_OUT)),
    output:
        shard=temp(f"{STUDY}/corpora/parts/{{corpus}}/{{scatteritem}}.tsv.zst"),
        counts=temp(f"{STUDY}/corpora/parts/{{corpus}}/{{scatteritem}}.json"),
        hashes=temp(f"{STUDY}/corpora/parts/{{corpus}}/{{scatteritem}}.keys"),
        rejected=[temp(f"{STUDY}/corpora/parts/{{corpus}}/{{scatteritem}}.rejected.tsv.zst")] if KEEP_REJECTED else [],
    log:
        f"{STUDY}/logs/clean_{{corpus}}_{{scatteritem}}.log",
    benchmark:
        f"{STUDY}/benchmarks/clean_{{corpus}}_{{scatteritem}}.tsv"
    wildcard_constraints:
        corpus="|".join(map(re.escape, TRAINING)),
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=600,
    params:
        shard=lambda w: w.scatteritem.replace("-of-", "/"),
        languages=lambda w: languages(config["corpora"][w.corpus], PAIR),
        rules=lambda w: json.dumps(cleaning(w.corpus)),
        rejected=lambda w, output: f"--rejected {output.rejected}" if KEEP_REJECTED else "",
    shell:
        "python -m distill.clean --input {input.corpus} --shard {params.shard} --languages {params.languages}"
        " --rules {params.rules:q} --held-out {input.held_out} --output {output.shard} {params.rejected} 2> {log}"


rule gather_clean:
    """Only the whole corpus shows what is there twice."""
    input:
        about=lambda w: f"{STUDY}/corpora/{taken(w.corpus)}/{w.corpus}.json",
        shards=gather.part(f"{STUDY}/corpora/parts/{{{{corpus}}}}/{{scatteritem}}.tsv.zst"),
        counts=gather.part(f"{STUDY}/corpora/parts/{{{{corpus}}}}/{{scatteritem}}.json"),
        hashes=gather.part(f"{STUDY}/corpora/parts/{{{{corpus}}}}/{{scatteritem}}.keys"),
        rejected=(
            gather.part(f"{STUDY}/corpora/parts/{{{{corpus}}}}/{{scatteritem}}.rejected.tsv.zst")
            if KEEP_REJECTED
            else []
        ),
    output:
        corpus=f"{STUDY}/corpora/clean/{{corpus}}.tsv.zst",
        counts=f"{STUDY}/corpora/clean/{{corpus}}.json",
        rejected=[f"{STUDY}/corpora/clean/{{corpus}}.rejected.tsv.zst"] if KEEP_REJECTED else [],
    log:
        f"{STUDY}/logs/gather_{{corpus}}.log",
    benchmark:
        f"{STUDY}/benchmarks/gather_{{corpus}}.tsv"
    wildcard_constraints:
        corpus="|".join(map(re.escape, TRAINING)),
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=600,
    params:
        duplicates=duplicates_options,
    shell:
        "python -m distill.gather --inputs {input.shards} --about {input.about} {params.duplicates}"
        " --rejected {input.rejected} --output {output.corpus} 2> {log}"
