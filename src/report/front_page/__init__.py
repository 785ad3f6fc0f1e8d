"""Fronts of one study or several on an interactive HTML page that needs no other file.

The reader chooses the axes and filters the measurements; the Pareto front is that of what is shown. A click fixes a
configuration and shows its record, its command and sentences. The table has the same data, for keyboards and screen
readers. Studies stand side by side: a panel has the records of one test set and one CPU, the others cannot be compared.

Vega and Vega-Lite (Satyanarayan et al. 2017, "Vega-Lite: A Grammar of Interactive Graphics") come from Snakemake, which
carries them for its own report.
"""

import base64
import gzip
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from msgspec import to_builtins
from snakemake.assets import Assets

from findings import captions, comparison
from formats import measurement
from formats.measurement import Measurement
from formats.records import read_output
from formats.schema_from_dataclass import Column
from formats.shape import decoder_kind
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json
from report import markup
from report import measurements as tables
from report.front_styles import KEYS, styles
from report.markup import templates
from report.samples import Sample, Samples
from report.samples import read as read_samples

FIRST, END = "vega/vega.js", "vega-embed/vega-embed.js"  # of Snakemake's assets, between them all that Vega-Lite needs
SENTENCES = 5
TRANSLATIONS = "translations.json"  # beside the measurements of a study that report.keep has kept
LIMIT = 3_000_000  # bytes of the page, so that it can be sent by mail and opened on a phone


class Axis(NamedTuple):
    """more: whether more is better. spread: the field whose runs spread as the value does, if any."""

    name: str
    label: str
    more: bool
    value: Callable[[Measurement], float | None]
    spread: str = ""


def latency(record: Measurement) -> float | None:
    """Milliseconds of a sentence that is decoded alone, where that was timed."""
    return record.timing.sentence_seconds and 1000 * record.timing.sentence_seconds


def megabytes(name: str) -> Callable[[Measurement], float | None]:
    return lambda record: (size := record.value(name)) and size / 1e6


TEXT, MILLION = "text_seconds", "per million source words"
ACROSS = [  # logarithmic, so without what is not above 0
    Axis("speed", "source words per second", True, attrgetter("words_per_second"), "source_words_per_second"),
    Axis("core_seconds", f"core-seconds {MILLION}", False, attrgetter("core_seconds_per_million_words"), TEXT),
    Axis("usd", f"USD {MILLION}", False, attrgetter("usd_per_million_words"), TEXT),
    Axis("latency", "milliseconds a sentence, one at a time", False, latency),
    Axis("memory", "peak memory, MB", False, megabytes("peak_rss_bytes")),
    Axis("size", "files of the model, MB", False, megabytes("model_bytes")),
    Axis("parameters", "parameters, millions", False, lambda record: record.system.parameters / 1e6),
]
UP = [Axis("bleu", "BLEU", True, attrgetter("scores.bleu")), Axis("chrf", "chrF", True, attrgetter("scores.chrf"))]
COMET = Axis("comet", "COMET", True, attrgetter("scores.comet"))  # where it was measured

FACETS: dict[str, Callable[[Measurement], str]] = {  # what measurements are filtered by, beside their study
    "test set": attrgetter("test_set"),
    "role": attrgetter("system.role"),
    "system": attrgetter("system.name"),
    "decoder": lambda record: decoder_kind(record.system.shape),
    "engine": captions.engine_label,
    "type": captions.compute_type,
    "search": captions.search,
    "map": lambda record: "yes" if record.decoding.vocabulary_map else "no",
    "disturbed": lambda record: "yes" if record.noisy else "no",
}


