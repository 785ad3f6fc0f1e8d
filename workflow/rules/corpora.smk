# From the sources of a study to clean records: every dropped line is counted in the JSON beside them.

IDENTIFIED = [name for name in TRAINING if config["corpora"][name]["langid"]]
NOT_IDENTIFIED = [name for name in config["corpora"] if name not in IDENTIFIED]


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
        spec=lambda w: json.dumps(config["corpora"][w.corpus]),
        languages=PAIR,
        mirror=f"--mirror {config['mirror']}" if config["mirror"] else "",
        seed=config["seed"],
    shell:
        "python -m distill.fetch --name {wildcards.corpus} --languages {params.languages} --spec {params.spec:q}"
        " {params.mirror} --seed {params.seed} --output {output.corpus} 2> {log}"


rule clean:
    input:
        corpus=f"{STUDY}/corpora/raw/{{corpus}}.tsv.zst",
        held_out=ancient(expand(f"{STUDY}/corpora/raw/{{name}}.tsv.zst", name=HELD_OUT)),
    output:
        corpus=f"{STUDY}/corpora/clean/{{corpus}}.tsv.zst",
        counts=f"{STUDY}/corpora/clean/{{corpus}}.json",
    log:
        f"{STUDY}/logs/clean_{{corpus}}.log",
    benchmark:
        f"{STUDY}/benchmarks/clean_{{corpus}}.tsv"
    wildcard_constraints:
        corpus="|".join(map(re.escape, NOT_IDENTIFIED)),
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=600,
    params:
        role=lambda w: config["corpora"][w.corpus]["role"],
        max_tokens=config["cleaning"]["max_tokens"],
        max_length_ratio=config["cleaning"]["max_length_ratio"],
    shell:
        "python -m distill.clean --input {input.corpus} --role {params.role} --held-out {input.held_out}"
        " --max-tokens {params.max_tokens} --max-length-ratio {params.max_length_ratio}"
        " --output {output.corpus} 2> {log}"


use rule clean as filter with:
    output:
        corpus=temp(f"{STUDY}/corpora/filtered/{{corpus}}.tsv.zst"),
        counts=f"{STUDY}/corpora/filtered/{{corpus}}.json",
    wildcard_constraints:
        corpus="|".join(map(re.escape, IDENTIFIED)) or "none",


rule shard:
    input:
        corpus=f"{STUDY}/corpora/filtered/{{corpus}}.tsv.zst",
    output:
        shards=temp(scatter.shard(f"{STUDY}/corpora/shards/{{{{corpus}}}}/{{scatteritem}}.tsv.zst")),
    log:
        f"{STUDY}/logs/shard_{{corpus}}.log",
    benchmark:
        f"{STUDY}/benchmarks/shard_{{corpus}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=60,
    shell:
        "python -m distill.shard --input {input.corpus} --outputs {output.shards} 2> {log}"


rule identify:
    input:
        shard=f"{STUDY}/corpora/shards/{{corpus}}/{{scatteritem}}.tsv.zst",
    output:
        shard=temp(f"{STUDY}/corpora/identified/{{corpus}}/{{scatteritem}}.tsv.zst"),
        counts=temp(f"{STUDY}/corpora/identified/{{corpus}}/{{scatteritem}}.json"),
    log:
        f"{STUDY}/logs/identify_{{corpus}}_{{scatteritem}}.log",
    benchmark:
        f"{STUDY}/benchmarks/identify_{{corpus}}_{{scatteritem}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=600,
    params:
        languages=lambda w: languages(config["corpora"][w.corpus], PAIR),
    shell:
        "python -m distill.identify --input {input.shard} --languages {params.languages} --output {output.shard} 2> {log}"


rule gather_identified:
    input:
        shards=gather.shard(f"{STUDY}/corpora/identified/{{{{corpus}}}}/{{scatteritem}}.tsv.zst"),
        counts=gather.shard(f"{STUDY}/corpora/identified/{{{{corpus}}}}/{{scatteritem}}.json"),
        before=f"{STUDY}/corpora/filtered/{{corpus}}.json",
    output:
        corpus=f"{STUDY}/corpora/clean/{{corpus}}.tsv.zst",
        counts=f"{STUDY}/corpora/clean/{{corpus}}.json",
    log:
        f"{STUDY}/logs/gather_{{corpus}}.log",
    benchmark:
        f"{STUDY}/benchmarks/gather_{{corpus}}.tsv"
    wildcard_constraints:
        corpus="|".join(map(re.escape, IDENTIFIED)) or "none",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=60,
    shell:
        "python -m distill.gather --inputs {input.shards} --after {input.before} --output {output.corpus} 2> {log}"
