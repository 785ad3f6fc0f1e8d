"""What a vocabulary map does to a sentence: which n-gram brings which pieces, and what the model may no longer say."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import ctranslate2
import numpy as np

from formats.decoding import longest_output
from formats.errors import UserError
from formats.files import read_json
from formats.loading import pieces, translator
from formats.vocabulary_map import VocabularyMap


def explain(folder: Path, sentence: str) -> Iterator[str]:
    """Lines for a person to read, about a model folder with a map. Raises UserError for a folder that has none."""
    needed = [folder / name for name in ("model.bin", "vmap.txt", "sentencepiece.model", "model.json")]
    if missing := [path for path in needed if not path.exists()]:
        raise UserError(f"{missing[0]}: not there; {folder} is no model folder of CTranslate2 with a vocabulary map")
    processor = pieces(needed[2])
    if not (source := processor.encode(sentence, out_type=str)):
        raise UserError("an empty sentence: there is nothing to explain")
    found = VocabularyMap.load(needed[1], [source])
    model = translator(folder, intra_threads=1)
    longest = longest_output(read_json(needed[3]))
    full, mapped = (_decode(model, source, use_vmap, longest) for use_vmap in (False, True))
    allowed, own = found.candidates([source]), full.hypotheses[0]

    yield f"source      {' '.join(source)}"
    yield f"always on   {len(found.entries.get((), [])):,} pieces"
    for ngram in dict.fromkeys(found.ngrams(source)):
        if ngram:
            yield from _row(" ".join(ngram), found.entries[ngram], {*own})
    counted, open_ = (np.array(result.logits[0][0]).size for result in (mapped, full))
    yield f"candidates  {len(allowed):,}, and {counted:,} counted in the engine; {open_:,} without the map"
    yield f"whole       {processor.decode(own)}"
    yield f"with map    {processor.decode(mapped.hypotheses[0])}"
    yield f"blocked     {' '.join(piece for piece in own if piece not in allowed) or 'nothing'}"


def _decode(
    model: ctranslate2.Translator, source: list[str], use_vmap: bool, longest: int
) -> ctranslate2.TranslationResult:
    options = {"beam_size": 1, "max_input_length": 0}
    options |= {"min_decoding_length": 0, "max_decoding_length": longest}
    return model.translate_batch([source], use_vmap=use_vmap, return_logits_vocab=True, **options)[0]


def _row(ngram: str, words: list[str], own: set[str]) -> Iterator[str]:
    """The words an n-gram brings, those that the model says in brackets, as many as fit into the terminal."""
    shown = [f"[{word}]" if word in own else word for word in sorted(words, key=lambda word: word not in own)]
    width = shutil.get_terminal_size().columns - 34
    line, count = "", 0
    while count < len(shown) and (count == 0 or len(line) + len(shown[count]) < width):
        line, count = f"{line} {shown[count]}", count + 1
    yield f"  {ngram:<28}{line}" + (f" and {len(shown) - count} more" if count < len(shown) else "")
