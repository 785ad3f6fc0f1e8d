# Sequence-level distillation: the teacher translates the source side of all training corpora in shards.


rule translate_shard:
    input:
        corpus=f"{STUDY}/corpora/clean/{{corpus}}.tsv.zst",
        model=f"{STUDY}/systems/teacher/converted/{config['distillation']['compute_type']}",
        sentencepiece=rules.vocabulary.output.model,
    output:
        shard=f"{STUDY}/distilled/{{corpus}}/{{scatteritem}}.tsv.zst",
        counts=f"{STUDY}/distilled/{{corpus}}/{{scatteritem}}.json",
    log:
        f"{STUDY}/logs/translate_{{corpus}}_{{scatteritem}}.log",
    benchmark:
        f"{STUDY}/benchmarks/translate_{{corpus}}_{{scatteritem}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=1000,
    params:
        shard=lambda w: w.scatteritem.replace("-of-", "/"),
        beam_size=config["distillation"]["beam_size"],
    shell:
        "python -m distill.translate --input {input.corpus} --shard {params.shard} --model {input.model} --sentencepiece {input.sentencepiece}"
        " --beam-size {params.beam_size} --threads {threads} --output {output.shard} 2> >(tee {log} >&2)"


rule gather_distilled:
    input:
        shards=gather.shard(f"{STUDY}/distilled/{{{{corpus}}}}/{{scatteritem}}.tsv.zst"),
        counts=gather.shard(f"{STUDY}/distilled/{{{{corpus}}}}/{{scatteritem}}.json"),
    output:
        corpus=f"{STUDY}/distilled/{{corpus}}.tsv.zst",
        counts=f"{STUDY}/distilled/{{corpus}}.json",
    log:
        f"{STUDY}/logs/gather_distilled_{{corpus}}.log",
    benchmark:
        f"{STUDY}/benchmarks/gather_distilled_{{corpus}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=60,
    shell:
        "python -m distill.gather --inputs {input.shards} --output {output.corpus} 2> {log}"


use rule original as distilled with:
    input:
        corpora=expand(f"{STUDY}/distilled/{{corpus}}.tsv.zst", corpus=TRAINING),
    output:
        corpus=f"{STUDY}/training/distilled.{{epoch}}.tsv.zst",
        counts=f"{STUDY}/training/distilled.{{epoch}}.json",
    log:
        f"{STUDY}/logs/distilled_{{epoch}}.log",
    benchmark:
        f"{STUDY}/benchmarks/distilled_{{epoch}}.tsv"
    params:
        weights=[config["corpora"][name]["weight"] for name in TRAINING],
        pairs=pairs_option(config["distillation"]["epoch_pairs"]),
        seed=config["seed"],
