# Distillation: the teachers translate the source side of all corpora in shards, alone or together, or are asked over HTTP,
# an ensemble may rescore instead, and one translation of each sentence is chosen. distilled/<teacher>/best/<corpus>.tsv.zst is a corpus that others can use:
# source, target, score.

from study.resources import distillation_resources, scores_to_rank
from study.systems import TOKEN_ENSEMBLE

TEACHERS = distillation_resources(study.config)
# No parameter, which would be watched: batches of another size are no reason to translate again.
BATCHES = f" --batch-tokens {study.config.distillation.batch_tokens}" if study.config.distillation.batch_tokens else ""
# No inputs, for the same reason.
STAND_IN, STAND_INS = (
    " ".join(study.teachers.stand_ins(*names)) for names in (["{wildcards.teacher}"], study.systems.teachers)
)


rule change_source:
    """A copy of a corpus with changed sources."""
    input:
        corpus=lambda w: study.paths.clean(study.mixtures.changed[w.corpus]),
    output:
        corpus=study.paths.changed("{corpus}"),
        counts=study.paths.changed_counts("{corpus}"),
    log:
        f"{study.folder}/logs/change_source_{{corpus}}.log",
    benchmark:
        f"{study.folder}/benchmarks/change_source_{{corpus}}.tsv"
    wildcard_constraints:
        corpus=one_of(study.mixtures.changed),
    resources:
        **growing(mem_mb=500, runtime=requests.minutes("change_source")),
    params:
        settings=lambda w: as_json(study.mixtures.source_augmentation(w.corpus)),
        seed=study.config.seed,
    shell:
        "python -m train.source_augmentation {params.settings:q} --corpus {input.corpus} --seed {params.seed}"
        " --output {output.corpus} 2> {log}"


rule translate_shard:
    """The n-best lists of one teacher, or of all that translate together, token by token."""
    input:
        corpus=lambda w: study.mixtures.text(w.corpus),
        models=lambda w: map(study.teachers.model, study.teachers.of(w.teacher)),
        sentencepiece=lambda w: study.teachers.pieces_for(*study.teachers.of(w.teacher)),
    output:
        shard=f"{study.folder}/n-best/{{teacher}}/{{corpus}}/{{scatteritem}}.tsv.zst",
        counts=f"{study.folder}/n-best/{{teacher}}/{{corpus}}/{{scatteritem}}.json",
    log:
        f"{study.folder}/logs/translate_{{teacher}}_{{corpus}}_{{scatteritem}}.log",
    benchmark:
        f"{study.folder}/benchmarks/translate_{{teacher}}_{{corpus}}_{{scatteritem}}.tsv"
    wildcard_constraints:
        teacher=one_of(study.teachers.translating),
    resources:
        **growing(
            mem_mb=lambda w: 1000 + TEACHERS["mem_mb"] + requests.teacher_megabytes(*study.teachers.of(w.teacher)),
            runtime=requests.minutes("translate_shard"),
        ),
        gpu=TEACHERS["gpu"],
    params:
        shard=lambda w: w.scatteritem.replace("-of-", "/"),
        settings=lambda w: as_json(study.teachers.settings(w.teacher)),
    shell:
        "python -m distill.translate {params.settings:q} --input {input.corpus} --shard {params.shard}"
        " --model {input.models} --sentencepiece {input.sentencepiece} --threads {threads}"
        f"{BATCHES} --stand-ins {STAND_IN}"
        " --output {output.shard} 2> >(shown {log})"


# On a cluster, nodes may have no network; and so the key, an environment variable of this snakemake, goes nowhere else.
localrules:
    ask_shard,


rule ask_shard:
    """The n-best lists of a teacher behind HTTP. Its answers are no output: Snakemake never deletes them."""
    input:
        corpus=lambda w: study.mixtures.text(w.corpus),
    output:
        shard=f"{study.folder}/n-best/{{teacher}}/{{corpus}}/{{scatteritem}}.tsv.zst",
        counts=f"{study.folder}/n-best/{{teacher}}/{{corpus}}/{{scatteritem}}.json",
    log:
        f"{study.folder}/logs/ask_{{teacher}}_{{corpus}}_{{scatteritem}}.log",
    benchmark:
        f"{study.folder}/benchmarks/ask_{{teacher}}_{{corpus}}_{{scatteritem}}.tsv"
    wildcard_constraints:
        teacher=one_of(study.teachers.asked),
    resources:
        **growing(mem_mb=lambda w: requests.answers_megabytes(w.teacher), runtime=requests.minutes("ask_shard")),
        asking=1,  # so that http.concurrency is that of all shards: profiles/default
    params:
        answers=f"{study.folder}/answers",
        text=lambda w: as_json(study.teachers.answering(w.teacher)),  # to be watched only
        shard=lambda w: w.scatteritem.replace("-of-", "/"),
        # A function of the output is not watched: another address, price or budget asks for nothing again.
        settings=lambda w, output: as_json(study.teachers.asking(w.teacher)),
    shell:
        "python -m distill.ask {params.settings:q} --teacher {wildcards.teacher} --input {input.corpus}"
        " --shard {params.shard} --answers {params.answers} --output {output.shard} 2> >(shown {log})"


