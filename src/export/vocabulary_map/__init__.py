"""The vocabulary map of WNMT 2018 (Senellart et al., section 3.2): which target pieces a source sentence may need.

Always on (0-grams) are the most frequent unaligned target pieces, and the most frequent target pieces (WNGT 2020).
Each source n-gram brings the ``meanings`` most frequent target pieces of its phrase pairs, each seen in at least
``min_frequency`` of them, less those that its shorter n-grams bring already. The paper ranks whole phrases and keeps
the words of the best N; ranking pieces needs no phrase in memory. With byte fallback each byte of a source brings all
bytes, since the characters that are written in bytes are too rare for counts, and each other piece itself, as in
Marian's shortlist: a URL or a name is copied in pieces that no phrase pair has. So does a symbol that stands for
protected text, in any vocabulary.

The file is CTranslate2's (nmt_frontier.model.vocabulary_map). Shorter n-grams come first, in the order of the
vocabulary, and the most frequent piece of each comes first, so that equal tables give equal bytes.
"""

import itertools
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import ctranslate2
import numpy as np
from numpy.typing import NDArray

from decode.engines.ctranslate2 import CTranslate2
from export.map_entries import Entries, select
from export.phrase_table import MAX_NGRAM, PhraseTable
from export.sorted_counts import KeyCounts
from formats.ctranslate2_loading import translator
from nmt_frontier.errors import UserError
from nmt_frontier.files import atomic_path, read_json
from nmt_frontier.limits import longest_output
from nmt_frontier.model import model_folder
from nmt_frontier.model.vocabulary_map import VocabularyMap
from nmt_frontier.progress import progress
from nmt_frontier.text.items import SYMBOLS
from nmt_frontier.text.tokenizers import pieces

COUNTED = ("phrases", "links")
LEAST = {"max_ngram": 1, "min_frequency": 1, "meanings": 1, "unaligned": 0, "most_frequent": 0}

FILES = (CTranslate2.weights, CTranslate2.map_file, model_folder.TOKENIZER, model_folder.DESCRIPTION)

BYTES = [f"<0x{value:02X}>" for value in range(256)]  # the names of SentencePiece's byte pieces

BLOCK_KEYS = 1 << 22  # keys of the phrase table in memory at a time


class Knobs(NamedTuple):
    """max_ngram: longest source n-gram, in pieces. min_frequency: phrase pairs that an n-gram and a target piece need.
    meanings: most target pieces of an n-gram (N of WNMT 2018). unaligned: unaligned target pieces that are always on;
    most_frequent: target pieces that are always on. counted: ``phrases``, or ``links`` as Marian's lexical shortlist.
    """

    max_ngram: int = 3
    min_frequency: int = 2
    meanings: int = 50
    unaligned: int = 100
    most_frequent: int = 50
    counted: str = "phrases"

    @classmethod
    def parse(cls, text: str) -> "Knobs":
        """Read knobs from JSON, or those of the picked map from a file of export.coverage. Raises UserError."""
        try:
            if text.startswith("{"):
                return cls.validated(json.loads(text))
            picked = read_json(text)["picked"]  # has the figures of this map too
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise UserError(f"{text}: neither knobs as JSON nor a file of export.coverage ({error})") from None
        return cls.validated({knob: value for knob, value in picked.items() if knob in cls._fields})

    @classmethod
    def validated(cls, values: Mapping[str, Any]) -> "Knobs":
        """Raises UserError for an unknown knob, for a value it cannot have, and for longer n-grams than are counted."""
        if unknown := [knob for knob in values if knob not in cls._fields]:
            raise UserError(f"{unknown[0]} is no knob of a map; there are {', '.join(cls._fields)}")
        knobs = cls(**values)
        if knobs.counted not in COUNTED:
            raise UserError(f"counted {knobs.counted!r}: give {' or '.join(COUNTED)}")
        for knob, least in LEAST.items():
            if not isinstance(value := getattr(knobs, knob), int) or value < least:
                raise UserError(f"{knob} {value!r}: give a whole number of at least {least}")
        if knobs.max_ngram > MAX_NGRAM:
            raise UserError(f"max_ngram {knobs.max_ngram}: the phrase table has n-grams of 1 to {MAX_NGRAM} pieces")
        return knobs

    @classmethod
    def grid(cls, values: dict[str, list[Any]]) -> "Iterator[Knobs]":
        """Yield all combinations of values; a knob without values keeps its default. Raises as ``validated``."""
        for combination in itertools.product(*values.values()):
            yield cls.validated(dict(zip(values, combination, strict=True)))

    @property
    def name(self) -> str:
        """The values in order, as ``3-2-50-100-50-phrases``: the name of a map of the grid."""
        return "-".join(map(str, self))


