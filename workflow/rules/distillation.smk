# Distillation: the teachers translate the source side of all corpora in shards, an ensemble rescores, one translation of
# each sentence is chosen. distilled/<teacher>/best/<corpus>.tsv.zst is a corpus that others can use: source, target, score.


rule translate_shard:
    input:
        corpus=f"{STUDY}/corpora/clean/{{corpus}}.tsv.zst",
        model=lambda w: teacher_model(w.teacher),
        sentencepiece=lambda w: study_pieces(config["teachers"][w.teacher]),
    output:
        shard=f"{STUDY}/n-best/{{teacher}}/{{corpus}}/{{scatteritem}}.tsv.zst",
        counts=f"{STUDY}/n-best/{{teacher}}/{{corpus}}/{{scatteritem}}.json",
    log:
        f"{STUDY}/logs/translate_{{teacher}}_{{corpus}}_{{scatteritem}}.log",
    benchmark:
        f"{STUDY}/benchmarks/translate_{{teacher}}_{{corpus}}_{{scatteritem}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=1000,
        gpu=GPU,
    params:
        shard=lambda w: w.scatteritem.replace("-of-", "/"),
        tokenization=lambda w: json.dumps(config["teachers"][w.teacher]["tokenization"]),
        languages=PAIR,
        beam_size=config["distillation"]["beam_size"],
        n_best=config["distillation"]["n_best"],
        device=config["distillation"]["device"],
    shell:
        "python -m distill.translate --input {input.corpus} --shard {params.shard} --model {input.model} --sentencepiece {input.sentencepiece}"
        " --tokenization {params.tokenization:q} --languages {params.languages} --beam-size {params.beam_size}"
        " --n-best {params.n_best} --threads {threads} --device {params.device} --output {output.shard} 2> >(tee {log} >&2)"


rule rescore_shard:
    """The ensemble: every translation of every teacher, scored by all of them; the n best are kept."""
    input:
        shards=expand(f"{STUDY}/n-best/{{teacher}}/{{{{corpus}}}}/{{{{scatteritem}}}}.tsv.zst", teacher=TEACHERS),
        models=[teacher_model(teacher) for teacher in TEACHERS],
        sentencepiece=study_pieces(*config["teachers"].values()),
    output:
        shard=f"{STUDY}/n-best/ensemble/{{corpus}}/{{scatteritem}}.tsv.zst",
        counts=f"{STUDY}/n-best/ensemble/{{corpus}}/{{scatteritem}}.json",
    log:
        f"{STUDY}/logs/rescore_{{corpus}}_{{scatteritem}}.log",
    benchmark:
        f"{STUDY}/benchmarks/rescore_{{corpus}}_{{scatteritem}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=1000,
        gpu=GPU,
    params:
        tokenizations=[json.dumps(config["teachers"][teacher]["tokenization"]) for teacher in TEACHERS],
        languages=PAIR,
        n_best=config["distillation"]["n_best"],
        device=config["distillation"]["device"],
    shell:
        "python -m distill.rescore --inputs {input.shards} --models {input.models} --sentencepiece {input.sentencepiece}"
        " --tokenizations {params.tokenizations:q} --languages {params.languages} --n-best {params.n_best} --threads {threads}"
        " --device {params.device} --output {output.shard} 2> >(tee {log} >&2)"


rule select_shard:
    input:
        candidates=f"{STUDY}/n-best/{{imitated}}/{{corpus}}/{{scatteritem}}.tsv.zst",
        corpus=f"{STUDY}/corpora/clean/{{corpus}}.tsv.zst",
    output:
        shard=f"{STUDY}/distilled/{{imitated}}/{{targets}}/{{corpus}}/{{scatteritem}}.tsv.zst",
        counts=f"{STUDY}/distilled/{{imitated}}/{{targets}}/{{corpus}}/{{scatteritem}}.json",
    log:
        f"{STUDY}/logs/select_{{imitated}}_{{targets}}_{{corpus}}_{{scatteritem}}.log",
    benchmark:
        f"{STUDY}/benchmarks/select_{{imitated}}_{{targets}}_{{corpus}}_{{scatteritem}}.tsv"
    wildcard_constraints:
        targets="best|interpolated",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=600,
    params:
        # Monolingual text has no original target to be close to.
        targets=lambda w: "best" if config["corpora"][w.corpus]["role"] == "monolingual" else w.targets,
        shard=lambda w: w.scatteritem.replace("-of-", "/"),
    shell:
        "python -m distill.select --candidates {input.candidates} --targets {params.targets} --corpus {input.corpus}"
        " --shard {params.shard} --output {output.shard} 2> {log}"