rule rescore_shard:
    """The ensemble: all teachers score the translations of each of them; the n best are kept."""
    input:
        shards=lambda w: [
            f"{study.folder}/n-best/{name}/{w.corpus}/{w.scatteritem}.tsv.zst"
            for name in study.teachers.parts(w.ensemble)
        ],
        models=[study.teachers.model(teacher) for teacher in study.systems.teachers],
        sentencepiece=study.teachers.pieces_for(*study.systems.teachers),
    output:
        shard=f"{study.folder}/n-best/{{ensemble}}/{{corpus}}/{{scatteritem}}.tsv.zst",
        counts=f"{study.folder}/n-best/{{ensemble}}/{{corpus}}/{{scatteritem}}.json",
    log:
        f"{study.folder}/logs/rescore_{{ensemble}}_{{corpus}}_{{scatteritem}}.log",
    benchmark:
        f"{study.folder}/benchmarks/rescore_{{ensemble}}_{{corpus}}_{{scatteritem}}.tsv"
    wildcard_constraints:
        ensemble=one_of(study.teachers.rescored),
    resources:
        **growing(
            mem_mb=1000 + TEACHERS["mem_mb"] + requests.teacher_megabytes(*study.systems.teachers),
            runtime=requests.minutes("rescore_shard"),
        ),
        gpu=TEACHERS["gpu"],
    params:
        settings=lambda w: as_json(study.teachers.settings(w.ensemble)),
    shell:
        "python -m distill.rescore {params.settings:q} --inputs {input.shards} --models {input.models}"
        " --sentencepiece {input.sentencepiece} --threads {threads}"
        f"{BATCHES} --stand-ins {STAND_INS}"
        " --output {output.shard} 2> >(shown {log})"


rule score_shard:
    """The scores of a program of another environment."""
    input:
        candidates=candidates,
    output:
        scores=f"{study.folder}/scores/{{imitated}}/{{scorer}}/{{corpus}}/{{scatteritem}}.tsv.zst",
        counts=f"{study.folder}/scores/{{imitated}}/{{scorer}}/{{corpus}}/{{scatteritem}}.json",
    log:
        f"{study.folder}/logs/score_{{imitated}}_{{scorer}}_{{corpus}}_{{scatteritem}}.log",
    benchmark:
        f"{study.folder}/benchmarks/score_{{imitated}}_{{scorer}}_{{corpus}}_{{scatteritem}}.tsv"
    wildcard_constraints:
        scorer=one_of(study.teachers.scores),
    resources:
        **growing(mem_mb=4000, runtime=24 * 60),
        gpu=lambda w: int(study.teachers.scores[w.scorer].device == "cuda"),
    params:
        settings=lambda w, output: as_json(study.teachers.scores[w.scorer]),  # not watched: the path says them
    shell:
        "python -m distill.score {params.settings:q} --n-best-lists {input.candidates}"
        " --output {output.scores} 2> >(shown {log})"


rule select_shard:
    """The targets of each sentence: the best hypothesis, others that are chosen, or all of them."""
    input:
        candidates=candidates,
        corpus=lambda w: study.mixtures.text(w.corpus),
        scores=lambda w: [
            f"{study.folder}/scores/{w.imitated}/{scorer}/{w.corpus}/{w.scatteritem}.tsv.zst"
            for scorer in filter(None, [study.teachers.choices[w.targets].scorer])
        ],
    output:
        shard=f"{study.folder}/distilled/{{imitated}}/{{targets}}/{{corpus}}/{{scatteritem}}.tsv.zst",
        counts=f"{study.folder}/distilled/{{imitated}}/{{targets}}/{{corpus}}/{{scatteritem}}.json",
    log:
        f"{study.folder}/logs/select_{{imitated}}_{{targets}}_{{corpus}}_{{scatteritem}}.log",
    benchmark:
        f"{study.folder}/benchmarks/select_{{imitated}}_{{targets}}_{{corpus}}_{{scatteritem}}.tsv"
    resources:
        **growing(mem_mb=500, runtime=requests.minutes("select_shard")),
    params:
        # Monolingual text and a changed source have no reference to be close to.
        targets=lambda w: (
            "best"
            if w.targets == "interpolated" and w.corpus not in study.corpora.train
            else study.teachers.choices[w.targets].targets
        ),
        shard=lambda w: w.scatteritem.replace("-of-", "/"),
        # Not watched: the path says them.
        options=lambda w, output: study.teachers.choices[w.targets].options,
        scores=lambda w, input, output: f"--scores {input.scores}" if input.scores else "",
    shell:
        "python -m distill.select --n-best-lists {input.candidates} --targets {params.targets} --corpus {input.corpus}"
        f" --target-language {study.config.target} {{params.options}} {{params.scores}}"
        " --shard {params.shard} --output {output.shard} 2> >(shown {log})"


