"""Translate text with a model folder: its tokenizer and engine, stages of text, and the pipeline."""

import os
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt_frontier import machine
from nmt_frontier.characters import visible
from nmt_frontier.errors import UserError
from nmt_frontier.languages import shortest
from nmt_frontier.limits import ONE_CORE, longest_output
from nmt_frontier.model.model_folder import Description
from nmt_frontier.model.native_vocabulary import NO_TEXT
from nmt_frontier.search import loading, switches, tuned
from nmt_frontier.search.engine import Device, Engine, Search
from nmt_frontier.search.pipeline import GPU, MANY_CORES, Pipeline
from nmt_frontier.search.sampling import Sampling
from nmt_frontier.sentence import sentence
from nmt_frontier.text import options as text
from nmt_frontier.text.stage import Context, Stages, Translation
from nmt_frontier.text.tokenizers import of_folder

if TYPE_CHECKING:
    from nmt_frontier.text.attention import Attention

BATCHING = ("workers", "threads", "batch_tokens", "sorting")  # settings on which the content of batches depends


class LineTokenizer:
    """The tokenizer of a folder. Raises UserError if it is missing or damaged.

    description: its ``model.json``, if it was read.
    """

    def __init__(self, folder: Path, description: Description | None = None):
        tokenizer = of_folder(folder, description)
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

    checksums: check all files first. options, all by name: those of text (nmt_frontier.text.options); fields of
    search.engine.Search, where the vocabulary map is used if the folder has one, a prefix is pieces with spaces
    between them, or text, and ``sampling`` the fields of search.sampling.Sampling, by name; and of batches:
    ``batch_tokens``, by default ``best_batch``, or ``batch_sentences``.
    ``workers``, which Search has, are by default one for each core, or one on a GPU; ``without`` also has switches of
    the pipeline.

    Any number of threads may call one Translator, and any number of Translators may run: each call has an iterator of
    its own, for one thread at a time (ValueError). A forked process makes its own Translator (UserError).

    counts: what happened to lines so far (Pipeline.counts, and those of stages). pipeline: has the seconds, too.
    Raises UserError for a folder that cannot be decoded so, and TypeError for an unknown option.
    """

    def __init__(self, folder: str | Path, beam_size: int = 1, *, checksums: bool = True, **options: Any):
        folder, self._process = Path(folder), os.getpid()
        self._text, options = text.divided(options)
        self.description = loading.describe(folder)
        tokenizer = LineTokenizer(folder, self.description)
        self.counts: Counter[str] = Counter()
        source, target = (code and shortest(code) for code in (self.description.source, self.description.target))
        if options.get("samples", 1) > 1 and (one := text.of_one(self._text)):
            raise UserError(f"--{one.replace('_', '-')}: is for one translation of a line; leave out --samples")
        stages = text.stages(self._text, Context(folder, source, target, tokenizer.processors, self.counts))
        sizes = {name: options.pop(name, None) for name in ("batch_tokens", "batch_sentences")}
        self.search = self._search(tokenizer, beam_size, **options)
        self.engine = loading.load(folder, self.search, checksums, self.description)
        coder, translate = self.engine.coded(tokenizer)
        self.pipeline = Pipeline(
            coder,
            translate,
            sizes["batch_tokens"] or best_batch(folder, type(self.engine), self.search),
            self.search.workers,
            self._text["long_lines"],
            **{name: name not in self.search.without for name in switches.of_pipeline()},
            batch_sentences=sizes["batch_sentences"],
            longest_input=self.engine.longest_input,
            copying=self._text["copying"],
            longest_output=longest_output(self.description),
            counts=self.counts,
            samples=self.search.samples,
        )
        self._attention = self._attention_of(tokenizer) if self.search.alignment else None
        self._stages = Stages(stages, self._translated)

    def _search(
        self,
        tokenizer: LineTokenizer,
        beam_size: int,
        vocabulary_map: bool = True,
        workers: int | None = None,
        threads: int = 1,
        device: Device = "cpu",
        without: Collection[str] = (),
        source_prefix: str | None = None,
        target_prefix: str | None = None,
        others: Iterable[str | Path] = (),
        sampling: Mapping[str, Any] | None = None,
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
            sampling=None if sampling is None else Sampling(**sampling),
            end_loops=self._text["end_loops"],
            alignment=text.aligned(self._text),
            **options,
        )

    def _attention_of(self, tokenizer: LineTokenizer) -> "Attention | None":
        from nmt_frontier.text.attention import Attention  # inside: translations without it need no NumPy

        return Attention(tokenizer.processors, self._text["replace_unknown"]) if tokenizer.processors else None

    @property
    def settings(self) -> text.Values:
        """Everything that a translation depends on, except the model folders and the input."""
        own: text.Values = {"batch_tokens": self.pipeline.batch_tokens}
        own |= {name: getattr(self.engine, name) for name in ("isa", "library", "int8_saturates")}
        own["sampling"] = self.search.sampling and self.search.sampling.options
        every = {**vars(self.search), **switches.values(self.search), **own}
        every |= {"engine": self.engine.name, "version": self.engine.version}
        batched = self.engine.of_batch or "map_per_sentence" in self.search.without
        left_out = {"without", "others", "overlap", *(() if batched else BATCHING)}
        return text.changed({name: value for name, value in every.items() if name not in left_out} | self._text)

    def translate(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the translation of each line, or its samples, in order; reads at most two windows ahead."""
        for window in self.windows(map(_with_pairs, lines)):  # no itertools.chain, which two threads can crash
            yield from window

    def windows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Yield the translations of each window of lines."""
        if self._process != os.getpid():
            raise UserError("a Translator's threads are not there in a forked process; make the Translator in it")
        texts = lines if self._text["html"] else map(visible, lines)  # what is markup stays as it is
        for window in self._stages.windows(texts):
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


def best_batch(folder: Path, engine: type[Engine], search: Search) -> int:
    """Tokens per batch: the tuned number for this machine (measure.tune), else that of WNGT 2020.

    A tuned number holds for one instruction set, so it does not if the environment names another.
    """
    if search.device == "cuda":
        return GPU
    if search.workers == len(machine.cores()) and (found := tuned.settings(folder, search.beam_size)):
        variable = engine.isa_variable
        if not variable or os.environ.get(variable) in (None, found["isa"]):
            return int(found["batch_tokens"])
    return ONE_CORE if search.workers == 1 else MANY_CORES
