# Figures 2 and 3 of OpenNMT at WNMT 2018; the target `search` makes them. Made as `switches` in
# workflow/rules/speed.smk.

from papers.wnmt2018.table3 import ROWS as WNMT_TABLE3

# Weights of both types in CTranslate2 and in the native engine.
SEARCH_TYPES = list(dict.fromkeys([study.models.types[0], study.maps.type]))


# Figure 2: where CTranslate2's time goes, by what a model costs less without a part; the native engine's own clock.
use rule switches as search_components with:
    input:
        models=[model for type in SEARCH_TYPES for model in study.search.folders(type)],
        test_set=SEARCH_TEST,
    output:
        records=f"{SEARCH}/components.json",
    log:
        f"{study.folder}/logs/search_components.log",
    benchmark:
        f"{study.folder}/benchmarks/search_components.tsv"
    resources:
        **growing(mem_mb=4000, runtime=600),
    params:
        program="papers.wnmt2018.components",
        models=lambda w, input: f"--models {input.models}",
        options=SEARCH_SENTENCES,


# Where the time of OpenNMT-tf goes, by TensorFlow's profiler.
use rule switches as search_components_baseline with:
    input:
        model=study.paths.model(study.search.system, "opennmt-tf"),
        test_set=SEARCH_TEST,
    output:
        records=f"{SEARCH}/components-opennmt-tf.json",
    log:
        f"{study.folder}/logs/search_components_baseline.log",
    benchmark:
        f"{study.folder}/benchmarks/search_components_baseline.tsv"
    resources:
        **growing(mem_mb=4000, runtime=600),
    params:
        program="papers.wnmt2018.components_tf",
        models=lambda w, input: f"--model {input.model}",
        options=SEARCH_SENTENCES,


# Figure 3: BLEU and CPU time over beam and batch.
use rule switches as search_grid with:
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
    resources:
        **growing(mem_mb=4000, runtime=600),
    params:
        program="papers.wnmt2018.beam_batch",
        models=lambda w, input: f"--model {input.model} --exact {input.exact}",
        options=f"--test-sets {study.paths.named_corpora([study.corpora.timed])[0]} {SEARCH_TIMING} {PRICE}"
        f" --study {study.config.study} --target-language {study.config.target} --translations {SEARCH}/translations",


# Table 3: every row in the kind of program that it had; a speed table that is asked for by name.
use rule switches as wnmt_table3 with:
    input:
        models=table_models(WNMT_TABLE3),
        test_set=study.paths.clean(study.corpora.timed),
    output:
        records=f"{study.folder}/speed/wnmt_table3.json",
    log:
        f"{study.folder}/logs/wnmt_table3.log",
    benchmark:
        f"{study.folder}/benchmarks/wnmt_table3.tsv"
    params:
        program="papers.wnmt2018.table3",
        models=lambda w, input: f"--models {input.models}",
        options=speed_options,