def explain(folder: Path, sentence: str) -> Iterator[str]:
    """Yield lines to print, for a model folder with a map.

    Raises UserError for a folder without a map, and for an empty sentence.
    """
    if missing := [folder / name for name in FILES if not (folder / name).exists()]:
        raise UserError(f"{missing[0]}: not there; {folder} is no model folder of CTranslate2 with a vocabulary map")
    processor = pieces(folder / model_folder.TOKENIZER)
    if not (source := processor.encode(sentence, out_type=str)):
        raise UserError("an empty sentence: there is nothing to explain")
    vocabulary_map = VocabularyMap.load(folder / CTranslate2.map_file, [source])
    model = translator(folder, intra_threads=1)
    longest = longest_output(model_folder.describe(folder))
    full, mapped = (_decoded(model, source, use_vmap, longest) for use_vmap in (False, True))
    allowed, output = vocabulary_map.candidates([source]), full.hypotheses[0]

    yield f"source      {' '.join(source)}"
    yield f"always on   {len(vocabulary_map.entries.get((), [])):,} pieces"
    for ngram in dict.fromkeys(vocabulary_map.ngrams(source)):
        if ngram:
            yield _explained_row(" ".join(ngram), vocabulary_map.entries[ngram], {*output})
    mapped_size, full_size = (np.array(result.logits[0][0]).size for result in (mapped, full))
    yield f"candidates  {len(allowed):,}, and {mapped_size:,} counted in the engine; {full_size:,} without the map"
    yield f"whole       {processor.decode(output)}"
    yield f"with map    {processor.decode(mapped.hypotheses[0])}"
    yield f"blocked     {' '.join(piece for piece in output if piece not in allowed) or 'nothing'}"


def _decoded(
    model: ctranslate2.Translator, source: list[str], use_vmap: bool, longest: int
) -> ctranslate2.TranslationResult:
    options = {"beam_size": 1, "max_input_length": 0}
    options |= {"min_decoding_length": 0, "max_decoding_length": longest}
    return model.translate_batch([source], use_vmap=use_vmap, return_logits_vocab=True, **options)[0]


def _explained_row(ngram: str, targets: list[str], output: set[str]) -> str:
    """As many target pieces of an n-gram as fit into the terminal; first, in brackets, those of the model's output."""
    ordered = sorted(targets, key=lambda piece: piece not in output)
    cells = [f"[{piece}]" if piece in output else piece for piece in ordered]
    width = shutil.get_terminal_size().columns - 34
    line, count = "", 0
    while count < len(cells) and (count == 0 or len(line) + len(cells[count]) < width):
        line, count = f"{line} {cells[count]}", count + 1
    return f"  {ngram:<28}{line}" + (f" and {len(cells) - count} more" if count < len(cells) else "")


def build(table: PhraseTable, knobs: Knobs) -> Iterator[tuple[int, Entries]]:
    """Yield the length of n-grams and a block of their entries, shorter n-grams first."""
    counts: KeyCounts = getattr(table, knobs.counted)
    mask = np.zeros(1 << 16, np.bool_)
    mask[always_on(table, knobs)] = True
    shorter = [Entries.empty(), Entries.empty()]  # the entries of one and of two pieces, to look up in longer n-grams
    for length in range(1, knobs.max_ngram + 1):
        start = np.searchsorted(counts.keys, np.uint64(1 << 16 * length))
        end = np.searchsorted(counts.keys, np.uint64((1 << 16 * (length + 1)) - 1), "right")
        blocks = []
        for part in _parts(counts, int(start), int(end)):
            block = select(part, mask, shorter[0], shorter[1], knobs.min_frequency, knobs.meanings)
            if length > 1:
                yield length, block
            if length == 1 or length < knobs.max_ngram:
                blocks.append(block)
        if length == 1:
            blocks = [with_copies(Entries.joined(blocks), table.pieces, mask)]
            yield length, blocks[0]
        if length < knobs.max_ngram:
            shorter[length - 1] = Entries.joined(blocks)