rule gather_distilled:
    input:
        shards=gather.shard(
            f"{study.folder}/distilled/{{{{imitated}}}}/{{{{targets}}}}/{{{{corpus}}}}/{{scatteritem}}.tsv.zst"
        ),
        counts=gather.shard(
            f"{study.folder}/distilled/{{{{imitated}}}}/{{{{targets}}}}/{{{{corpus}}}}/{{scatteritem}}.json"
        ),
    output:
        corpus=f"{study.folder}/distilled/{{imitated}}/{{targets}}/{{corpus}}.tsv.zst",
        counts=f"{study.folder}/distilled/{{imitated}}/{{targets}}/{{corpus}}.json",
    log:
        f"{study.folder}/logs/gather_distilled_{{imitated}}_{{targets}}_{{corpus}}.log",
    benchmark:
        f"{study.folder}/benchmarks/gather_distilled_{{imitated}}_{{targets}}_{{corpus}}.tsv"
    resources:
        **growing(mem_mb=500, runtime=requests.minutes("gather_distilled")),
    shell:
        "python -m corpora.gather --inputs {input.shards} --output {output.corpus} 2> {log}"


rule words_shard:
    """What a teacher, or all of them together, hold most probable at each piece of a part of an epoch."""
    input:
        corpus=study.paths.epoch("{mixture}", "{epoch}", "tsv.zst"),
        models=lambda w: map(study.teachers.model, study.teachers.of(w.taught)),
        sentencepiece=study.paths.sentencepiece,
        vocabulary=study.paths.vocabulary,
    output:
        shard=f"{study.folder}/words/{{taught}}/{{k}}/{{mixture}}.{{epoch}}/{{scatteritem}}.tsv.zst",
        counts=f"{study.folder}/words/{{taught}}/{{k}}/{{mixture}}.{{epoch}}/{{scatteritem}}.json",
    log:
        f"{study.folder}/logs/words_{{taught}}_{{k}}_{{mixture}}_{{epoch}}_{{scatteritem}}.log",
    benchmark:
        f"{study.folder}/benchmarks/words_{{taught}}_{{k}}_{{mixture}}_{{epoch}}_{{scatteritem}}.tsv"
    wildcard_constraints:
        taught=one_of([*study.teachers.computed, TOKEN_ENSEMBLE]),
        k=r"\d+",
    priority: 10  # as the training that waits for it
    resources:
        **growing(
            mem_mb=lambda w: 1000 + requests.teacher_megabytes(*study.teachers.of(w.taught)),
            runtime=requests.minutes("words_shard"),
        ),
    params:
        shard=lambda w: w.scatteritem.replace("-of-", "/"),
    shell:
        "python -m distill.words --input {input.corpus} --shard {params.shard} --models {input.models}"
        " --sentencepiece {input.sentencepiece} --vocabulary {input.vocabulary} --most {wildcards.k}"
        " --threads {threads} --output {output.shard} 2> >(shown {log})"


rule gather_words:
    """The lines of an epoch, as OpenNMT-tf reads them beside its pieces; the shards are kept, which are smaller."""
    input:
        shards=gather.shard(
            f"{study.folder}/words/{{{{taught}}}}/{{{{k}}}}/{{{{mixture}}}}.{{{{epoch}}}}/{{scatteritem}}.tsv.zst"
        ),
    output:
        words=temp(study.paths.words("{taught}", "{k}", "{mixture}", "{epoch}", "txt")),
        counts=study.paths.words("{taught}", "{k}", "{mixture}", "{epoch}", "json"),
    log:
        f"{study.folder}/logs/gather_words_{{taught}}_{{k}}_{{mixture}}_{{epoch}}.log",
    benchmark:
        f"{study.folder}/benchmarks/gather_words_{{taught}}_{{k}}_{{mixture}}_{{epoch}}.tsv"
    wildcard_constraints:
        taught=one_of([*study.teachers.computed, TOKEN_ENSEMBLE]),
        k=r"\d+",
    priority: 10
    resources:
        **growing(mem_mb=500, runtime=requests.minutes("gather_distilled")),
    shell:
        "python -m distill.gather_words --inputs {input.shards} --output {output.words} 2> {log}"


rule drop_worst:
    input:
        corpus=lambda w: study.mixtures.distilled(w.mixture, w.corpus),
    output:
        corpus=f"{study.folder}/training/{{mixture}}/{{corpus}}.tsv.zst",
        counts=f"{study.folder}/training/{{mixture}}/{{corpus}}.json",
    log:
        f"{study.folder}/logs/drop_{{mixture}}_{{corpus}}.log",
    benchmark:
        f"{study.folder}/benchmarks/drop_{{mixture}}_{{corpus}}.tsv"
    resources:
        **growing(
            mem_mb=lambda w: 500
            + 4 * scores_to_rank(study.config, w.mixture, w.corpus) // 10**6,  # four bytes a score
            runtime=requests.minutes("gather_distilled"),
        ),
    params:
        per_cent=lambda w: study.config.mixtures[w.mixture].drop_worst,
    shell:
        "python -m distill.drop --input {input.corpus} --per-cent {params.per_cent} --output {output.corpus} 2> {log}"
