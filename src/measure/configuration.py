"""What is measured: configurations of model folders, and the conditions that all of them share."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from findings.cost import Price
from measure.task import Decoding
from measure.timing_loop import Repeats
from nmt_frontier.model import model_folder
from nmt_frontier.search import loading, switches


@dataclass(frozen=True)
class Configuration(Decoding):
    """A model folder, how it is decoded, and how that is measured.

    baseline: decoded by the toolkit that trained it. isa: instruction set to force; the tuned one if None.
    label: part of the name, to tell systems apart. runs: as for the other configurations if None. test_sets: names of
    those to decode, all if None; the first one is timed.
    """

    baseline: bool = False
    isa: str | None = None
    label: str = ""
    runs: int | None = None
    test_sets: tuple[str, ...] | None = None

    def but(self, without: Collection[str] = (), again: Collection[str] = ()) -> "Configuration":
        """The same with more switches off, and others on again."""
        return replace(self, without=self.without.union(without).difference(again))

    @property
    def name(self) -> str:
        """Unique among the configurations of a study: label, model folder, beam, and all that is not the default."""
        name = ".".join(filter(None, (self.label, self.model.name, f"beam{self.beam_size}")))
        name += ".map" * self.vocabulary_map
        own = {field: getattr(self, field) for field in ("threads", "isa", "sentences", "batch_sentences")}
        given = {field: value for field, value in own.items() if value != getattr(Configuration, field)}
        given |= switches.changed(self)
        ordered = dict.fromkeys(["threads", *switches.of_pipeline(), *given])
        return name + "".join(f".{field}-{given[field]}" for field in ordered if field in given)

    @property
    def environment(self) -> dict[str, str]:
        isa = self.isa or loading.isa(self.model, self.beam_size)
        variable = loading.of(self.model).isa_variable
        return {variable: isa} if isa and variable else {}

    @property
    def settings(self) -> Mapping[str, Any]:
        """Its fields in a record. The baseline always uses as many threads as cores."""
        names = ["beam_size", "vocabulary_map", "batch_tokens", "workers", "threads", "cores", "batch_sentences"]
        threads = {"threads": len(self.cores)} if self.baseline else {}
        return {name: getattr(self, name) for name in (*names, "without", *switches.numbers())} | threads

    def model_files(self) -> list[Path]:
        """The files that decoding needs."""
        unused = {*model_folder.NOT_DECODED, *([] if self.vocabulary_map else [loading.of(self.model).map_file])}
        files = (path for path in self.model.rglob("*") if path.is_file() and path.suffix != ".pyc")
        return sorted(path for path in files if path.name not in unused)


@dataclass(frozen=True)
class Conditions(Repeats):
    """What all configurations of a benchmark share.

    test_sets: names and paths of records; the first one is timed. price: of this machine, if known. study: name, that
    in model.json if None. translations: folder for translations and runs. output: the file of records; paths in it are
    relative to its folder.
    """

    test_sets: list[tuple[str, Path]]
    price: Price | None
    study: str | None
    translations: Path
    output: Path
