"""What is measured: configurations of model folders, and what those of a benchmark share."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from findings.cost import Price
from formats.decoding_options import DecodingOptions
from measure.task import RunTask
from measure.timing_loop import Repeats
from nmt_frontier.command_line import there
from nmt_frontier.model import model_folder
from nmt_frontier.model.model_folder import Description
from nmt_frontier.search import loading
from nmt_frontier.search.engine import Engine


@dataclass(frozen=True)
class ModelFolder:
    """A model folder and its ``model.json``, which is read once."""

    path: Path
    description: Description = field(compare=False, repr=False)

    @classmethod
    def read(cls, path: str | Path, engine: type[Engine] | None = None) -> Self:
        """Raises UserError if it is not there, is no model folder, or is of an unknown or of another engine."""
        folder = there(str(path))
        return cls(folder, loading.describe_for(folder, engine) if engine else loading.describe(folder))

    @property
    def engine(self) -> type[Engine]:
        return loading.of_description(self.description)


@dataclass(frozen=True, kw_only=True)
class Configuration(DecodingOptions):
    """A model folder, how it is decoded, and how that is measured.

    baseline: decoded by the toolkit that trained it. label: part of the name, to tell systems apart. runs: as for the
    other configurations if None. test_sets: names of those to decode, all if None; the first one is timed.
    """

    model: ModelFolder = field(kw_only=False)
    baseline: bool = False
    label: str = ""
    runs: int | None = None
    test_sets: tuple[str, ...] | None = None

    def but(self, without: Collection[str] = (), again: Collection[str] = ()) -> "Configuration":
        """The same with more switches off, and others on again."""
        return replace(self, without=self.without.union(without).difference(again))

    @property
    def name(self) -> str:
        """Unique among the configurations of a study: label, model folder, beam, and all that is not the default."""
        name = ".".join(filter(None, (self.label, self.model.path.name, f"beam{self.beam_size}")))
        return name + ".map" * self.vocabulary_map + "".join(f".{key}-{value}" for key, value in self.changed.items())

    @property
    def environment(self) -> dict[str, str]:
        """The variables that its engine needs."""
        variable = self.model.engine.isa_variable
        isa = self.isa or loading.isa(self.model.path, self.model.engine, self.beam_size)
        return {variable: isa} if isa and variable else {}

    @property
    def recorded(self) -> dict[str, Any]:
        """Its options in a record. The baseline always uses as many threads as cores."""
        return self.options | ({"threads": len(self.cores)} if self.baseline else {})

    def task(self, test_sets: list[tuple[str, Path]], output: Path, translations: Path | None = None) -> RunTask:
        """A run of it."""
        return RunTask(self.model.path, DecodingOptions(**self.options), test_sets, output, translations)

    def model_files(self) -> list[Path]:
        """The files that decoding needs."""
        unused = {*model_folder.NOT_DECODED, *([] if self.vocabulary_map else [self.model.engine.map_file])}
        files = (path for path in self.model.path.rglob("*") if path.is_file() and path.suffix != ".pyc")
        return sorted(path for path in files if path.name not in unused)


@dataclass(frozen=True)
class Benchmark(Repeats):
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
