"""What rounding does to the weights of a model (export.quantization), and what its types have in BLEU."""

from pathlib import Path
from typing import NamedTuple

from findings import captions
from findings.comparison import CTRANSLATE2, matching
from formats import measurement
from formats.measurement import Measurement
from formats.rounding import OtherCpus, Quantization
from nmt_frontier.files import read_json, typed
from report import markup
from report.markup import NONE

ERRORS = "Relative error of the weights, per cent of their norm"
NOTE = f"""{ERRORS}; BLEU on {{test_set}}, greedy, without a map. "computes
in" is the type that the engine really used, "products" whether its matrix products are exact: without VNNI
instructions those of 8 bits are cut off where their sums do not fit into 16 bits
(`src/formats/ctranslate2_products.py`).
"""


class Rounded(NamedTuple):
    """A model in several types."""

    errors: dict[str, dict[str, float]]  # of the weights, as shares of their norm, by type and name of the matrix
    records: list[Measurement]  # the types measured on this CPU; empty for a model that is in no study
    elsewhere: list[OtherCpus]  # JSON of measure.int8_other_cpus: 8 bits as other CPUs compute them


def read(quantization: Path, measurements: Path | None = None) -> Rounded:
    """Read the JSON of export.quantization, and measurements.json for the BLEU of its system."""
    result = typed(read_json(quantization), Quantization, f"{quantization}: not made by export.quantization")
    records = quality(measurement.read(measurements), result["system"]) if measurements else []
    return Rounded(result["errors"], records, result.get("elsewhere", []))


def quality(measurements: list[Measurement], system: str) -> list[Measurement]:
    """The greedy records of a system in CTranslate2 without a map, on the first test set."""
    greedy = matching(measurements, system=system, engine=CTRANSLATE2, beam_size=1, vocabulary_map=False)
    return matching(greedy, test_set=greedy[0].test_set) if greedy else []


def table(rounded: Rounded) -> str:
    names = next(iter(rounded.errors.values()))
    rows = [
        {"weights": name} | {f"{type}, %": f"{100 * errors[name]:.3f}" for type, errors in rounded.errors.items()}
        for name in names
    ]
    layers = markup.table(rows, left=rows[0])
    if not rounded.records:
        return f"# Quantization\n\n{ERRORS}.\n\n{layers}\n"
    note, cells = NOTE.format(test_set=rounded.records[0].test_set), scores(rounded.records, rounded.elsewhere)
    return f"# Quantization\n\n{note}\n{markup.table(cells, left=cells[0])}\n\n{layers}\n"


def scores(records: list[Measurement], elsewhere: list[OtherCpus]) -> list[dict[str, str]]:
    """BLEU of every type on this CPU, and of 8 bits as others compute them, which were not timed."""
    rows = [
        {
            "type": record.decoding.compute_type,
            "computes in": record.decoding.effective_compute_type or NONE,
            "CPU": captions.cpu(record),
            "library": record.decoding.library or NONE,
            "products": products(record.decoding.int8_saturates),
            "BLEU": f"{record.scores.bleu:.2f}",
            "bytes": f"{record.decoding.model_bytes:,}",
            "words/s": f"{record.words_per_second:,.0f}",
        }
        for record in records
    ]
    for other in elsewhere:
        environment = " ".join(f"{name}={value}" for name, value in other["environment"].items())
        rows.append(
            {
                "type": other["compute_type"],
                "computes in": other["compute_type"],
                "CPU": "as without VNNI" if other["int8_saturates"] else "as with VNNI",
                "library": f"`{environment}`",
                "products": products(other["int8_saturates"]),
                "BLEU": f"{other['bleu']:.2f}",
                "bytes": NONE,
                "words/s": NONE,
            }
        )
    return rows


def products(int8_saturates: bool | None) -> str:
    """Whether matrix products of 8 bits are exact; records of earlier versions lack it."""
    return NONE if int8_saturates is None else "saturate" if int8_saturates else "exact"
