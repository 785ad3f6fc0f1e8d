"""Every table and picture of ``python -m report``: its name, the module that makes it, and what it is made from.

To add one, write its module and enter it in SUBJECTS; nothing else, ``workflow/rules/report.smk`` makes all of them.
The Snakefile reads this file, so it imports no module, which would load matplotlib.
"""

from typing import NamedTuple


class Subject(NamedTuple):
    """A module, and the JSON files that it makes a table or a picture of.

    The module has ``table(data)``, which returns Markdown, or ``draw(data, **options)``, which returns a figure of
    matplotlib, or both; and ``read(*paths)``, which returns the data, unless they are one JSON file as it is.
    """

    module: str
    files: tuple[str, ...]  # below the folder of a study; {system} is the one asked for, others are names of the study
    category: str  # of Snakemake's report
    options: tuple[str, ...] = ()  # keywords of ``draw``


MEASUREMENTS = "measurements.json"
LEARNING = "systems/{trained}/learning.json"
COUNTS = "corpora/clean/{training_corpus}.json"
SUBJECTS = {
    "table": Subject("report.measurements", (MEASUREMENTS,), "Tables"),
    "front_speed": Subject("report.front", (MEASUREMENTS,), "Fronts", ("test_set", "remark")),
    "front_column": Subject("report.front_column", (MEASUREMENTS,), "Fronts", ("test_set",)),
    "front_overview": Subject("report.front_overview", (MEASUREMENTS,), "Fronts", ("systems", "test_set")),
    "published": Subject("report.published", (MEASUREMENTS,), "Fronts", ("test_set",)),
    "training": Subject("report.training", (LEARNING,), "Training"),
    "learning": Subject("report.training", (LEARNING,), "Training"),
    "funnel": Subject("report.funnel", (COUNTS,), "Corpora"),
    "lengths": Subject("report.lengths", (COUNTS,), "Corpora"),
    "gap": Subject("report.teacher_student", ("report/gap.json",), "Distillation"),
    "quantization": Subject("report.quantization", ("report/quantization.json", MEASUREMENTS), "Tables"),
    "maps": Subject(
        "report.maps",
        ("alignment/coverage/{dev}.json", "alignment/coverage/{timed_corpus}.json", "report/maps.timing.json"),
        "Vocabulary map",
    ),
    "ladder": Subject("report.ladder", ("report/ladder.{system}.json",), "Speed"),
    "scaling": Subject("report.scaling", ("report/scaling.{system}.json",), "Speed"),
    "switches": Subject("report.switches", ("report/switches.{system}.json",), "Speed"),
    "identities": Subject("report.identities", ("report/identities.{system}.json",), "Speed"),
    "end_to_end": Subject("report.end_to_end", ("report/end_to_end.json",), "Speed"),
    "architectures": Subject("report.architectures", ("report/architectures.json",), "Speed"),
    "marian_figure1": Subject("report.marian_figure1", ("report/architectures.json",), "Speed"),
    "marian_figure2": Subject("report.marian_figure2", ("report/architectures.json",), "Speed"),
    "search-grid": Subject("report.beam_batch", ("search/grid.json",), "Search"),
    "search-components": Subject(
        "report.components", ("search/components-opennmt-tf.json", "search/components.json"), "Search"
    ),
    "search-pipeline": Subject("report.pipeline_cost", ("search/pipeline.json",), "Search"),
    "search-ngrams": Subject("report.ngrams", ("search/ngrams.json",), "Search"),
    "search-cache": Subject("report.encoder_cache", ("search/cache.json",), "Search"),
    "scale_plan": Subject("report.scale_plan", ("scale_plan.json",), "Cluster"),
}


def subject(stem: str) -> Subject:
    """The subject of a file by its stem, which is its name, or its name, a point and a system."""
    return SUBJECTS[stem.partition(".")[0]]
