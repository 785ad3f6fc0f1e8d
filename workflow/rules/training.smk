# Training. Teachers, students and controls are trained alike; they differ in the mixture they learn from. A killed
# training continues from its last checkpoint: the run folder is no output, so Snakemake never deletes it.
from study.candidates import chosen
from study.systems import composition
from study.resources import training_resources


rule sample:
    """An epoch: a random sample of the corpora of a mixture, in proportion to their weights."""
    input:
        corpora=lambda w: study.mixtures.files(w.mixture),
        aligner=lambda w: study.mixtures.aligner(w.mixture),
    output:
        corpus=study.paths.epoch("{mixture}", "{epoch}", "tsv.zst"),
        counts=study.paths.epoch("{mixture}", "{epoch}", "json"),
    log:
        f"{study.folder}/logs/sample_{{mixture}}_{{epoch}}.log",
    benchmark:
        f"{study.folder}/benchmarks/sample_{{mixture}}_{{epoch}}.tsv"
    priority: 10  # as the training that waits for it: the map can be made meanwhile
    resources:
        **growing(mem_mb=1000, runtime=requests.minutes("sample")),
    params:
        weights=lambda w: list(study.mixtures.drawn(w.mixture).values()),
        pairs=f"--pairs {study.config.distillation.epoch_pairs}" if study.config.distillation.epoch_pairs else "",
        seed=study.config.seed,
        augmentation=lambda w: augmentation(study.mixtures.augmentation(w.mixture), study.mixtures.aligner(w.mixture)),
    shell:
        "python -m train.sample --corpora {input.corpora} --weights {params.weights} {params.pairs}"
        " {params.augmentation} --seed {params.seed} --epoch {wildcards.epoch} --output {output.corpus} 2> {log}"


rule encode:
    """Both sides of an epoch as the pieces that OpenNMT-tf reads."""
    input:
        corpus=rules.sample.output.corpus,
        model=rules.vocabulary.output.model,
    output:
        source=study.paths.epoch("{mixture}", "{epoch}", "source"),
        target=study.paths.epoch("{mixture}", "{epoch}", "target"),
    log:
        f"{study.folder}/logs/encode_{{mixture}}_{{epoch}}.log",
    benchmark:
        f"{study.folder}/benchmarks/encode_{{mixture}}_{{epoch}}.tsv"
    priority: 25  # before all trainings: beside one of them two cores may not be free for hours
    threads: 2
    resources:
        **growing(mem_mb=500, runtime=requests.minutes("encode")),
    shell:
        "python -m train.encode --inputs {input.corpus} --model {input.model} --threads {threads}"
        " --outputs {output.source} {output.target} 2> {log}"


rule train_teacher:
    input:
        source=lambda w: expand(rules.encode.output.source, **study.mixtures.epochs_of(w.system)),
        target=lambda w: expand(rules.encode.output.target, **study.mixtures.epochs_of(w.system)),
        epochs=lambda w: expand(rules.sample.output.counts, **study.mixtures.epochs_of(w.system)),
        links=lambda w: study.mixtures.links(w.system),
        words=lambda w: study.mixtures.words(w.system),
        dev=study.paths.clean(study.corpora.dev),
        dev_source=f"{study.folder}/training/dev.source",
        vocabulary=rules.vocabulary.output.vocabulary,
        sentencepiece=rules.vocabulary.output.model,
        start=lambda w: study.mixtures.parent(w.system) or [],
    output:
        averaged=directory(study.paths.averaged("{system}")),
        learning=study.paths.learning("{system}"),
    log:
        f"{study.folder}/logs/train_{{system}}.log",
    benchmark:
        f"{study.folder}/benchmarks/train_{{system}}.tsv"
    wildcard_constraints:
        system=one_of(study.systems.teachers),
    priority: 20  # everything else waits for it
    threads: lambda w: study.systems[w.system].training.threads
    resources:
        **growing(
            mem_mb=lambda w: training_resources(study.config, study.systems[w.system])["mem_mb"],
            runtime=lambda w: training_resources(study.config, study.systems[w.system])["runtime"],
        ),
        gpu=lambda w: training_resources(study.config, study.systems[w.system])["gpu"],
        nodes=1,  # a cluster must not look for several GPUs on several machines
    params:
        settings=lambda w: as_json(study.training(w.system)),
        start=lambda w, input: f"--start-from {input.start}" if input.start else "",
        links=lambda w, input: f"--links {input.links}" if input.links else "",
        words=lambda w, input: f"--words {input.words}" if input.words else "",
        runs=f"{study.folder}/systems/{{system}}",
    shell:
        "python -m train.train {params.settings:q} --source {input.source} --target {input.target}"
        " --epochs {input.epochs} {params.links} {params.words} --dev {input.dev} --dev-source {input.dev_source} --vocabulary {input.vocabulary}"
        " --sentencepiece {input.sentencepiece} {params.start} --threads {threads}"
        " --runs {params.runs} --averaged {output.averaged} --learning {output.learning} 2> >(shown {log})"


use rule train_teacher as train_student with:
    wildcard_constraints:
        system=one_of(study.systems.students),
    priority: 10


rule learned:
    """What a training saw: it decides whether two students can be compared as twins."""
    input:
        learning=study.paths.learning("{system}"),
        epochs=lambda w: expand(rules.sample.output.counts, **study.mixtures.epochs_of(w.system)),
    output:
        learned=f"{study.folder}/systems/{{system}}/learned.json",
    log:
        f"{study.folder}/logs/learned_{{system}}.log",
    benchmark:
        f"{study.folder}/benchmarks/learned_{{system}}.tsv"
    wildcard_constraints:
        system=one_of(study.systems.trained),
    resources:
        **growing(mem_mb=500, runtime=10),
    params:
        mixture=lambda w: json.dumps(
            composition(study.config, study.systems[w.system].mixture, study.systems.trained[w.system].words)
            | chosen(study.config, study.systems[w.system].mixture)
        ),
    shell:
        "python -m train.training_record --mixture {params.mixture:q} --learning {input.learning} --epochs {input.epochs}"
        " --output {output.learned} 2> {log}"