def with_copies(unigrams: Entries, pieces: list[str], always_on: NDArray[Any]) -> Entries:
    """The entries of one source piece, where each byte brings all others, and each other piece itself.

    They come after those that it brings already. pieces: the vocabulary. Without byte fallback only symbols of
    nmt_frontier.text.items are copied, and without these the entries stay as they are.
    """
    numbers = {piece: number for number, piece in enumerate(pieces, 1)}
    fallback = numbers.keys() >= {*BYTES}
    found = [numbers[piece] for piece in BYTES] if fallback else []
    same = numbers.values() if fallback else [numbers[symbol] for symbol in SYMBOLS if symbol in numbers]
    copied = {number: [number] for number in same} | dict.fromkeys(found, found)
    if not copied:
        return unigrams
    starts, ends = unigrams.offsets[:-1], unigrams.offsets[1:]
    own_of = (unigrams.targets[start:end] for start, end in zip(starts, ends, strict=True))
    targets = dict(zip(unigrams.ngrams.tolist(), own_of, strict=True))
    for piece, others in copied.items():
        own = targets.get(piece, np.empty(0, np.uint16)).tolist()
        brought = [*own, *(other for other in others if other not in own and not always_on[other])]
        targets |= {piece: np.array(brought, np.uint16)} if brought else {}
    if not targets:
        return unigrams
    ngrams = sorted(targets)
    ordered = [targets[ngram] for ngram in ngrams]
    offsets = np.concatenate([[0], np.cumsum([*map(len, ordered)])])
    return Entries(np.array(ngrams, np.uint64), offsets, np.concatenate(ordered))


def always_on(table: PhraseTable, knobs: Knobs) -> list[int]:
    """The 0-grams, as ascending piece numbers: frequent pieces without a link, and the most frequent of all."""
    unaligned = _most_frequent(table.targets.unaligned, knobs.unaligned)
    return sorted({*unaligned, *_most_frequent(table.targets.frequency, knobs.most_frequent)})


def _most_frequent(counts: NDArray[Any], size: int) -> list[int]:
    """The ``size`` piece numbers with the highest counts above 0; ties go to the lower one, and 0 is no piece."""
    order = np.argsort(-counts[1:], kind="stable")[:size] + 1
    return [int(number) for number in order if counts[number]]


def _parts(counts: KeyCounts, start: int, end: int) -> Iterator[KeyCounts]:
    """Yield the table from ``start`` to ``end`` in parts of at most BLOCK_KEYS keys that keep each n-gram whole.

    Such parts exist, as an n-gram has at most one key for each target piece, and there are fewer than BLOCK_KEYS.
    """
    while start < end:
        last = min(start + BLOCK_KEYS, end)
        if last < end:
            ngrams = np.asarray(counts.keys[start : last + 1]) >> np.uint64(16)
            last -= int(np.argmax(ngrams[-2::-1] != ngrams[-1]))
        yield counts.part(start, last)
        start = last


def lines(entries: Entries, pieces: list[str]) -> Iterator[str]:
    """The lines of the file; ``pieces`` is the vocabulary."""
    starts, ends = entries.offsets[:-1].tolist(), entries.offsets[1:].tolist()
    for ngram, start, end in zip(entries.ngrams.tolist(), starts, ends, strict=True):
        source = " ".join(pieces[n - 1] for n in (ngram >> 32, ngram >> 16 & 0xFFFF, ngram & 0xFFFF) if n)
        yield source + "\t" + " ".join([pieces[n - 1] for n in entries.targets[start:end].tolist()]) + "\n"


def write(path: Path, table: PhraseTable, knobs: Knobs) -> dict[str, int | dict[int, int]]:
    """Write the map. Returns the numbers of pieces always on, of n-grams by length, and of target pieces in all."""
    zero_grams = always_on(table, knobs)
    sizes = dict.fromkeys(range(1, knobs.max_ngram + 1), 0)
    targets = len(zero_grams)
    with atomic_path(path) as part, open(part, "w", encoding="utf-8") as file:
        file.write("\t" + " ".join(table.pieces[number - 1] for number in zero_grams) + "\n")
        for length, block in progress(build(table, knobs), "mapping", unit="n-gram", size=lambda item: len(item[1])):
            file.writelines(lines(block, table.pieces))
            sizes[length] += len(block)
            targets += len(block.targets)
    return {"always": len(zero_grams), "ngrams": sizes, "targets": targets}
