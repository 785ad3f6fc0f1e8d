"""Checks against this machine: the types that its CPU computes in, and its price."""

import importlib.util
from collections.abc import Iterator

from decode import engines
from decode.engines.ctranslate2 import CTranslate2
from formats.prices import PATH as PRICES
from study.expansion import listed_prices
from study.precision import engine
from study.schema import Config


def price_problems(config: Config) -> Iterator[str]:
    if isinstance(machine := config["prices"]["machine"], str):
        listed = ", ".join(listed_prices())
        yield f"prices.machine: {machine!r} is none of {listed}; name one, or give an entry like those of {PRICES.name}"


def compute_type_problems(config: Config) -> Iterator[str]:
    supported = CTranslate2.supported()
    for number, name in enumerate(config["decoding"]["compute_types"]):
        yield from _type_problems(f"decoding.compute_types.{number}", name, supported)


def teacher_type_problems(config: Config) -> Iterator[str]:
    """Of the type that the teachers compute in, once it is chosen (study.precision)."""
    distillation = config["distillation"]
    if distillation["device"] == "cpu":  # only the machine with the GPU knows what it computes in
        supported = engines.ENGINES[engine(config)].supported()
        yield from _type_problems("distillation.compute_type", distillation["compute_type"], supported)


def _type_problems(path: str, name: str, supported: list[str]) -> Iterator[str]:
    if "bfloat16" in name and importlib.util.find_spec("torch") is None:
        yield f"{path}: {name!r} needs PyTorch, which is no dependency: pip install torch"
    elif name not in supported:
        yield f"{path}: {name!r} is not supported on this CPU; supported: {', '.join(supported)}"
