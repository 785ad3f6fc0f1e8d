# Figures 2 and 3 of WNMT 2018 and the three optimisations of FastSeq, measured with one system; their rules are in
# papers/wnmt2018 and papers/fastseq2021. `snakemake --cores all search --configfile configs/X.yaml`

from report.registry import SUBJECTS

# The same weights in CTranslate2 and in the native engine, in those of the two that run the system.
SEARCH_MODELS = study.search.folders(study.maps.type)
SEARCH_TEST = study.paths.clean(study.corpora.timed)
SEARCH = f"{study.folder}/search"
SEARCH_TIMING = (
    f"--runs {study.config.decoding.runs} --core {study.config.decoding.cores[0]} --noise {study.config.decoding.noise}"
)
SEARCH_OPTIONS = f"--test-set {SEARCH_TEST} {SEARCH_TIMING}"
SEARCH_SENTENCES = f"{SEARCH_OPTIONS} --sentences {study.config.search.sentences}"


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
