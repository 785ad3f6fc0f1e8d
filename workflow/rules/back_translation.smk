# Back-translation: a teacher of the other direction translates the corpora of the target side, as translate_shard does for
# any teacher. Its n-best lists are kept, so other noise translates nothing anew.


rule reverse_dev:
    """The dev set that the training of the backward teacher watches."""
    input:
        corpus=study.paths.raw(study.corpora.dev),
    output:
        corpus=f"{study.folder}/back-translated/dev/reversed.tsv.zst",
        counts=f"{study.folder}/back-translated/dev/reversed.json",
    log:
        f"{study.folder}/logs/reverse_dev.log",
    benchmark:
        f"{study.folder}/benchmarks/reverse_dev.tsv"
    resources:
        **growing(mem_mb=500, runtime=10),
    params:
        languages=study.pair,
    shell:
        "python -m corpora.copy --input {input.corpus} --role dev --languages {params.languages} --reverse"
        " --output {output.corpus} 2> {log}"


use rule encode_dev as encode_reversed_dev with:
    input:
        corpus=rules.reverse_dev.output.corpus,
        model=rules.vocabulary.output.model,
    output:
        source=f"{study.folder}/back-translated/dev/reversed.source",
    log:
        f"{study.folder}/logs/encode_reversed_dev.log",
    benchmark:
        f"{study.folder}/benchmarks/encode_reversed_dev.tsv"


use rule train_teacher as train_backward_teacher with:
    input:
        source=lambda w: expand(rules.encode.output.target, **study.mixtures.epochs_of(w.system)),
        target=lambda w: expand(rules.encode.output.source, **study.mixtures.epochs_of(w.system)),
        epochs=lambda w: expand(rules.sample.output.counts, **study.mixtures.epochs_of(w.system)),
        links=[],
        words=[],
        dev=rules.reverse_dev.output.corpus,
        dev_source=rules.encode_reversed_dev.output.source,
        vocabulary=rules.vocabulary.output.vocabulary,
        sentencepiece=rules.vocabulary.output.model,
        start=lambda w: study.mixtures.parent(w.system) or [],
    wildcard_constraints:
        system=one_of([name for name in study.systems.learners if name not in study.systems.trained]),


rule back_translate_shard:
    """The pairs of a part."""
    input:
        candidates=f"{study.folder}/n-best/{BACKWARD}/{{corpus}}/{{scatteritem}}.tsv.zst",
    output:
        shard=f"{study.folder}/back-translated/{{corpus}}/{{scatteritem}}.tsv.zst",
        counts=f"{study.folder}/back-translated/{{corpus}}/{{scatteritem}}.json",
    log:
        f"{study.folder}/logs/back_translate_{{corpus}}_{{scatteritem}}.log",
    benchmark:
        f"{study.folder}/benchmarks/back_translate_{{corpus}}_{{scatteritem}}.tsv"
    resources:
        **growing(mem_mb=500, runtime=requests.minutes("back_translate_shard")),
    params:
        settings=as_json(study.mixtures.back_translation),
    shell:
        "python -m distill.back_translation {params.settings:q} --n-best-lists {input.candidates}"
        " --output {output.shard} 2> {log}"


rule gather_back_translation:
    input:
        shards=gather.shard(f"{study.folder}/back-translated/{{{{corpus}}}}/{{scatteritem}}.tsv.zst"),
        counts=gather.shard(f"{study.folder}/back-translated/{{{{corpus}}}}/{{scatteritem}}.json"),
    output:
        corpus=study.paths.back_translated("{corpus}"),
        counts=f"{study.folder}/back-translated/{{corpus}}.json",
    log:
        f"{study.folder}/logs/gather_back_translation_{{corpus}}.log",
    benchmark:
        f"{study.folder}/benchmarks/gather_back_translation_{{corpus}}.tsv"
    wildcard_constraints:
        corpus=one_of(study.corpora.target_only),
    resources:
        **growing(mem_mb=500, runtime=requests.minutes("gather_back_translation")),
    shell:
        "python -m corpora.gather --inputs {input.shards} --output {output.corpus} 2> {log}"
