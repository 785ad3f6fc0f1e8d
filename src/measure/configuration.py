"""What is measured: configurations of model folders, and the conditions that all of them share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from decode import engines
from decode.translator import SWITCHED_OFF
from formats import model_folder
from formats.cost import Price
from measure.timing_loop import Repeats

SWITCHES = ("threads", "sorting", "overlap", "isa", "sentences", "batch_sentences", *engines.SWITCHES)


@dataclass(frozen=True)
class Configuration:
    """A model folder and how it is decoded.

    baseline: decoded by the toolkit that trained it. workers: batches decoded at a time. threads: of each worker.
    cores: the only ones used. isa: instruction set to force, that of ``decode.tuned`` if None. sentences: the first
    ones of each test set, all if None. batch_sentences: size of a batch in sentences instead of tokens. label: part of
    the name, to tell systems apart. runs: as for the other configurations if None. test_sets: names of those to decode,
    all if None; the first one is timed. The rest are switches of decode.engines.Search.
    """

    model: Path
    beam_size: int = 1
    vocabulary_map: bool = False
    baseline: bool = False
    batch_tokens: int = 512
    workers: int = 1
    threads: int = 1
    cores: tuple[int, ...] = (0,)
    sorting: bool = True
    overlap: bool = True
    isa: str | None = None
    sentences: int | None = None
    batch_sentences: int | None = None
    label: str = ""
    runs: int | None = None
    test_sets: tuple[str, ...] | None = None
    map_per_sentence: bool = True
    remove_finished: bool = True
    shared_cache: bool = True
    blocked_ngram: int = 0
    parallel_scan: bool = True
    packed: bool = True
    piece_products: bool = True
    source_products: bool = True
    equal_states: bool = True
    polynomials: bool = True

    @property
    def name(self) -> str:
        """Unique among the configurations of a study: label, model folder, beam, and all that is not the default."""
        name = ".".join(filter(None, (self.label, self.model.name, f"beam{self.beam_size}")))
        for switch in ("vocabulary_map", *SWITCHES):
            value = getattr(self, switch)
            if value != getattr(Configuration, switch):
                name += ".map" if switch == "vocabulary_map" else f".{switch}-{value}"
        return name

    @property
    def environment(self) -> dict[str, str]:
        isa = self.isa or engines.isa(self.model, self.beam_size)
        variable = engines.of(self.model).isa_variable
        return {variable: isa} if isa and variable else {}

    @property
    def settings(self) -> dict[str, Any]:
        """Its fields in a record. The baseline always uses as many threads as cores."""
        names = ("beam_size", "vocabulary_map", "batch_tokens", "workers", *SWITCHES)
        threads = {"threads": len(self.cores)} if self.baseline else {}
        return {name: getattr(self, name) for name in names} | threads | {"cores": list(self.cores)}

    def model_files(self) -> list[Path]:
        """The files that decoding needs."""
        unused = {*model_folder.NOT_DECODED, *([] if self.vocabulary_map else [engines.of(self.model).map_file])}
        return sorted(path for path in self.model.rglob("*") if path.is_file() and path.name not in unused)

    def command(self, test_sets: list[tuple[str, Path]]) -> list[str]:
        options = ["--model", self.model, "--beam-size", self.beam_size, "--workers", self.workers]
        options += ["--batch-tokens", self.batch_tokens, "--cores", *self.cores]
        off = (name for name in ("vocabulary_map", *SWITCHED_OFF) if not getattr(self, name))
        options += [f"--no-{name.replace('_', '-')}" for name in off]
        options += ["--threads", self.threads] if self.threads > 1 else []
        for name in ("blocked_ngram", "sentences", "batch_sentences"):
            options += [f"--{name.replace('_', '-')}", getattr(self, name)] if getattr(self, name) else []
        options += ["--test-sets", *(f"{name}={path}" for name, path in test_sets)]
        return ["-m", "measure.run", *map(str, options)]


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
