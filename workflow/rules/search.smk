# Figures 2 and 3 of WNMT 2018 and the three optimisations of FastSeq, measured with one system. Nothing runs beside a
# measurement: each takes all cores. `snakemake --cores all search --configfile configs/X.yaml`

SEARCH_MODEL = f"{STUDY}/models/{SEARCHED}/{MAP_TYPE}"
SEARCH_TEST = f"{STUDY}/corpora/clean/{CORPORA['test'][0]}.tsv.zst"
SEARCH = f"{STUDY}/search"
SEARCH_PARAMETERS = {
    "runs": config["decoding"]["runs"],
    "core": config["decoding"]["cores"][0],
    "noise": config["decoding"]["noise"],
}


rule search_grid:
    """BLEU and CPU time over beam and batch."""
    input:
        model=SEARCH_MODEL,
        exact=[f"{STUDY}/models/{SEARCHED}/float32"] if "float32" in TYPES else [],
        test_set=ancient(SEARCH_TEST),
    output:
        records=f"{SEARCH}/grid.json",
    log:
        f"{STUDY}/logs/search_grid.log",
    benchmark:
        f"{STUDY}/benchmarks/search_grid.tsv"
    conda:
        "../../environment.yml"
    threads: ALL_CORES
    resources:
        mem_mb=4000,
        runtime=600,
    params:
        test_sets=test_sets_option(CORPORA["test"][:1]),
        runs=config["decoding"]["runs"],
        core=config["decoding"]["cores"][0],
        price=PRICE,
        noise=config["decoding"]["noise"],
        language=config["target"],
        study=config["study"],
        translations=f"{SEARCH}/translations",
    shell:
        "python -m decode.search_grid --model {input.model} --exact {input.exact} --test-sets {params.test_sets}"
        " --core {params.core}"
        " --runs {params.runs} --noise {params.noise} {params.price} --study {params.study}"
        " --target-language {params.language} --translations {params.translations} --output {output.records}"
        " 2> >(tee {log} >&2)"


rule search_components:
    """Where the time of CTranslate2 goes, by what a model costs less without a part of it."""
    input:
        models=[f"{STUDY}/models/{SEARCHED}/{type}" for type in dict.fromkeys([TYPES[0], MAP_TYPE])],
        test_set=ancient(SEARCH_TEST),
    output:
        rows=f"{SEARCH}/components.json",
    log:
        f"{STUDY}/logs/search_components.log",
    benchmark:
        f"{STUDY}/benchmarks/search_components.tsv"
    conda:
        "../../environment.yml"
    threads: ALL_CORES
    resources:
        mem_mb=4000,
        runtime=600,
    params:
        **SEARCH_PARAMETERS,
        sentences=config["search"]["sentences"],
    shell:
        "python -m decode.components --models {input.models} --test-set {input.test_set} --sentences {params.sentences}"
        " --runs {params.runs} --core {params.core} --noise {params.noise} --output {output.rows} 2> >(tee {log} >&2)"


rule search_components_baseline:
    """Where the time of OpenNMT-tf goes, by TensorFlow's profiler."""
    input:
        model=f"{STUDY}/models/{SEARCHED}/opennmt-tf",
        test_set=ancient(SEARCH_TEST),
    output:
        rows=f"{SEARCH}/components-opennmt-tf.json",
    log:
        f"{STUDY}/logs/search_components_baseline.log",
    benchmark:
        f"{STUDY}/benchmarks/search_components_baseline.tsv"
    conda:
        "../../environment.yml"
    threads: ALL_CORES
    resources:
        mem_mb=4000,
        runtime=600,
    params:
        **SEARCH_PARAMETERS,
        sentences=config["search"]["sentences"],
    shell:
        "python -m decode.components_tf --model {input.model} --test-set {input.test_set} --sentences {params.sentences}"
        " --runs {params.runs} --core {params.core} --noise {params.noise} --output {output.rows} 2> >(tee {log} >&2)"


