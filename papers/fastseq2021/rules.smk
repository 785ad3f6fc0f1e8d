# The three optimisations of FastSeq; the target `search` makes them. Made as `switches` in workflow/rules/speed.smk.


# Section 4.3: the synchronous and the asynchronous pipeline against the bare engine.
use rule switches as search_pipeline with:
    input:
        models=SEARCH_MODELS,
        test_set=SEARCH_TEST,
    output:
        records=f"{SEARCH}/pipeline.json",
    log:
        f"{study.folder}/logs/search_pipeline.log",
    benchmark:
        f"{study.folder}/benchmarks/search_pipeline.tsv"
    resources:
        **growing(mem_mb=4000, runtime=600),
    params:
        program="papers.fastseq2021.pipeline_cost",
        models=lambda w, input: f"--models {input.models}",
        options=SEARCH_OPTIONS,


# Table 3: n-gram blocking, the engine's own, and three algorithms.
use rule switches as search_ngrams with:
    input:
        models=SEARCH_MODELS,
        test_set=SEARCH_TEST,
    output:
        records=f"{SEARCH}/ngrams.json",
    log:
        f"{study.folder}/logs/search_ngrams.log",
    benchmark:
        f"{study.folder}/benchmarks/search_ngrams.tsv"
    resources:
        **growing(mem_mb=4000, runtime=600),
    params:
        program="papers.fastseq2021.ngram_timing",
        models=lambda w, input: f"--models {input.models}",
        options=SEARCH_SENTENCES,


# Section 5.2: the encoder's cache, one copy a sentence or one a beam.
use rule switches as search_cache with:
    input:
        models=SEARCH_MODELS,
        test_set=SEARCH_TEST,
    output:
        records=f"{SEARCH}/cache.json",
    log:
        f"{study.folder}/logs/search_cache.log",
    benchmark:
        f"{study.folder}/benchmarks/search_cache.tsv"
    resources:
        **growing(mem_mb=4000, runtime=600),
    params:
        program="papers.fastseq2021.encoder_cache",
        models=lambda w, input: f"--models {input.models}",
        options=SEARCH_OPTIONS,
