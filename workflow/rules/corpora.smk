# From the sources of a study to corpora/clean/<corpus>.tsv.zst; the JSON beside it counts every dropped line. Training
# texts pass clean and gather_clean, or, if they have scores, gather_unfiltered and bound; dev and test sets copy_held_out.


# On a cluster, nodes may have no network.
localrules:
    fetch,


rule fetch:
    output:
        corpus=study.paths.raw("{corpus}"),
        about=f"{study.folder}/corpora/raw/{{corpus}}.json",
    log:
        f"{study.folder}/logs/fetch_{{corpus}}.log",
    benchmark:
        f"{study.folder}/benchmarks/fetch_{{corpus}}.tsv"
    resources:
        **growing(mem_mb=500, runtime=600),
    params:
        text=lambda w: json.dumps(study.corpora.reading(w.corpus)),  # to be watched only
        languages=study.pair,
        seed=study.config.seed,
        # Functions of the output are not watched: a new licence, checksum or folder reruns nothing.
        spec=lambda w, output: json.dumps(study.config.corpora[w.corpus].document),
        mirror=lambda w, output: f"--mirror {shlex.quote(study.config.mirror)}" if study.config.mirror else "",
    shell:
        "python -m corpora.fetch --name {wildcards.corpus} --languages {params.languages} --spec {params.spec:q}"
        " {params.mirror} --seed {params.seed} --output {output.corpus} 2> {log}"


rule subset:
    """A random subset of a corpus that has a `sample`."""
    input:
        corpus=study.paths.raw("{corpus}"),
    output:
        corpus=f"{study.folder}/corpora/subset/{{corpus}}.tsv.zst",
        about=f"{study.folder}/corpora/subset/{{corpus}}.json",
    log:
        f"{study.folder}/logs/subset_{{corpus}}.log",
    benchmark:
        f"{study.folder}/benchmarks/subset_{{corpus}}.tsv"
    resources:
        **growing(mem_mb=500, runtime=requests.minutes("subset")),
    params:
        sample=lambda w: study.config.corpora[w.corpus].sample,
        seed=study.config.seed,
    shell:
        "python -m corpora.subset --input {input.corpus} --sample {params.sample} --seed {params.seed}"
        " --output {output.corpus} 2> {log}"


rule copy_held_out:
    """Dev and test sets are never filtered."""
    input:
        corpus=study.paths.raw("{corpus}"),
    output:
        corpus=study.paths.clean("{corpus}"),
        counts=study.paths.clean_counts("{corpus}"),
    log:
        f"{study.folder}/logs/clean_{{corpus}}.log",
    benchmark:
        f"{study.folder}/benchmarks/clean_{{corpus}}.tsv"
    wildcard_constraints:
        corpus=one_of(study.corpora.held_out),
    resources:
        **growing(mem_mb=500, runtime=10),
    params:
        role=lambda w: study.config.corpora[w.corpus].role,
        languages=study.pair,
    shell:
        "python -m corpora.copy --input {input.corpus} --role {params.role} --languages {params.languages}"
        " --output {output.corpus} 2> {log}"


rule clean:
    """One shard of `scattergather` (common.smk), a range of lines."""
    input:
        corpus=lambda w: f"{study.corpora.uncleaned(w.corpus)}.tsv.zst",
        held_out=expand(study.paths.raw("{name}"), name=study.corpora.held_out),
    output:
        shard=temp(f"{study.folder}/corpora/parts/{{corpus}}/{{scatteritem}}.tsv.zst"),
        counts=temp(f"{study.folder}/corpora/parts/{{corpus}}/{{scatteritem}}.json"),
        hashes=temp(f"{study.folder}/corpora/parts/{{corpus}}/{{scatteritem}}.keys"),
        rejected=(
            [temp(f"{study.folder}/corpora/parts/{{corpus}}/{{scatteritem}}.rejected.tsv.zst")]
            if study.config.keep_rejected
            else []
        ),
    log:
        f"{study.folder}/logs/clean_{{corpus}}_{{scatteritem}}.log",
    benchmark:
        f"{study.folder}/benchmarks/clean_{{corpus}}_{{scatteritem}}.tsv"
    wildcard_constraints:
        corpus=one_of(study.corpora.training),
    resources:
        **growing(mem_mb=1000, runtime=requests.minutes("clean")),
    params:
        shard=lambda w: w.scatteritem.replace("-of-", "/"),
        languages=lambda w: study.corpora.languages(w.corpus),
        rules=lambda w: as_json(study.config.corpora[w.corpus].cleaning),
        rejected=lambda w, output: f"--rejected {output.rejected}" if study.config.keep_rejected else "",
        # Not watched either: it follows from the role, which `fetch` watches.
        sides=lambda w, output: " ".join(study.corpora.sides(w.corpus)),
    shell:
        "python -m corpora.clean --input {input.corpus} --shard {params.shard} --languages {params.languages}"
        " --sides {params.sides}"
        " --rules {params.rules:q} --held-out {input.held_out} --output {output.shard} {params.rejected} 2> {log}"


