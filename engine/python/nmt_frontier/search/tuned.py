"""The fastest settings of a model folder on this machine, written by ``measure.tune``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from nmt_frontier import machine
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json
from nmt_frontier.model import model_folder

Times = dict[str, dict[str, dict[str, float]]]  # by shape ("128x512"), type and tile: 10^9 operations a second


class TunedSettings(TypedDict, total=False):
    """The fastest settings of a model on a machine; empty if it was not tuned there.

    products: of a native model. tiled_rows: the fewest rows for which its products use the tiles of AMX, by shape.
    """

    batch_tokens: int
    isa: str | None
    source_words_per_second: int
    products: Times
    tiled_rows: dict[str, int]


def here(beam_size: int) -> str:
    """The file's key for this machine and beam size."""
    facts = machine.describe()
    return f"{facts['cpu']}, {facts['isa']}, {len(machine.cores())} cores, beam {beam_size}"


def read(folder: Path) -> dict[str, TunedSettings]:
    """The settings by machine and beam size. Raises UserError for a damaged file."""
    path = folder / model_folder.TUNED
    try:
        return dict(read_json(path)) if path.exists() else {}
    except (ValueError, TypeError) as error:
        raise UserError(f"{path}: damaged ({error}); delete it, or tune again") from None


def settings(folder: Path, beam_size: int = 1) -> TunedSettings:
    """The settings for this machine; empty if there are none. Raises UserError for damaged ones."""
    of_machines = read(folder)
    found = of_machines.get(here(beam_size), {}) if of_machines else {}
    if found != {} and not (isinstance(found, dict) and _sound(found.get("batch_tokens"), found.get("isa"))):
        raise UserError(f"{folder / model_folder.TUNED}: damaged (it lacks a batch); delete it, or tune again")
    return found


def tiles(folder: Path, kind: str, beam_size: int, known: Sequence[str]) -> dict[tuple[int, int], str]:
    """The fastest tile of each product, by inputs and outputs, if the folder was tuned on this machine.

    kind: type of the weights. known: tiles of the engine, first that of no choice.
    """
    products, found = settings(folder, beam_size).get("products", {}), {}
    try:
        for shape, of_types in products.items():
            times = of_types[kind]
            inputs, outputs = map(int, shape.split("x"))
            named = [tile for tile in known[1:] if tile != "amx" or tile in times]  # timed only where the CPU has it
            found[inputs, outputs] = max(named, key=times.__getitem__)
        return found
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{folder / model_folder.TUNED}: damaged ({error}); delete it, or tune again") from None


def tiled_rows(folder: Path, beam_size: int) -> dict[tuple[int, int], int]:
    """The fewest rows for which each product uses the tiles of AMX, if the folder was tuned on this machine."""
    found = settings(folder, beam_size).get("tiled_rows", {})
    try:
        shapes = {tuple(map(int, shape.split("x"))): rows for shape, rows in found.items()}
        return {(inputs, outputs): max(1, int(rows)) for (inputs, outputs), rows in shapes.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise UserError(f"{folder / model_folder.TUNED}: damaged ({error}); delete it, or tune again") from None


def _sound(batch_tokens: object, isa: object) -> bool:
    return isinstance(batch_tokens, int) and batch_tokens > 0 and isinstance(isa, str | None)
