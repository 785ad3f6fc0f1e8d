"""Translate text with a model folder: engine, tokenizer and pipeline, and the options of commands that decode."""

import argparse
import itertools
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from common import machine
from common.command_line import positive, there
from common.errors import UserError
from decode import engines, tuned
from decode.capitals import Capitals
from decode.engines import Search
from decode.engines.interface import Device
from decode.pipeline import GPU, MANY_CORES, LongLines, Pipeline
from decode.protection import Missing, protection
from formats import records, switches
from formats.decoding import MAXIMUM_INPUT, ONE_CORE, longest_output
from formats.native_vocabulary import NO_TEXT
from formats.tokenizers import of_folder

BATCHING = ("workers", "threads", "batch_tokens", "sorting")  # settings on which the content of batches depends


class Tokenizer:
    """The tokenizer of a folder. Raises UserError if it is missing or damaged."""

    def __init__(self, folder: Path):
        tokenizer = of_folder(folder)
        self.encode, self._decode, self.processors = tokenizer.encode, tokenizer.decode, tokenizer.processors

    def prefix(self, given: str | None) -> tuple[str, ...] | None:
        """The pieces of a prefix: its words if they are pieces of languages or of the like, else text."""
        if given is None:
            return None
        words = tuple(given.split())
        return words if all(map(NO_TEXT.fullmatch, words)) else tuple(self.encode(given))

    def decode(self, pieces: list[str]) -> str:
        """The text on one line, normalised like a record's."""
        return records.sentence(self._decode(pieces))

    def text(self, piece: str) -> str:
        return piece