rule reverse_shard:
    """How probable the source is, given the translation."""
    input:
        shard=rules.select_shard.output.shard,
        model=reverse_model(),
        sentencepiece=study_pieces(*([config["reverse_teacher"]] if config["reverse_teacher"] else [])),
    output:
        shard=f"{STUDY}/distilled/{{imitated}}/{{targets}}-reverse/{{corpus}}/{{scatteritem}}.tsv.zst",
        counts=f"{STUDY}/distilled/{{imitated}}/{{targets}}-reverse/{{corpus}}/{{scatteritem}}.json",
    log:
        f"{STUDY}/logs/reverse_{{imitated}}_{{targets}}_{{corpus}}_{{scatteritem}}.log",
    benchmark:
        f"{STUDY}/benchmarks/reverse_{{imitated}}_{{targets}}_{{corpus}}_{{scatteritem}}.tsv"
    wildcard_constraints:
        targets="best|interpolated",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=1000,
        gpu=GPU,
    params:
        tokenization=json.dumps((config["reverse_teacher"] or {}).get("tokenization")),
        languages=PAIR,
        device=config["distillation"]["device"],
    shell:
        "python -m distill.reverse --input {input.shard} --model {input.model} --sentencepiece {input.sentencepiece}"
        " --tokenization {params.tokenization:q} --languages {params.languages} --threads {threads}"
        " --device {params.device} --output {output.shard} 2> >(tee {log} >&2)"


rule gather_distilled:
    input:
        shards=gather.shard(
            f"{STUDY}/distilled/{{{{imitated}}}}/{{{{targets}}}}/{{{{corpus}}}}/{{scatteritem}}.tsv.zst"
        ),
        counts=gather.shard(f"{STUDY}/distilled/{{{{imitated}}}}/{{{{targets}}}}/{{{{corpus}}}}/{{scatteritem}}.json"),
    output:
        corpus=f"{STUDY}/distilled/{{imitated}}/{{targets}}/{{corpus}}.tsv.zst",
        counts=f"{STUDY}/distilled/{{imitated}}/{{targets}}/{{corpus}}.json",
    log:
        f"{STUDY}/logs/gather_distilled_{{imitated}}_{{targets}}_{{corpus}}.log",
    benchmark:
        f"{STUDY}/benchmarks/gather_distilled_{{imitated}}_{{targets}}_{{corpus}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=60,
    shell:
        "python -m distill.gather --inputs {input.shards} --output {output.corpus} 2> {log}"


rule drop_worst:
    input:
        corpus=lambda w: scored_corpus(w.mixture, w.corpus),
    output:
        corpus=f"{STUDY}/training/{{mixture}}/{{corpus}}.tsv.zst",
        counts=f"{STUDY}/training/{{mixture}}/{{corpus}}.json",
    log:
        f"{STUDY}/logs/drop_{{mixture}}_{{corpus}}.log",
    benchmark:
        f"{STUDY}/benchmarks/drop_{{mixture}}_{{corpus}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=lambda w: 500 + 4 * (config["corpora"][w.corpus]["lines"] or 0) // 10**6,  # four bytes a score
        runtime=60,
    params:
        per_cent=lambda w: config["mixtures"][w.mixture]["drop_worst"],
    shell:
        "python -m distill.drop --input {input.corpus} --per-cent {params.per_cent} --output {output.corpus} 2> {log}"
