"""What a JSON schema cannot say: rules that tie the keys of a configuration to each other and to this machine."""

from collections.abc import Iterator

from common.errors import UserError
from formats.bleu import bleu
from study.checks import corpora, hardware, mixtures, systems, timing
from study.checks.hardware import teacher_problems
from study.identity import RESERVED
from study.schema import Config

__all__ = ["problems", "teacher_problems", "warnings"]


def problems(config: Config, here: bool = True) -> Iterator[str]:
    """A line for each problem of an expanded configuration, ``<path of the key>: <what is wrong>``."""
    if config["study"] == RESERVED:
        yield f"study: {RESERVED!r} is taken, results/{RESERVED} is part of the repository"
    if config["source"] == config["target"]:
        yield f"target: {config['target']!r} is the source language too"
    try:
        bleu(config["target"])
    except UserError as error:
        yield f"target: {error}"
    yield from hardware.price_problems(config)
    yield from systems.problems(config)
    yield from mixtures.problems(config)
    yield from corpora.problems(config)
    yield from mixtures.vocabulary_problems(config)
    if here:
        yield from hardware.compute_type_problems(config)
    yield from timing.problems(config)


def warnings(config: Config) -> Iterator[str]:
    """What is allowed, but will hardly be what was meant, a line each."""
    yield from hardware.warnings(config)
    yield from systems.warnings(config)
