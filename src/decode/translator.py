"""Translate text with a model folder: engine, tokenizer and pipeline, and the options of commands that decode."""

import argparse
import itertools
import os
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from common import machine
from common.command_line import positive, there
from common.errors import UserError
from decode import engines, tuned
from decode.engines import Search
from decode.engines.interface import Device
from decode.pipeline import BYTE_ORDER_MARK, GPU, MANY_CORES, Pipeline
from decode.text import options as text
from decode.text.alignment import Attention
from decode.text.stage import Context, Stages, Translation
from formats import switches
from formats.decoding import ONE_CORE, longest_output
from formats.native_vocabulary import NO_TEXT
from formats.sentence import sentence
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
        return sentence(self._decode(pieces))

    def text(self, piece: str) -> str:
        return piece


class Translator:
    """Translates text with a model folder.

    >>> next(Translator("results/demo/models/tiny/native-int8").translate(["A dog runs."]))
    >>> next(Translator("models/deep/native-int8", beam_size=4, html=True).translate(["A <b>dog</b> runs."]))

    checksums: check all files first. options, all by name: those of text (decode.text.options); fields of
    decode.engines.Search, where the vocabulary map is used if the folder has one, and a prefix is pieces with spaces
    between them, or text; and of batches: ``batch_tokens``, by default ``best_batch``, or ``batch_sentences``.
    ``workers``, which Search has, are by default one for each core, or one on a GPU; ``without`` also has switches of
    the pipeline.

    counts: what happened to lines so far (Pipeline.counts, and those of stages). pipeline: has the seconds, too.
    Raises UserError for a folder that cannot be decoded so, and TypeError for an unknown option.
    """

    def __init__(self, folder: str | Path, beam_size: int = 1, checksums: bool = True, **options: Any):
        folder = Path(folder)
        self._text, options = text.divided(options)
        self.description = engines.describe(folder)
        tokenizer = Tokenizer(folder)
        self.counts: Counter[str] = Counter()
        languages = self.description.source, self.description.target
        stages = text.stages(self._text, Context(folder, *languages, tokenizer.processors, self.counts))
        sizes = {name: options.pop(name, None) for name in ("batch_tokens", "batch_sentences")}
        self.search = self._search(tokenizer, beam_size, **options)
        self.engine = engines.load(folder, self.search, checksums)
        coder, translate = self.engine.coded(tokenizer)
        self.pipeline = Pipeline(
            coder,
            translate,
            sizes["batch_tokens"] or best_batch(folder, beam_size, self.search.workers, self.search.device),
            self.search.workers,
            self._text["long_lines"],
            **{name: name not in self.search.without for name in switches.of_pipeline()},
            batch_sentences=sizes["batch_sentences"],
            longest_input=self.engine.longest_input,
            copying=self._text["copying"],
            longest_output=longest_output(self.description),
            counts=self.counts,
        )
        self._attention: Attention | None = None
        if self.search.alignment and tokenizer.processors:
            self._attention = Attention(tokenizer.processors, self._text["replace_unknown"])
        self._stages = Stages(stages, self._translated)

    def _search(
        self,
        tokenizer: Tokenizer,
        beam_size: int,
        vocabulary_map: bool = True,
        workers: int | None = None,
        threads: int = 1,
        device: Device = "cpu",
        without: Collection[str] = (),
        source_prefix: str | None = None,
        target_prefix: str | None = None,
        others: Iterable[str | Path] = (),
        **options: Any,
    ) -> Search:
        return Search(
            beam_size=beam_size,
            vocabulary_map=vocabulary_map and self.description.vocabulary_map,
            workers=workers or (max(len(machine.cores()) // threads, 1) if device == "cpu" else 1),
            threads=threads,
            device=device,
            without=switches.off(without),
            source_prefix=tokenizer.prefix(source_prefix),
            target_prefix=None if target_prefix is None else tuple(target_prefix.split()),
            others=tuple(map(Path, others)),
            end_loops=self._text["end_loops"],
            alignment=text.aligned(self._text),
            **options,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that a translation depends on, except the model folders and the input."""
        own = {"batch_tokens": self.pipeline.batch_tokens}
        own |= {name: getattr(self.engine, name) for name in ("isa", "library", "int8_saturates")}
        every = {**vars(self.search), **switches.values(self.search), **own}
        every |= {"engine": self.engine.name, "version": self.engine.version}
        batched = self.engine.of_batch or "map_per_sentence" in self.search.without
        left_out = {"without", "others", "overlap", *(() if batched else BATCHING)}
        return text.changed({name: value for name, value in every.items() if name not in left_out} | self._text)

    def translate(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the translation of each line, in order; reads at most two windows ahead."""
        return itertools.chain.from_iterable(self.windows(map(_with_pairs, lines)))

    def windows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Yield the translations of each window of lines."""
        for window in self._stages.windows(line.removeprefix(BYTE_ORDER_MARK) for line in lines):
            yield [translation.text for translation in window]

    def close(self) -> None:
        """Discard waiting batches, and stop running ones if the engine can."""
        self.pipeline.close()
        self.engine.stop()

    def _translated(self, lines: Iterable[Sequence[str]], named: bool) -> Iterator[list[list[Translation]]]:
        """Translate the texts of lines, by window, after all stages have hidden what is theirs."""
        if not self._attention:
            for window in self.pipeline.translated(lines, named):
                yield [[Translation(found) for found, _ in texts] for texts in window]
            return
        waiting: deque[Sequence[str]] = deque()

        def sources() -> Iterator[Sequence[str]]:
            for texts in lines:
                waiting.append(texts)
                yield texts

        for window in self.pipeline.translated(sources(), named):
            pairs = (zip(waiting.popleft(), texts, strict=True) for texts in window)
            yield [[self._attention.translation(source, *found) for source, found in texts] for texts in pairs]


def _with_pairs(line: str) -> str:
    """A line with U+FFFD for each half of a surrogate pair, which JSON may have and tokenizers refuse."""
    return line if line.isascii() else line.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def best_batch(folder: Path, beam_size: int, workers: int, device: Device) -> int:
    """Tokens per batch: the tuned number for this machine (measure.tune), else that of WNGT 2020.

    A tuned number holds for one instruction set, so it does not if the environment names another.
    """
    if device == "cuda":
        return GPU
    if workers == len(machine.cores()) and (found := tuned.settings(folder, beam_size)):
        variable = engines.of(folder).isa_variable
        if not variable or os.environ.get(variable) in (None, found["isa"]):
            return int(found["batch_tokens"])
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
    text.add(parser)
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


def loaded(args: argparse.Namespace) -> Translator:
    """The translator of ``decoding_options``. Raises UserError for a folder that cannot be decoded with these."""
    if args.isa:
        if not (variable := engines.of(args.model).isa_variable):
            raise UserError(f"{args.model}: {engines.of(args.model).label} has no --isa; leave it out")
        os.environ[variable] = args.isa  # engines read it when they load their first model
    names = ("beam_size", "vocabulary_map", "workers", "batch_tokens", "device", "checksums", "threads",
             "source_prefix", "target_prefix", "others", "without", *switches.numbers(), *text.OPTIONS)  # fmt: skip
    return Translator(args.model, **{name: getattr(args, name) for name in names})
