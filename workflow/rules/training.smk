# Training, the same for teachers, students and controls; they differ in what they learn from. A killed training continues
# from its last checkpoint: the run folder is no output, so Snakemake never deletes it.


rule sample:
    """An epoch: a random sample of the corpora of a mixture by their weights."""
    input:
        corpora=lambda w: [mixed_corpus(w.mixture, corpus) for corpus in weights(config, w.mixture)],
    output:
        corpus=f"{STUDY}/training/{{mixture}}.{{epoch}}.tsv.zst",
        counts=f"{STUDY}/training/{{mixture}}.{{epoch}}.json",
    log:
        f"{STUDY}/logs/sample_{{mixture}}_{{epoch}}.log",
    benchmark:
        f"{STUDY}/benchmarks/sample_{{mixture}}_{{epoch}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=60,
    params:
        weights=lambda w: list(weights(config, w.mixture).values()),
        pairs=pairs_option(config["distillation"]["epoch_pairs"]),
        seed=config["seed"],
    shell:
        "python -m distill.sample --corpora {input.corpora} --weights {params.weights} {params.pairs}"
        " --seed {params.seed} --epoch {wildcards.epoch} --output {output.corpus} 2> {log}"


rule encode:
    input:
        corpus=rules.sample.output.corpus,
        model=rules.vocabulary.output.model,
    output:
        source=f"{STUDY}/training/{{mixture}}.{{epoch}}.source",
        target=f"{STUDY}/training/{{mixture}}.{{epoch}}.target",
    log:
        f"{STUDY}/logs/encode_{{mixture}}_{{epoch}}.log",
    benchmark:
        f"{STUDY}/benchmarks/encode_{{mixture}}_{{epoch}}.tsv"
    conda:
        "../../environment.yml"
    threads: 2
    resources:
        mem_mb=500,
        runtime=60,
    shell:
        "python -m distill.encode --inputs {input.corpus} --model {input.model} --threads {threads}"
        " --outputs {output.source} {output.target} 2> {log}"


rule train_teacher:
    input:
        source=lambda w: expand(rules.encode.output.source, mixture=SYSTEMS[w.system].mixture, epoch=EPOCHS),
        target=lambda w: expand(rules.encode.output.target, mixture=SYSTEMS[w.system].mixture, epoch=EPOCHS),
        epochs=lambda w: expand(rules.sample.output.counts, mixture=SYSTEMS[w.system].mixture, epoch=EPOCHS),
        dev=ancient(f"{STUDY}/corpora/clean/{DEV}.tsv.zst"),
        dev_source=ancient(f"{STUDY}/training/dev.source"),
        vocabulary=rules.vocabulary.output.vocabulary,
        sentencepiece=rules.vocabulary.output.model,
        start=lambda w: parent(SYSTEMS[w.system]),
    output:
        averaged=protected(directory(f"{STUDY}/systems/{{system}}/averaged")),
        learning=f"{STUDY}/systems/{{system}}/learning.json",
    log:
        f"{STUDY}/logs/train_{{system}}.log",
    benchmark:
        f"{STUDY}/benchmarks/train_{{system}}.tsv"
    wildcard_constraints:
        system="|".join(map(re.escape, TEACHERS)) or NOTHING,
    priority: 20  # everything else waits for it
    conda:
        "../../environment.yml"
    threads: lambda w: SYSTEMS[w.system].training["threads"]
    resources:
        mem_mb=lambda w: training_resources(config, SYSTEMS[w.system])["mem_mb"],
        runtime=lambda w: training_resources(config, SYSTEMS[w.system])["runtime"],
        gpu=lambda w: training_resources(config, SYSTEMS[w.system])["gpu"],
    params:
        role=lambda w: SYSTEMS[w.system].role,
        shape=lambda w: json.dumps(SYSTEMS[w.system].shape),
        training=lambda w: json.dumps(SYSTEMS[w.system].training),
        seed=lambda w: SYSTEMS[w.system].seed,
        start=lambda w, input: f"--start-from {input.start}" if input.start else "",
        runs=f"{STUDY}/systems/{{system}}",
    shell:
        "python -m distill.train --system {wildcards.system} --role {params.role} --shape {params.shape:q} --training {params.training:q}"
        " --source {input.source} --target {input.target} --epochs {input.epochs} --dev {input.dev} --dev-source {input.dev_source}"
        " --vocabulary {input.vocabulary} --sentencepiece {input.sentencepiece} --seed {params.seed} {params.start}"
        " --threads {threads} --runs {params.runs} --averaged {output.averaged} --learning {output.learning} 2> >(tee {log} >&2)"


use rule train_teacher as train_student with:
    wildcard_constraints:
        system="|".join(map(re.escape, (name for name in TRAINED if name not in TEACHERS))),
    priority: 10


rule learned:
    """What a training saw, which decides whether two students can be compared as twins."""
    input:
        learning=f"{STUDY}/systems/{{system}}/learning.json",
        epochs=lambda w: expand(rules.sample.output.counts, mixture=SYSTEMS[w.system].mixture, epoch=EPOCHS),
    output:
        learned=f"{STUDY}/systems/{{system}}/learned.json",
    log:
        f"{STUDY}/logs/learned_{{system}}.log",
    benchmark:
        f"{STUDY}/benchmarks/learned_{{system}}.tsv"
    wildcard_constraints:
        system="|".join(map(re.escape, TRAINED)),
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    params:
        mixture=lambda w: json.dumps(mixed(config, SYSTEMS[w.system].mixture)),
    shell:
        "python -m distill.learned --mixture {params.mixture:q} --learning {input.learning} --epochs {input.epochs}"
        " --output {output.learned} 2> {log}"
