# The teacher, trained on the original data. A killed training continues from its last checkpoint: the run folder
# is no output, so Snakemake never deletes it.


rule original:
    """An epoch of the original data: the bilingual corpora by their weights."""
    input:
        corpora=expand(f"{STUDY}/corpora/clean/{{corpus}}.tsv.zst", corpus=CORPORA["train"]),
    output:
        corpus=f"{STUDY}/training/original.{{epoch}}.tsv.zst",
        counts=f"{STUDY}/training/original.{{epoch}}.json",
    log:
        f"{STUDY}/logs/original_{{epoch}}.log",
    benchmark:
        f"{STUDY}/benchmarks/original_{{epoch}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=60,
    params:
        weights=[config["corpora"][name]["weight"] for name in CORPORA["train"]],
        pairs=pairs_option(config["distillation"]["epoch_pairs"]),
        seed=config["seed"],
    shell:
        "python -m distill.sample --corpora {input.corpora} --weights {params.weights} {params.pairs}"
        " --seed {params.seed} --epoch {wildcards.epoch} --output {output.corpus} 2> {log}"


rule train_teacher:
    input:
        source=f"{STUDY}/training/original.source",
        target=f"{STUDY}/training/original.target",
        epochs=expand(f"{STUDY}/training/original.{{epoch}}.json", epoch=EPOCHS),
        dev=ancient(f"{STUDY}/corpora/clean/{DEV}.tsv.zst"),
        dev_source=ancient(f"{STUDY}/training/dev.source"),
        vocabulary=rules.vocabulary.output.vocabulary,
        sentencepiece=rules.vocabulary.output.model,
    output:
        averaged=protected(directory(f"{STUDY}/systems/{{system}}/averaged")),
        learning=f"{STUDY}/systems/{{system}}/learning.json",
    log:
        f"{STUDY}/logs/train_{{system}}.log",
    benchmark:
        f"{STUDY}/benchmarks/train_{{system}}.tsv"
    wildcard_constraints:
        system="teacher",
    priority: 20  # everything else waits for it
    conda:
        "../../environment.yml"
    threads: config["teacher"]["training"]["threads"]
    resources:
        mem_mb=2000,
        runtime=10000,
    params:
        shape=json.dumps(config["teacher"]["shape"]),
        training=json.dumps(config["teacher"]["training"]),
        seed=config["seed"],
        runs=f"{STUDY}/systems/{{system}}",
    shell:
        "python -m distill.train --system {wildcards.system} --shape {params.shape:q} --training {params.training:q}"
        " --source {input.source} --target {input.target} --epochs {input.epochs} --dev {input.dev} --dev-source {input.dev_source}"
        " --vocabulary {input.vocabulary} --sentencepiece {input.sentencepiece} --seed {params.seed}"
        " --threads {threads} --runs {params.runs} --averaged {output.averaged} --learning {output.learning} 2> >(tee {log} >&2)"