@dataclass
class FrontStudy:
    """The records of one file. folder: where the paths of their translations start. samples: of ``report.samples``.

    kept: of a study whose translations are not there, those of ``sentences`` by the path of their file.
    """

    name: str
    folder: Path
    records: list[Measurement]
    samples: Samples
    kept: dict[str, list[str]]

    @property
    def sentences(self) -> list[Sample]:
        """SENTENCES of the samples, evenly chosen."""
        found = self.samples.samples
        count = min(SENTENCES, len(found))
        return [found[len(found) * number // count] for number in range(count)]

    def translations(self, record: Measurement) -> list[str] | None:
        """How the record's configuration translates ``sentences``; None where its output is not there."""
        if record.decoding.output in self.kept:
            return self.kept[record.decoding.output]
        path = self.folder / record.decoding.output if record.decoding.output else None
        if record.test_set != self.samples.test_set or not record.decoding.sentences or not (path and path.is_file()):
            return None
        lines = read_output(path, record.decoding.sentences)
        return [lines[sample.line - 1] for sample in self.sentences if sample.line <= len(lines)]


def read(paths: list[Path], samples: list[Path]) -> list[FrontStudy]:
    """Studies of their measurements and their samples, which may be left out. Raises UserError for too few samples."""
    if samples and len(samples) != len(paths):
        raise UserError(f"--samples: {len(samples)} files for {len(paths)} files of measurements; give one for each")
    records = [measurement.read(path) for path in paths]
    for path, own in zip(paths, records, strict=True):
        if not comparison.drawn(own):
            raise UserError(f"{path}: no measurement has both BLEU and a speed")
    counts = Counter(one[0].study for one in records)
    return [
        FrontStudy(
            own[0].study if counts[own[0].study] == 1 else f"{own[0].study} ({path.parent})",
            path.parent,
            own,
            read_samples(sampled),
            read_json(kept) if (kept := path.with_name(TRANSLATIONS)).exists() else {},
        )
        for path, own, sampled in itertools.zip_longest(paths, records, samples)
    ]


def place(axis: Axis, record: Measurement) -> list[float] | None:
    """Where a record is on an axis, with the lowest and the highest of its runs where they are known."""
    value = axis.value(record)
    if value is None or (axis in ACROSS and value <= 0):
        return None
    spread = getattr(record.timing, axis.spread) if axis.spread else None
    return [value, value * spread.low / spread.middle, value * spread.high / spread.middle] if spread else [value]


class About(TypedDict):
    """What the page shows of a record beside its fields. words: by facet."""

    title: str
    words: dict[str, str]
    panel: str
    greedy: bool
    command: str | None
    translations: list[str] | None


class Data(TypedDict):
    """What the script of the page reads: the records whole, and what is made of them; lists are in their order."""

    fields: list[dict[str, str]]
    records: list[list[Any]]
    axes: dict[str, dict[str, str | bool]]
    places: dict[str, list[list[float] | None]]
    about: list[About]
    facets: dict[str, dict[str, bool]]
    styles: dict[str, dict[str, tuple[str, str]]]
    samples: dict[str, dict[str, Any]]


def about(study: FrontStudy, record: Measurement) -> About:
    cores = f", {len(record.decoding.cores)} cores" if len(record.decoding.cores) > 1 else ""
    return {
        "title": captions.title(record),
        "words": {"study": study.name} | {name: word(record) for name, word in FACETS.items()},
        "panel": f"{study.name}: {record.test_set}, {captions.cpu(record)}{cores}",
        "greedy": record.decoding.beam_size == 1,
        "command": captions.decoding_command(record),
        "translations": study.translations(record),
    }


def facets(words: list[dict[str, str]]) -> dict[str, dict[str, bool]]:
    """The values of each facet that has several, and whether they are shown at first: all but the disturbed ones."""
    values = {name: dict.fromkeys(sorted({word[name] for word in words}), True) for name in words[0]}
    several = {name: found for name, found in values.items() if len(found) > 1}
    if "disturbed" in several:
        several["disturbed"]["yes"] = False
    return several


def rows(studies: list[FrontStudy], named: Iterable[str]) -> list[dict[str, str]]:
    """The table's rows in the order of the records, all with the same columns, though not all studies have COMET.

    named: which of study and test set the rows differ in.
    """
    found = []
    for study in studies:
        for record in study.records:
            own = comparison.of_test_set(study.records, record.test_set)
            names = {"study": study.name, "test set": record.test_set}
            found.append({"front": "", **{name: names[name] for name in named}, **tables.row(record, own)})
    columns = dict.fromkeys(name for row in found for name in row)
    return [{name: row.get(name, markup.NONE) for name in columns} for row in found]


def _described(column: Column) -> dict[str, str]:
    of = {} if column.required else {"only": column.only}
    return {"name": column.name, "text": column.text, "unit": column.unit, **of}


def data(studies: list[FrontStudy]) -> Data:
    records = [record for study in studies for record in study.records]
    known = {name for record in records for name, value in record.as_json().items() if value is not None}
    columns = [column for column in measurement.columns() if column.name in known]
    axes = [*ACROSS, *UP, *([COMET] if "comet" in known else [])]
    places = {axis.name: [place(axis, record) for record in records] for axis in axes}
    described = [about(study, record) for study in studies for record in study.records]
    words = [one["words"] for one in described]
    return {
        "fields": [_described(column) for column in columns],
        "records": [[record.value(column.name) for column in columns] for record in records],
        "axes": {axis.name: {"label": axis.label, "more": axis.more} for axis in axes},
        "places": {name: found for name, found in places.items() if any(found)},
        "about": described,
        "facets": facets(words),
        "styles": styles((study.records for study in studies), words),
        "samples": {
            study.name: {"test_set": study.samples.test_set, "sentences": study.sentences} for study in studies
        },
    }


def compressed(text: str) -> str:
    """As gzip in base64."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def assets(names: Iterable[str]) -> str:
    """Assets of Snakemake, joined."""
    return "\n".join(map(Assets.get_content, names))


def page(studies: list[FrontStudy]) -> str:
    """The page as HTML. Raises UserError where it would have more than LIMIT bytes."""
    names = list(Assets.spec)
    names = names[names.index(FIRST) : names.index(END)]
    values = data(studies)
    named = [name for name in ("study", "test set") if name in values["facets"]]
    groups = [(study, name) for study in studies for name in comparison.test_sets(study.records)]
    notes = [
        (f"{study.name}, {name}", markup.plain(tables.notes(comparison.of_test_set(study.records, name))))
        for study, name in groups
    ]
    text = (
        templates()
        .get_template("front.html.jinja")
        .render(
            studies=[study.name for study in studies],
            facets=values["facets"],
            data=compressed(json.dumps(values, separators=(",", ":"), default=to_builtins)),
            across=[axis for axis in ACROSS if axis.name in values["places"]],
            up=[axis for axis in (*UP, COMET) if axis.name in values["places"]],
            keys=[key for key in KEYS if key == "system" or key in values["facets"]],
            several=len({one["panel"] for one in values["about"]}) > 1,
            rows=rows(studies, named),
            left={*tables.WORDS, *named},
            notes=notes,
            vega=compressed(assets(name for name in names if name.endswith(".js"))),
            licences=compressed(assets(name for name in names if not name.endswith(".js"))),
        )
    )
    if (size := len(text.encode())) > LIMIT:
        raise too_large(size, studies)
    return text


def too_large(size: int, studies: list[FrontStudy]) -> UserError:
    """The error for a page of so many bytes."""
    counts = Counter((study.name, record.test_set) for study in studies for record in study.records)
    parts = ", ".join(f"{study}, {test_set}: {count:,}" for (study, test_set), count in counts.most_common())
    return UserError(
        f"the page would have {size / 1e6:.1f} MB, more than {LIMIT / 1e6:g} MB; "
        f"leave out studies or test sets of these measurements ({parts})"
    )
