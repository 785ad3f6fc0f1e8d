"""A model folder that translates text: engine, tokenizer and pipeline, with settings that suit this machine."""

import itertools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from common import machine
from decode import engines, tuned
from decode.engines import Search
from decode.engines.interface import Device
from decode.pipeline import GPU, MANY_CORES, ONE_CORE, LongLines, Pipeline
from decode.tokenizer import Tokenizer

BATCHING = ("workers", "threads", "batch_tokens", "sorting")  # settings that decide which sentences share a batch


class Translator(Pipeline):
    """A model folder that translates text.

    >>> next(Translator("results/demo/models/tiny/native-int8").translate(["A dog runs."]))

    vocabulary_map: use the folder's map if it has one. workers: batches decoded at a time; by default one a core, or
    one on a GPU. batch_tokens: by default the tuned number for this machine (measure.tune), else that of WNGT 2020.
    threads: of each worker. long_lines: lines of more pieces than ``longest_input`` are cut there, or split into parts
    that are translated one by one. checksums: look for damaged files first. overlap, sorting and batch_sentences are
    those of Pipeline, search: the other fields of decode.engines.Search.
    Raises UserError for a folder that cannot be decoded.
    """

    def __init__(
        self,
        folder: str | Path,
        beam_size: int = 1,
        vocabulary_map: bool = True,
        workers: int | None = None,
        batch_tokens: int | None = None,
        long_lines: LongLines = "cut",
        overlap: bool = True,
        sorting: bool = True,
        threads: int = 1,
        batch_sentences: int | None = None,
        device: Device = "cpu",
        checksums: bool = True,
        **search: Any,
    ):
        folder = Path(folder)
        workers = workers or (max(len(machine.cores()) // threads, 1) if device == "cpu" else 1)
        batch_tokens = batch_tokens or best_batch(folder, beam_size, workers, device)
        self.description = engines.describe(folder)
        self.search = Search(
            beam_size=beam_size,
            vocabulary_map=vocabulary_map and self.description["vocabulary_map"],
            workers=workers,
            threads=threads,
            device=device,
            **search,
        )
        self.engine = engines.load(folder, self.search, checksums)
        switches = {"overlap": overlap, "sorting": sorting, "batch_sentences": batch_sentences}
        switches |= {"longest_input": self.engine.longest_input}
        super().__init__(Tokenizer(folder), self.engine.translate, batch_tokens, workers, long_lines, **switches)

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that a translation depends on, except for the model folder and the input."""
        own = {"batch_tokens": self.batch_tokens, "long_lines": self.long_lines, "sorting": self.sorting}
        own |= {name: getattr(self.engine, name) for name in ("isa", "library", "int8_saturates")}
        every = {**vars(self.search), **own, "engine": self.engine.name, "version": self.engine.version}
        if self.engine.of_batch or not self.search.map_per_sentence:
            return every
        return {name: value for name, value in every.items() if name not in BATCHING}

    def close(self) -> None:
        """Discard what waits for a worker, and what the engine can stop."""
        super().close()
        self.engine.stop()

    def translate(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield a translation for each line, in order; reads at most two windows ahead."""
        return itertools.chain.from_iterable(self.windows(lines))


def best_batch(folder: Path, beam_size: int, workers: int, device: Device) -> int:
    """Tokens of a batch: the tuned number for this machine (measure.tune), else that of WNGT 2020.

    A tuned number holds for one set of instructions, so the engine is told to use it, unless the environment names
    another.
    """
    if device == "cuda":
        return GPU
    if workers == len(machine.cores()) and (settings := tuned.settings(folder, beam_size)):
        variable = engines.of(folder).isa_variable
        if settings["isa"] and variable:
            os.environ.setdefault(variable, settings["isa"])  # the engine reads it when it loads its first model
        if not variable or os.environ.get(variable) in (None, settings["isa"]):
            return settings["batch_tokens"]
    return ONE_CORE if workers == 1 else MANY_CORES
