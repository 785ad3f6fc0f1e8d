# Figures 2 and 3 of WNMT 2018 and the three optimisations of FastSeq, measured with one system. Nothing runs beside a
# measurement: each takes all cores. `snakemake --cores all search --configfile configs/X.yaml`

from report.registry import SUBJECTS

# The same weights in CTranslate2 and in the native engine, in those of the two that run the system.
SEARCH_MODELS = study.search.folders(study.maps.type)
SEARCH_TYPES = list(dict.fromkeys([study.models.types[0], study.maps.type]))
SEARCH_TEST = study.paths.clean(study.corpora.timed)
SEARCH = f"{study.folder}/search"
SEARCH_PARAMETERS = {
    "runs": study.config.decoding.runs,
    "core": study.config.decoding.cores[0],
    "noise": study.config.decoding.noise,
}


rule search_grid:
    """BLEU and CPU time over beam and batch."""
    input:
        model=SEARCH_MODELS[-1:],  # the native engine's if there is one: students decode with it
        exact=study.search.folders("float32")[:1],
        test_set=SEARCH_TEST,
    output:
        records=f"{SEARCH}/grid.json",
    log:
        f"{study.folder}/logs/search_grid.log",
    benchmark:
        f"{study.folder}/benchmarks/search_grid.tsv"
    threads: ALL_CORES
    resources:
        **growing(mem_mb=4000, runtime=600),
    params:
        **SEARCH_PARAMETERS,
        test_sets=study.paths.named_corpora([study.corpora.timed]),
        price=PRICE,
        language=study.config.target,
        study=study.name,
        translations=f"{SEARCH}/translations",
    shell:
        f"{ALONE}"
        " python -m experiments.beam_batch --model {input.model} --exact {input.exact} --test-sets {params.test_sets}"
        " --core {params.core}"
        " --runs {params.runs} --noise {params.noise} {params.price} --study {params.study}"
        " --target-language {params.language} --translations {params.translations} --output {output.records}"
        " 2> >(shown {log})"


rule search_components:
    """Where the time of CTranslate2 goes, by what a model costs less without a part; the native engine's own clock."""
    input:
        models=[model for type in SEARCH_TYPES for model in study.search.folders(type)],
        test_set=SEARCH_TEST,
    output:
        rows=f"{SEARCH}/components.json",
    log:
        f"{study.folder}/logs/search_components.log",
    benchmark:
        f"{study.folder}/benchmarks/search_components.tsv"
    threads: ALL_CORES
    resources:
        **growing(mem_mb=4000, runtime=600),
    params:
        **SEARCH_PARAMETERS,
        sentences=study.config.search.sentences,
    shell:
        f"{ALONE}"
        " python -m experiments.components --models {input.models} --test-set {input.test_set}"
        " --sentences {params.sentences} --runs {params.runs} --core {params.core} --noise {params.noise}"
        " --output {output.rows} 2> >(shown {log})"


rule search_components_baseline:
    """Where the time of OpenNMT-tf goes, by TensorFlow's profiler."""
    input:
        model=study.paths.model(study.search.system, "opennmt-tf"),
        test_set=SEARCH_TEST,
    output:
        rows=f"{SEARCH}/components-opennmt-tf.json",
    log:
        f"{study.folder}/logs/search_components_baseline.log",
    benchmark:
        f"{study.folder}/benchmarks/search_components_baseline.tsv"
    threads: ALL_CORES
    resources:
        **growing(mem_mb=4000, runtime=600),
    params:
        **SEARCH_PARAMETERS,
        sentences=study.config.search.sentences,
    shell:
        f"{ALONE}"
        " python -m experiments.components_tf --model {input.model} --test-set {input.test_set}"
        " --sentences {params.sentences} --runs {params.runs} --core {params.core} --noise {params.noise}"
        " --output {output.rows} 2> >(shown {log})"


rule search_pipeline:
    """The synchronous and the asynchronous pipeline against the bare engine."""
    input:
        models=SEARCH_MODELS,
        test_set=SEARCH_TEST,
    output:
        rows=f"{SEARCH}/pipeline.json",
    log:
        f"{study.folder}/logs/search_pipeline.log",
    benchmark:
        f"{study.folder}/benchmarks/search_pipeline.tsv"
    threads: ALL_CORES
    resources:
        **growing(mem_mb=4000, runtime=600),
    params:
        **SEARCH_PARAMETERS,
    shell:
        f"{ALONE}"
        " python -m experiments.pipeline_cost --models {input.models} --test-set {input.test_set} --runs {params.runs}"
        " --core {params.core} --noise {params.noise} --output {output.rows} 2> >(shown {log})"


rule search_ngrams:
    """N-gram blocking: the engine's own, and three algorithms."""
    input:
        models=SEARCH_MODELS,
        test_set=SEARCH_TEST,
    output:
        rows=f"{SEARCH}/ngrams.json",
    log:
        f"{study.folder}/logs/search_ngrams.log",
    benchmark:
        f"{study.folder}/benchmarks/search_ngrams.tsv"
    threads: ALL_CORES
    resources:
        **growing(mem_mb=4000, runtime=600),
    params:
        **SEARCH_PARAMETERS,
        sentences=study.config.search.sentences,
    shell:
        f"{ALONE}"
        " python -m experiments.ngram_timing --models {input.models} --test-set {input.test_set}"
        " --sentences {params.sentences} --runs {params.runs} --core {params.core} --noise {params.noise}"
        " --output {output.rows} 2> >(shown {log})"


rule search_cache:
    """The encoder's cache, one copy a sentence or one a beam."""
    input:
        models=SEARCH_MODELS,
        test_set=SEARCH_TEST,
    output:
        rows=f"{SEARCH}/cache.json",
    log:
        f"{study.folder}/logs/search_cache.log",
    benchmark:
        f"{study.folder}/benchmarks/search_cache.tsv"
    threads: ALL_CORES
    resources:
        **growing(mem_mb=4000, runtime=600),
    params:
        **SEARCH_PARAMETERS,
    shell:
        f"{ALONE}"
        " python -m experiments.encoder_cache --models {input.models}"
        " --test-set {input.test_set} --runs {params.runs} --core {params.core} --noise {params.noise} --output {output.rows} 2> >(shown {log})"


rule search:
    """The figures of the papers on search."""
    input:
        lambda w: unless(
            study.search.problem,
            expand(
                f"{study.report}/{{picture}}.{{format}}",
                picture=[name for name, subject in SUBJECTS.items() if subject.category == "Search"],
                format=["md", "svg", "png"],
            ),
        ),
