# One vocabulary for both languages and all systems, from the bilingual training data or an epoch of a mixture.
from study.resources import vocabulary_megabytes

VOCABULARY = study.config.vocabulary
SYMBOLS = ["--symbols", *map(shlex.quote, study.mixtures.symbols)] if study.mixtures.symbols else []


rule vocabulary:
    input:
        corpora=(
            study.paths.epoch(study.config.vocabulary.of, 1, "tsv.zst")
            if study.config.vocabulary.of
            else expand(study.paths.clean("{corpus}"), corpus=study.corpora.train)
        ),
    output:
        model=study.paths.sentencepiece,
        vocabulary=study.paths.vocabulary,
    log:
        f"{study.folder}/logs/vocabulary.log",
    benchmark:
        f"{study.folder}/benchmarks/vocabulary.tsv"
    threads: 2
    resources:
        **growing(mem_mb=vocabulary_megabytes(study.config), runtime=requests.minutes("vocabulary")),
    params:
        languages=study.pair,
        type=study.config.vocabulary.type,
        pieces=study.config.vocabulary.pieces,
        coverage=study.config.vocabulary.character_coverage,
        normalization=study.corpora.normalization,
        options=" ".join(
            ["--byte-fallback"] * VOCABULARY.byte_fallback + ["--split-digits"] * VOCABULARY.split_digits + SYMBOLS
        ),
        sentences=study.config.vocabulary.sentences,
        seed=study.config.seed,
    shell:
        "python -m train.vocabulary --corpora {input.corpora} --languages {params.languages}"
        " --type {params.type} --pieces {params.pieces}"
        " --character-coverage {params.coverage} --normalization {params.normalization}"
        " {params.options} --sentences {params.sentences} --seed {params.seed}"
        " --threads {threads} --model {output.model} --vocabulary {output.vocabulary} 2> {log}"


rule encode_dev:
    input:
        corpus=study.paths.clean(study.corpora.dev),
        model=rules.vocabulary.output.model,
    output:
        source=f"{study.folder}/training/dev.source",
    log:
        f"{study.folder}/logs/encode_dev.log",
    benchmark:
        f"{study.folder}/benchmarks/encode_dev.tsv"
    resources:
        **growing(mem_mb=500, runtime=10),
    shell:
        "python -m train.encode --inputs {input.corpus} --model {input.model} --threads {threads}"
        " --outputs {output.source} 2> {log}"
