"""Lines to translated lines in order, with bounded memory and the time of every stage.

As in the WNGT 2020 submission: read a window of 8N tokens, sort it by length, cut it into batches of N tokens, decode,
restore the order. As in FastSeq (Yan et al. 2021), stages overlap: while the workers decode one window, the next is
read and tokenized, and the previous one is detokenized and written.
"""

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from nmt_frontier.limits import MAXIMUM_CHARACTERS, MAXIMUM_INPUT, MAXIMUM_OUTPUT, ONE_CORE
from nmt_frontier.search.batching import AHEAD, Weigh, batches, by_sentence, in_order
from nmt_frontier.search.engine import Batch, Coder
from nmt_frontier.sentence import has_letters, sentence

MANY_CORES, GPU = 256, 6000  # tokens of a batch, as ONE_CORE
WINDOW_BATCHES = 8  # for each worker
MARKS = (*".!?;:,", "。", "！", "？", "，")  # a long sentence is split after one of them
NAMED = 10  # lines that are named of those that a limit has cut
CONTINUED = {f"<0x{value:02X}>" for value in range(0x80, 0xC0)}  # bytes of a character after its first

LongLines = Literal["cut", "split"]


class SplitLine(NamedTuple):
    """A text in pieces. parts: one unless it was split. long: whether it was cut or split. copied: is written."""

    parts: Batch
    long: bool = False
    copied: str = ""


class Decoded(NamedTuple):
    """A translated text. output: the engine's, of its only part; nothing if the text was copied, or split."""

    text: str
    output: Any = None


class Window(NamedTuple):
    """Lines that are decoded together; each has some texts."""

    parts: Batch  # of all texts
    sizes: list[int]  # number of parts of each text
    texts: list[int]  # number of texts of each line
    long: list[int]  # places of texts that were cut or split
    copied: dict[int, str]  # by place of the text


def windows(lines: Iterable[Sequence[SplitLine]], full: int, weigh: Weigh = len) -> Iterator[Window]:
    """Group lines, given as their texts, in order; a window ends with the line with which it weighs ``full``."""
    window, size = Window([], [], [], [], {}), 0
    for texts in lines:
        for parts, long, copied in texts:
            if long:
                window.long.append(len(window.sizes))
            if copied:
                window.copied[len(window.sizes)] = copied
            window.parts.extend(parts)
            window.sizes.append(len(parts))
            size += max(sum(map(weigh, parts)), 1)  # an empty line takes memory, too
        window.texts.append(len(texts))
        size += not texts
        if size >= full:
            yield window
            window, size = Window([], [], [], [], {}), 0
    if window.texts:
        yield window


