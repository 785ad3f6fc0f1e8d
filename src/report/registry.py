"""Every table and picture of ``python -m report``: its name, the module that makes it, and what it is made from.

To add one, write its module and enter it in SUBJECTS; nothing else, ``workflow/rules/report.smk`` makes all of them.
The Snakefile reads this file, so it imports no module, which would load matplotlib.
"""

import importlib
import inspect
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json


class Subject(NamedTuple):
    """A module, and the JSON files that it makes a table or a picture of.

    The module has ``table(data)``, which returns Markdown, or ``draw(data, **options)``, which returns a figure of
    matplotlib, or both; and ``read(*paths)``, which returns the data, unless they are one JSON file as it is. A module
    that serves several subjects has these with ``suffix`` at the end of their names.
    """

    module: str
    files: tuple[str, ...]  # below the folder of a study; {system} is the one asked for, others are names of the study
    category: str  # of Snakemake's report
    options: tuple[str, ...] = ()  # keywords of ``draw``
    suffix: str = ""

    def functions(self) -> SimpleNamespace:
        """``read``, ``table`` and ``draw``, those of them that the module has."""
        module = importlib.import_module(self.module)
        names = {name: name + self.suffix for name in ("table", "draw")}
        names["read"] = f"read{self.suffix}" if hasattr(module, f"read{self.suffix}") else "read"
        return SimpleNamespace(**{name: getattr(module, own) for name, own in names.items() if hasattr(module, own)})


MEASUREMENTS = "measurements.json"
LEARNING = "systems/{trained}/learning.json"
COUNTS, SCORED = "corpora/clean/{training_corpus}.json", "corpora/clean/{scored_corpus}.json"
SUBJECTS = {
    "table": Subject("report.measurements", (MEASUREMENTS,), "Tables"),
    "front_speed": Subject("report.front", (MEASUREMENTS,), "Fronts", ("test_set", "remark")),
    "front_column": Subject("report.front", (MEASUREMENTS,), "Fronts", ("test_set",), suffix="_column"),
    "front_overview": Subject("report.front_overview", (MEASUREMENTS,), "Fronts", ("systems", "test_set", "axis")),
    "published": Subject("report.published", (MEASUREMENTS,), "Fronts", ("test_set",)),
    "training": Subject("report.training", (LEARNING,), "Training"),
    "learning": Subject("report.training", (LEARNING,), "Training"),
    "funnel": Subject("report.corpora_page", (COUNTS,), "Corpora", suffix="_funnel"),
    "lengths": Subject("report.corpora_page", (COUNTS,), "Corpora", suffix="_lengths"),
    "scores": Subject("report.scores", (SCORED,), "Corpora"),
    "gap": Subject("report.teacher_student", ("report/gap.json",), "Distillation"),
    "quantization": Subject("report.quantization", ("report/quantization.json", MEASUREMENTS), "Tables"),
    "robustness": Subject("report.robustness", ("report/robustness.json",), "Robustness"),
    "maps": Subject(
        "report.maps",
        ("alignment/coverage/{dev}.json", "alignment/coverage/{timed_corpus}.json", "report/maps.timing.json"),
        "Vocabulary map",
    ),
    "ladder": Subject("papers.wngt2020.ladder_report", ("report/ladder.{system}.json",), "Speed"),
    "scaling": Subject("papers.wngt2020.scaling_report", ("report/scaling.{system}.json",), "Speed"),
    "switches": Subject("report.switches", ("report/switches.{system}.json",), "Speed"),
    "identities": Subject("papers.devlin2017.identities_report", ("report/identities.{system}.json",), "Speed"),
    "end_to_end": Subject("papers.wngt2020.end_to_end_report", ("report/end_to_end.json",), "Speed"),
    "architectures": Subject("report.architectures", ("report/architectures.json",), "Speed"),
    "marian_table2": Subject("report.rungs", ("report/marian_table2.json",), "Speed"),
    "marian_table4": Subject("report.rungs", ("report/marian_table4.json",), "Speed"),
    "wnmt_table3": Subject("report.rungs", ("report/wnmt_table3.json",), "Speed"),
    "wngt_table5": Subject("report.rungs", ("report/wngt_table5.json",), "Speed"),
    "quality_front": Subject("report.quality_front", ("quality.json", "report/architectures.json"), "Fronts"),
    "marian_figure1": Subject(
        "papers.marian2018.figures_report", ("report/architectures.json",), "Speed", suffix="_figure1"
    ),
    "marian_figure2": Subject(
        "papers.marian2018.figures_report", ("report/architectures.json",), "Speed", suffix="_figure2"
    ),
    "search-grid": Subject("papers.wnmt2018.beam_batch_report", ("search/grid.json",), "Search"),
    "search-components": Subject(
        "papers.wnmt2018.components_report",
        ("search/components-opennmt-tf.json", "search/components.json"),
        "Search",
    ),
    "search-pipeline": Subject("papers.fastseq2021.pipeline_cost_report", ("search/pipeline.json",), "Search"),
    "search-ngrams": Subject("papers.fastseq2021.ngram_timing_report", ("search/ngrams.json",), "Search"),
    "search-cache": Subject("papers.fastseq2021.encoder_cache_report", ("search/cache.json",), "Search"),
    "scale_plan": Subject("report.scale_plan", ("scale_plan.json",), "Cluster"),
}


def subject(stem: str) -> Subject:
    """The subject of a file by its stem, which is its name, or its name, a point and a system."""
    return SUBJECTS[stem.partition(".")[0]]


def files(study: Path, pattern: str) -> list[Path]:
    """The files of a study that match a path below the folder of a run, such as ``report/gap.json``, sorted.

    ``make reference`` keeps the files of report/ beside the others, so they are looked for there, too. Raises UserError
    where there are none.
    """
    if found := sorted(study.glob(pattern)) or sorted(study.glob(pattern.removeprefix("report/"))):
        return found
    raise UserError(f"{study}: no {pattern}; set STUDY to the folder of a study that has it, below results/")


def read(module: SimpleNamespace, files: Sequence[str], paths: list[Path]) -> Any:
    """The data of a module. files: what the paths are, for people. Raises UserError for too few or too many paths."""
    reader = getattr(module, "read", read_json)
    try:
        inspect.signature(reader).bind(*paths)
    except TypeError:
        raise UserError(f"--input: {len(paths)} files; needed: {', '.join(files)}") from None
    return reader(*paths)