rule search_pipeline:
    """The synchronous and the asynchronous pipeline against the bare engine."""
    input:
        model=SEARCH_MODEL,
        test_set=ancient(SEARCH_TEST),
    output:
        rows=f"{SEARCH}/pipeline.json",
    log:
        f"{STUDY}/logs/search_pipeline.log",
    benchmark:
        f"{STUDY}/benchmarks/search_pipeline.tsv"
    conda:
        "../../environment.yml"
    threads: ALL_CORES
    resources:
        mem_mb=4000,
        runtime=600,
    params:
        **SEARCH_PARAMETERS,
    shell:
        "python -m decode.overlap --model {input.model} --test-set {input.test_set} --runs {params.runs}"
        " --core {params.core} --noise {params.noise} --output {output.rows} 2> >(tee {log} >&2)"


rule search_ngrams:
    """N-gram blocking: the engine's own, and three algorithms."""
    input:
        model=SEARCH_MODEL,
        test_set=ancient(SEARCH_TEST),
    output:
        rows=f"{SEARCH}/ngrams.json",
    log:
        f"{STUDY}/logs/search_ngrams.log",
    benchmark:
        f"{STUDY}/benchmarks/search_ngrams.tsv"
    conda:
        "../../environment.yml"
    threads: ALL_CORES
    resources:
        mem_mb=4000,
        runtime=600,
    params:
        **SEARCH_PARAMETERS,
        sentences=config["search"]["sentences"],
    shell:
        "python -m decode.ngram_timing --model {input.model} --test-set {input.test_set} --sentences {params.sentences}"
        " --runs {params.runs} --core {params.core} --noise {params.noise} --output {output.rows} 2> >(tee {log} >&2)"


rule search_cache:
    """The encoder's cache, one copy a sentence or one a beam."""
    input:
        model=SEARCH_MODEL,
        test_set=ancient(SEARCH_TEST),
    output:
        rows=f"{SEARCH}/cache.json",
    log:
        f"{STUDY}/logs/search_cache.log",
    benchmark:
        f"{STUDY}/benchmarks/search_cache.tsv"
    conda:
        "../../environment.yml"
    threads: ALL_CORES
    resources:
        mem_mb=4000,
        runtime=600,
    params:
        **SEARCH_PARAMETERS,
    shell:
        "python -m decode.cache_timing --model {input.model} --test-set {input.test_set} --runs {params.runs}"
        " --core {params.core} --noise {params.noise} --output {output.rows} 2> >(tee {log} >&2)"


QUESTIONS = {
    "grid": rules.search_grid.output,
    "components": [*rules.search_components_baseline.output, *rules.search_components.output],
    "pipeline": rules.search_pipeline.output,
    "ngrams": rules.search_ngrams.output,
    "cache": rules.search_cache.output,
}


rule search_report:
    """A table and a picture of each question."""
    input:
        measurements=lambda w: QUESTIONS[w.question],
    output:
        table=f"{REPORT}/search-{{question}}.md",
        svg=report(
            f"{REPORT}/search-{{question}}.svg",
            caption="../report/search.rst",
            category="Search",
            labels={"question": "{question}", "format": "svg"},
        ),
        png=report(
            f"{REPORT}/search-{{question}}.png",
            caption="../report/search.rst",
            category="Search",
            labels={"question": "{question}", "format": "png"},
        ),
    log:
        f"{STUDY}/logs/search_report_{{question}}.log",
    benchmark:
        f"{STUDY}/benchmarks/search_report_{{question}}.tsv"
    wildcard_constraints:
        question="|".join(QUESTIONS),
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    shell:
        "python -m decode.search_report {wildcards.question} --measurements {input.measurements}"
        " --markdown {output.table} --pictures {output.svg} {output.png} 2> {log}"


rule search:
    """The figures of the papers on search."""
    input:
        lambda w: of_searched(expand(rules.search_report.output, question=QUESTIONS)),
