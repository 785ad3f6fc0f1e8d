"""Checks against this machine: the types that its CPU computes in, and its price."""

import importlib.util
from collections.abc import Iterator

from common import machine
from decode import engines
from decode.engines.ctranslate2 import CTranslate2
from decode.engines.native import Native
from formats.prices import PATH as PRICES
from study.expansion import listed_prices
from study.precision import engine, obstacle
from study.schema import Config


def price_problems(config: Config) -> Iterator[str]:
    if isinstance(machine := config["prices"]["machine"], str):
        listed = ", ".join(listed_prices())
        yield f"prices.machine: {machine!r} is none of {listed}; name one, or give an entry like those of {PRICES.name}"


def warnings(config: Config) -> Iterator[str]:
    """A line where measurements will end in an error if this machine makes them."""
    here = machine.cores()
    if lacking := [core for core in config["decoding"]["cores"] if core not in here]:
        usable = ", ".join(map(str, here))
        yield f"decoding.cores: {', '.join(map(str, lacking))} cannot be used here; this process may use {usable}"


def compute_type_problems(config: Config) -> Iterator[str]:
    supported = CTranslate2.supported()
    for number, name in enumerate(config["decoding"]["compute_types"]):
        yield from _type_problems(f"decoding.compute_types.{number}", name, supported)


def teacher_problems(config: Config, here: bool = True) -> Iterator[str]:
    """Of the engine and the type that the teachers compute in, once they are chosen (study.precision)."""
    distillation, used = config["distillation"], engines.ENGINES[engine(config, here)]
    if here and distillation["device"] == "cpu":  # only the machine with the GPU knows what it computes in
        yield from _type_problems("distillation.compute_type", distillation["compute_type"], used.supported())
    why = obstacle(config, here)
    remedy = f", but {Native.name} {why}" if why else ": distillation: {engine: native}"
    for name, teacher in config["teachers"].items():
        if teacher["shape"] and (refused := engines.refusal(used, teacher["shape"], (CTranslate2.name, Native.name))):
            yield f"teachers.{name}.shape: {refused}{remedy}"


def _type_problems(path: str, name: str, supported: list[str]) -> Iterator[str]:
    if "bfloat16" in name and importlib.util.find_spec("torch") is None:
        yield f"{path}: {name!r} needs PyTorch, which is no dependency: pip install torch"
    elif name not in supported:
        yield f"{path}: {name!r} is not supported on this CPU; supported: {', '.join(supported)}"