rule gather_clean:
    """Join the shards and drop duplicates."""
    input:
        about=lambda w: f"{study.corpora.uncleaned(w.corpus)}.json",
        shards=gather.part(f"{study.folder}/corpora/parts/{{{{corpus}}}}/{{scatteritem}}.tsv.zst"),
        counts=gather.part(f"{study.folder}/corpora/parts/{{{{corpus}}}}/{{scatteritem}}.json"),
        hashes=gather.part(f"{study.folder}/corpora/parts/{{{{corpus}}}}/{{scatteritem}}.keys"),
        rejected=(
            gather.part(f"{study.folder}/corpora/parts/{{{{corpus}}}}/{{scatteritem}}.rejected.tsv.zst")
            if study.config.keep_rejected
            else []
        ),
    output:
        corpus=study.paths.clean("{corpus}"),
        counts=study.paths.clean_counts("{corpus}"),
        rejected=[f"{study.folder}/corpora/clean/{{corpus}}.rejected.tsv.zst"] if study.config.keep_rejected else [],
    log:
        f"{study.folder}/logs/gather_{{corpus}}.log",
    benchmark:
        f"{study.folder}/benchmarks/gather_{{corpus}}.tsv"
    wildcard_constraints:
        corpus=one_of(study.corpora.unscored),
    resources:
        **growing(mem_mb=1000, runtime=requests.minutes("gather_clean")),
    params:
        duplicates=lambda w: [
            f"--{rule.replace('_', '-')}"
            for rule in ("duplicates", "near_duplicates")
            if getattr(study.config.corpora[w.corpus].cleaning, rule)
        ],
    shell:
        "python -m corpora.gather --inputs {input.shards} --about {input.about} {params.duplicates}"
        " --rejected {input.rejected} --output {output.corpus} 2> {log}"


use rule gather_clean as gather_unfiltered with:
    output:
        corpus=study.paths.unfiltered("{corpus}"),
        counts=f"{study.folder}/corpora/unfiltered/{{corpus}}.json",
        rejected=(
            [f"{study.folder}/corpora/unfiltered/{{corpus}}.rejected.tsv.zst"] if study.config.keep_rejected else []
        ),
    wildcard_constraints:
        corpus=one_of(study.corpora.scored),


rule bound:
    """What the bounds on its scores leave of a corpus. A changed bound runs this job alone."""
    input:
        corpus=rules.gather_unfiltered.output.corpus,
        counts=rules.gather_unfiltered.output.counts,
        rejected=rules.gather_unfiltered.output.rejected,
        scores=lambda w: study.scores.all_files(w.corpus),
    output:
        corpus=study.paths.clean("{corpus}"),
        counts=study.paths.clean_counts("{corpus}"),
        rejected=[f"{study.folder}/corpora/clean/{{corpus}}.rejected.tsv.zst"] if study.config.keep_rejected else [],
    log:
        f"{study.folder}/logs/bound_{{corpus}}.log",
    benchmark:
        f"{study.folder}/benchmarks/bound_{{corpus}}.tsv"
    wildcard_constraints:
        corpus=one_of(study.corpora.scored),
    resources:
        **growing(mem_mb=1000, runtime=requests.minutes("bound")),
    params:
        bounds=lambda w: as_json(study.corpora.bounds(w.corpus)),
        own=lambda w: study.scores.options(w.corpus),
        rejected=lambda w, input: f"--rejected {input.rejected}" if input.rejected else "",
    shell:
        "python -m corpora.bounds --input {input.corpus} --bounds {params.bounds:q}"
        " {params.own} {params.rejected} --output {output.corpus} 2> {log}"