def chunks(line: str) -> Iterator[str]:
    """Divide a line into chunks of at most MAXIMUM_CHARACTERS, at white space if possible."""
    start = 0
    while len(line) - start > MAXIMUM_CHARACTERS:
        end = line.rfind(" ", start + MAXIMUM_CHARACTERS // 2, start + MAXIMUM_CHARACTERS)
        end = start + MAXIMUM_CHARACTERS if end < 0 else end
        yield line[start:end]
        start = end
    yield line[start:]


def split(pieces: list[Any], limit: int, text: Callable[[Any], str] = str) -> Iterator[list[Any]]:
    """Split a sentence into parts of at most ``limit`` pieces, if possible after a mark in the second half.

    text: of a piece.
    """
    while len(pieces) > limit:
        ends = (k for k in range(limit, limit // 2, -1) if text(pieces[k - 1]).strip("▁")[-1:] in MARKS)
        end = next(ends, limit)
        while end > 1 and pieces[end] in CONTINUED:  # a character in bytes stays whole
            end -= 1
        yield pieces[:end]
        pieces = pieces[end:]
    if pieces:
        yield pieces


def divided(encoded: Iterable[list[Any]], limit: int, text: Callable[[Any], str] = str) -> SplitLine:
    """A line, given as the pieces of its chunks, in parts of at most ``limit`` pieces."""
    parts = [part for pieces in encoded for part in split(pieces, limit, text)] or [[]]
    return SplitLine(parts, long=len(parts) > 1)


def cut(encoded: Iterable[list[Any]], limit: int) -> SplitLine:
    """The first ``limit`` pieces of a line, given as the pieces of its chunks; later chunks are not tokenized."""
    pieces = [*itertools.islice(itertools.chain.from_iterable(encoded), limit + 1)]
    return SplitLine([pieces[:limit]], long=len(pieces) > limit)


class Pipeline:
    """Translates lines with a tokenizer and the ``translate`` of an engine.

    overlap: False runs one stage after the other. sorting: False keeps the order of the text in batches.
    batch_sentences: the size of batches in sentences; replaces batch_tokens. copying: a line without letters is not
    translated. longest_output: pieces at which the engine cuts off a translation. samples: the engine returns a list of
    so many translations of a sentence, if there are several, and each line has as many.

    Two attributes grow with every window that ``windows`` yields. seconds: by stage; decode is the busy time of the
    workers, divided by their number. counts: source_tokens and target_tokens in pieces without control tokens;
    lines_cut or lines_split of more than ``longest_input`` pieces; lines_limited, of ``longest_output``; lines_looped,
    whose translations repeated themselves and were ended. The first NAMED of each of these are named, too, as
    ``lines_cut: 17``; ``lines`` are all.
    """

    def __init__(
        self,
        tokenizer: Coder,
        translate: Callable[[Batch], Batch],
        batch_tokens: int = ONE_CORE,
        workers: int = 1,
        long_lines: LongLines = "cut",
        overlap: bool = True,
        sorting: bool = True,
        batch_sentences: int | None = None,
        longest_input: int = MAXIMUM_INPUT,
        copying: bool = False,
        longest_output: int = MAXIMUM_OUTPUT,
        counts: Counter[str] | None = None,
        samples: int = 1,
    ):
        self.seconds: dict[str, float] = dict.fromkeys(("tokenization", "decode", "detokenization"), 0.0)
        self.counts: Counter[str] = Counter() if counts is None else counts
        self.batch_tokens, self.long_lines, self.sorting = batch_tokens, long_lines, sorting
        self.longest_input, self.longest_output, self.copying = longest_input, longest_output, copying
        self.samples = samples
        self.lines_before = 0  # the first one, in messages
        self._tokenizer, self._translate = tokenizer, translate
        self._batch = batch_sentences or batch_tokens
        self._weigh: Weigh = by_sentence if batch_sentences else len
        self._window = WINDOW_BATCHES * self._batch * workers
        self._workers = ThreadPoolExecutor(workers)
        self._alone, self._count = threading.Lock(), workers
        self._ahead, self._closed = AHEAD if overlap else 0, False

    def windows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Yield the translations of each window, ``samples`` per line."""
        for window in self.translated((line,) for line in lines):
            yield [text for ((text, _),) in window]

    def translated(self, lines: Iterable[Sequence[str]], named: bool = True) -> Iterator[list[list[Decoded]]]:
        """Yield the translations of the texts of each line, ``samples`` of a line, by window; a line may have no texts.

        named: False for lines that were translated before, so that messages do not number them.
        """
        encoded = ([self._encode(text) for text in texts] for texts in lines)
        cut = windows(encoded, self._window, self._weigh)
        workers = self._workers, self._count
        decoded = in_order(cut, attrgetter("parts"), self._batches, self._decode, *workers, self._ahead)
        for window, outputs in decoded:
            yield self._finish(window, [*map(self._drawn, outputs)], named)

    def cut(self, lines: Iterable[str]) -> Iterator[Batch]:
        """The batches that ``windows`` would decode of these lines, in pieces as text."""
        for window in windows(([self._encode(line)] for line in lines), self._window, self._weigh):
            for places in self._batches(window.parts):
                yield [[*map(self._tokenizer.text, window.parts[place])] for place in places]

    def close(self) -> None:
        """Discard the batches that wait for a worker, so that the process can end."""
        self._closed = True
        self._workers.shutdown(wait=False, cancel_futures=True)

    def _batches(self, parts: Batch) -> Iterator[list[int]]:
        return batches(parts, self._batch, self.sorting, self._weigh)

    def _encode(self, text: str) -> SplitLine:
        start = time.perf_counter()
        text = sentence(text)  # normalised like the training data
        encoded = map(self._tokenizer.encode, chunks(text))
        if self.long_lines == "split":
            line = divided(encoded, self.longest_input, self._tokenizer.text)
        else:
            line = cut(encoded, self.longest_input)
        if self.copying and any(line.parts) and not has_letters(text):
            line = SplitLine([[]], copied=text)
        self.seconds["tokenization"] += time.perf_counter() - start
        return line

    def _decode(self, batch: Batch) -> Batch:
        """Decode a batch in a worker's thread. Raises CancelledError if the pipeline was closed meanwhile."""
        if self._closed:
            raise CancelledError
        start = time.perf_counter()
        outputs = self._translate(batch)
        with self._alone:
            self.seconds["decode"] += (time.perf_counter() - start) / self._count
        return outputs

    def _drawn(self, output: list[Any] | None) -> Batch:
        """The samples of a part, one without sampling; they are empty if it is."""
        return [output or []] if self.samples == 1 else output or [[]] * self.samples

    def _finish(self, window: Window, drawn: list[Batch], named: bool) -> list[list[Decoded]]:
        """The texts of all lines of a window. drawn: the samples of each part."""
        start = time.perf_counter()
        samples = [self._texts(window, [outputs[number] for outputs in drawn]) for number in range(self.samples)]
        lines = [line for of_line in zip(*samples, strict=True) for line in of_line]
        self.seconds["detokenization"] += time.perf_counter() - start
        with self._alone:
            self.counts["source_tokens"] += sum(map(len, window.parts))
            self.counts["target_tokens"] += sum(len(output) for outputs in drawn for output in outputs)
            self._name_limits(window, drawn, named)
        return lines

    def _texts(self, window: Window, outputs: Batch) -> list[list[Decoded]]:
        """Detokenize a translation of each part of a window and join them to texts."""
        parts = zip(map(self._tokenizer.decode, outputs), outputs, strict=True)
        found = [_joined([*itertools.islice(parts, size)]) for size in window.sizes]
        for place, text in window.copied.items():
            found[place] = Decoded(text)
        texts = iter(found)
        return [[*itertools.islice(texts, size)] for size in window.texts]

    def _name_limits(self, window: Window, drawn: list[Batch], named: bool) -> None:
        """Count what limits did to the texts of a window."""
        texts = [text for text, size in enumerate(window.sizes) for _ in range(size)]  # of each part
        ends = [(text, output) for text, outputs in zip(texts, drawn, strict=True) for output in outputs]
        found = {
            f"lines_{self.long_lines}": window.long,
            "lines_limited": [text for text, output in ends if len(output) >= self.longest_output],
            "lines_looped": [text for text, output in ends if getattr(output, "looped", False)],
        }
        lines = (
            [
                line
                for line, size in enumerate(window.texts, self.lines_before + self.counts["lines"] + 1)
                for _ in range(size)
            ]
            if any(found.values())
            else []
        )  # the number of each text's line
        for what, places in found.items():
            for place in dict.fromkeys(places):
                self.counts[what] += 1
                if named and self.counts[what] <= NAMED:
                    self.counts[f"{what}: {lines[place]}"] = 1
        self.counts["lines"] += named * len(window.texts)


def _joined(parts: Sequence[tuple[str, Any]]) -> Decoded:
    """A text of parts, given their translations and the engine's outputs."""
    if len(parts) == 1:
        return Decoded(*parts[0])
    return Decoded(" ".join(text for text, _ in parts if text))
