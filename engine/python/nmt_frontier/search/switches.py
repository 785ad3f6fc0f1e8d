"""The switches of decoding: parts that can be turned off one at a time, to measure what each gains.

An entry of SWITCHES is the only description of a switch in Python. From it come the option of commands that decode, the
names that a Search, a Configuration and a record are ``without``, a record's field and its documents, and the bit of
the native engine (engine/model/switches.h has the same name).
"""

from collections.abc import Collection
from typing import Any, NamedTuple

NATIVE = frozenset({"native"})


class Switch(NamedTuple):
    """A part of decoding, on by default; or, with a unit, a number, 0 by default.

    off: what decoding does without it; the help of the option ``--no-NAME``, or ``--NAME N`` of a number. on: the
    meaning of its field in a record. engines: names of the engines that have it; None: it is of the text pipeline
    around all of them. models: the only ones in which it makes a difference. ablation: only tables that switch single
    parts have the field.
    """

    off: str
    on: str
    engines: frozenset[str] | None = NATIVE
    models: str = ""
    ablation: bool = True
    unit: str = ""

    @property
    def default(self) -> bool | int:
        return 0 if self.unit else True

    @property
    def help(self) -> str:
        return f"{self.off} ({self.models})" if self.models else self.off


# In the order of a record's fields.
SWITCHES = {
    "sorting": Switch(
        "fill batches in the order of the text",
        "whether sentences were sorted by length before batches were cut",
        engines=None,
        ablation=False,
    ),
    "overlap": Switch(
        "run one stage after the other",
        "whether tokenization, decoding and detokenization overlapped",
        engines=None,
        ablation=False,
    ),
    "map_per_sentence": Switch(
        "share the candidates of the vocabulary map between all sentences of a batch",
        "whether each sentence had its own candidates, where the engine can",
    ),
    "remove_finished": Switch(
        "decode finished sentences until their batch ends, in greedy search",
        "whether finished sentences left their batch",
    ),
    "shared_cache": Switch(
        "copy the encoder's keys and values to every beam",
        "whether all beams read one copy of the encoder's keys and values",
    ),
    "blocked_ngram": Switch(
        "repeat no n-gram of N pieces",
        "size of n-grams that could not occur twice; 0: none",
        engines=NATIVE | {"ctranslate2"},
        unit="pieces",
    ),
    "parallel_scan": Switch(
        "scan for blocked n-grams one position at a time",
        "whether such n-grams were searched for with SIMD",
    ),
    "packed": Switch(
        "pack weights for every matrix product",
        "whether weights were laid out beforehand for the matrix products",
        engines=NATIVE | {"ctranslate2"},
        ablation=False,
    ),
    # Devlin 2017; results change by rounding only.
    "piece_products": Switch(
        "compute the products of a recurrent first layer for every piece",
        "whether products of up to 8,000 pieces with a first layer were looked up",
    ),
    "source_products": Switch(
        "compute the attention's products of the source at each step",
        "whether the attention's products of the source were computed once a sentence",
        models="with fully connected layers",
    ),
    "equal_states": Switch(
        "compute the products of a state for each hypothesis",
        "whether the products of a state were computed once for all hypotheses",
        models="with fully connected layers",
    ),
    "polynomials": Switch("use the C library's sigmoid and tanh", "whether sigmoid and tanh were polynomials"),
}


def flags() -> list[str]:
    """Names of the switches that are no numbers, in the order of options and signatures: ablations are last."""
    names = (name for name, switch in SWITCHES.items() if not switch.unit)
    return sorted(names, key=lambda name: SWITCHES[name].ablation)


def numbers() -> list[str]:
    return [name for name, switch in SWITCHES.items() if switch.unit]


def of_pipeline() -> list[str]:
    """Those of the text pipeline."""
    return [name for name, switch in SWITCHES.items() if switch.engines is None]


def of_engine(engine: str) -> list[str]:
    """Those that an engine has."""
    return [name for name, switch in SWITCHES.items() if switch.engines is not None and engine in switch.engines]


def option(name: str) -> str:
    """The option of the command line that changes a switch."""
    return f"--{'' if SWITCHES[name].unit else 'no-'}{name.replace('_', '-')}"


def off(names: Collection[str]) -> frozenset[str]:
    """The names of flags that are off. Raises ValueError for another name."""
    if unknown := set(names) - set(flags()):
        raise ValueError(f"no switch has the name {', '.join(sorted(unknown))}")
    return frozenset(names)


def values(switched: Any) -> dict[str, bool | int]:
    """The value of each switch, from an object with ``without`` and a field for each number."""
    return {
        name: getattr(switched, name) if switch.unit else name not in switched.without
        for name, switch in SWITCHES.items()
    }


def changed(switched: Any) -> dict[str, bool | int]:
    """As ``values``, without defaults."""
    return {name: value for name, value in values(switched).items() if value != SWITCHES[name].default}