class Translator(Pipeline):
    """Translates text with a model folder.

    >>> next(Translator("results/demo/models/tiny/native-int8").translate(["A dog runs."]))

    vocabulary_map: use the folder's map if it has one. workers: batches decoded at a time; default: one per core, or
    one on a GPU. batch_tokens: default: ``best_batch``. threads: per worker. long_lines: cut lines of more than
    ``longest_input`` pieces, or split them into parts that are translated one by one. checksums: check all files first.
    without: names of formats.switches that are off. batch_sentences: see Pipeline. source_prefix, target_prefix: pieces
    with spaces between them, instead of the model's prefixes; the first may be text instead, as T5's models have it.
    others: folders of further models of the same vocabulary, whose probabilities are averaged with those of the first.
    protect: kinds of text to keep as it is, also as one text with commas. protect_missing: what becomes of those lost
    (decode.protection).
    recase: translate lines in capitals without them (decode.capitals).
    end_loops: end a translation that repeats itself, if the engine can. copying: lines without letters are not
    translated. search: further fields of decode.engines.Search.
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
        without: Collection[str] = (),
        threads: int = 1,
        batch_sentences: int | None = None,
        device: Device = "cpu",
        checksums: bool = True,
        source_prefix: str | None = None,
        target_prefix: str | None = None,
        others: Iterable[str | Path] = (),
        protect: str | Collection[str] = (),
        protect_missing: Missing | None = None,
        recase: bool = False,
        end_loops: bool = True,
        copying: bool = True,
        **search: Any,
    ):
        folder = Path(folder)
        workers = workers or (max(len(machine.cores()) // threads, 1) if device == "cpu" else 1)
        batch_tokens = batch_tokens or best_batch(folder, beam_size, workers, device)
        self.description = engines.describe(folder)
        tokenizer = Tokenizer(folder)
        self.search = Search(
            beam_size=beam_size,
            vocabulary_map=vocabulary_map and self.description.vocabulary_map,
            workers=workers,
            threads=threads,
            device=device,
            without=switches.off(without),
            source_prefix=tokenizer.prefix(source_prefix),
            target_prefix=None if target_prefix is None else tuple(target_prefix.split()),
            others=tuple(map(Path, others)),
            end_loops=end_loops,
            **search,
        )
        self.engine = engines.load(folder, self.search, checksums)
        batching: dict[str, Any] = {"batch_sentences": batch_sentences, "longest_input": self.engine.longest_input}
        batching |= {name: name not in without for name in switches.of_pipeline()}
        batching |= {"copying": copying, "longest_output": longest_output(self.description)}
        coder, translate = self.engine.coded(tokenizer)
        super().__init__(coder, translate, batch_tokens, workers, long_lines, **batching)
        self.naming = protect_missing != "keep"  # it translates lines in pieces
        self._protection = protection(folder, protect, protect_missing, tokenizer.processors, self.counts)
        self._chosen: dict[str, Any] = {"recase": True} if recase else {}
        if self._protection:
            self._chosen |= {"protect": self._protection.kinds, "protect_missing": protect_missing}
        languages = self.description.source, self.description.target
        self._capitals = Capitals(*languages, self.counts) if recase else None

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that a translation depends on, except the model folders and the input."""
        own = {"batch_tokens": self.batch_tokens, "long_lines": self.long_lines, "copying": self.copying}
        own |= {name: getattr(self.engine, name) for name in ("isa", "library", "int8_saturates")}
        every = {**vars(self.search), **switches.values(self.search), **own}
        every |= {"engine": self.engine.name, "version": self.engine.version}
        batched = self.engine.of_batch or "map_per_sentence" in self.search.without
        left_out = {"without", "others", "overlap", *(() if batched else BATCHING)}
        return {name: value for name, value in every.items() if name not in left_out} | self._chosen

    def windows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        translated = super().windows
        if self._capitals:
            translated = partial(self._capitals.windows, translated)
        return self._protection.windows(translated, lines) if self._protection else translated(lines)

    def close(self) -> None:
        """Discard waiting batches, and stop running ones if the engine can."""
        super().close()
        self.engine.stop()

    def translate(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the translation of each line, in order; reads at most two windows ahead."""
        return itertools.chain.from_iterable(self.windows(map(_with_pairs, lines)))


def _with_pairs(line: str) -> str:
    """A line with U+FFFD for each half of a surrogate pair, which JSON may have and tokenizers refuse."""
    return line if line.isascii() else line.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def best_batch(folder: Path, beam_size: int, workers: int, device: Device) -> int:
    """Tokens per batch: the tuned number for this machine (measure.tune), else that of WNGT 2020.

    A tuned number holds for one instruction set, so it also sets the engine's, unless the environment names another.
    """
    if device == "cuda":
        return GPU
    if workers == len(machine.cores()) and (settings := tuned.settings(folder, beam_size)):
        variable = engines.of(folder).isa_variable
        if settings["isa"] and variable:
            os.environ.setdefault(variable, settings["isa"])  # the engine reads it when it loads its first model
        if not variable or os.environ.get(variable) in (None, settings["isa"]):
            return int(settings["batch_tokens"])
    return ONE_CORE if workers == 1 else MANY_CORES


class _Models(argparse.Action):
    """Stores the first value, and those behind it as ``others``."""

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        namespace.model, *namespace.others = values


def decoding_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that decode with a model folder, or several; ``loaded`` takes them."""
    models = "model folder; several of one vocabulary are an ensemble, which averages probabilities at every step"
    parser.add_argument("--model", action=_Models, nargs="+", type=there, required=True, help=models)
    parser.set_defaults(others=[])
    parser.add_argument("--beam-size", type=positive, default=1, help="1 is greedy search")
    parser.add_argument("--source-prefix", metavar="PIECES", help="or text, before every source")
    parser.add_argument("--target-prefix", metavar="PIECES", help="what every translation begins with")
    parser.add_argument("--no-vocabulary-map", dest="vocabulary_map", action="store_false")
    parser.add_argument("--workers", type=positive, help="batches decoded at a time, a thread each (default: cores)")
    parser.add_argument(
        "--batch-tokens",
        type=positive,
        help=f"largest batch, with padding (default: {ONE_CORE}; {MANY_CORES} if many workers; {GPU} on a GPU)",
    )
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--no-checksums", dest="checksums", action="store_false", help="load damaged files, too")
    parser.add_argument("--long-lines", choices=["cut", "split"], default="cut", help=f"of over {MAXIMUM_INPUT} pieces")
    parser.add_argument(
        "--keep-loops",
        dest="end_loops",
        action="store_false",
        help="do not end a translation that repeats itself over and over, as the native engine does",
    )
    parser.add_argument(
        "--no-copying", dest="copying", action="store_false", help="translate numbers and other lines without letters"
    )
    group = parser.add_argument_group("switches", "for ablation; an engine refuses those it lacks")
    group.add_argument("--threads", type=positive, default=1, help="per worker, sharing its batch")
    group.add_argument("--isa", metavar="SET", help="instruction set, by the engine's name")
    for name in switches.numbers():
        group.add_argument(
            switches.option(name), type=positive, default=0, metavar="N", help=switches.SWITCHES[name].help
        )
    for name in switches.flags():
        about = switches.SWITCHES[name].help
        group.add_argument(
            switches.option(name), dest="without", action="append_const", const=name, default=[], help=about
        )


def loaded(args: argparse.Namespace, make: Callable[..., Translator] = Translator, **options: Any) -> Translator:
    """The translator of ``decoding_options``. make: its class; options: its further arguments.

    Raises UserError for a folder that cannot be decoded with these options.
    """
    if args.isa:
        if not (variable := engines.of(args.model).isa_variable):
            raise UserError(f"{args.model}: {engines.of(args.model).label} has no --isa; leave it out")
        os.environ[variable] = args.isa  # engines read it when they load their first model
    names = ("beam_size", "vocabulary_map", "workers", "batch_tokens", "long_lines", "device", "checksums", "threads",
             "source_prefix", "target_prefix", "others", "end_loops", "copying")  # fmt: skip
    chosen = {name: getattr(args, name) for name in (*names, *switches.numbers(), "without")}
    return make(args.model, **chosen, **options)
