"""What a vocabulary map does to a sentence: which n-gram brings which pieces, and which pieces it blocks."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import ctranslate2
import numpy as np

from common.errors import UserError
from decode.engines.ctranslate2 import CTranslate2
from formats import model_folder
from formats.decoding import longest_output
from formats.loading import pieces, translator
from formats.vocabulary_map import VocabularyMap

FILES = (CTranslate2.weights, CTranslate2.map_file, model_folder.TOKENIZER, model_folder.DESCRIPTION)


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
    full, mapped = (_decode(model, source, use_vmap, longest) for use_vmap in (False, True))
    allowed, output = vocabulary_map.candidates([source]), full.hypotheses[0]

    yield f"source      {' '.join(source)}"
    yield f"always on   {len(vocabulary_map.entries.get((), [])):,} pieces"
    for ngram in dict.fromkeys(vocabulary_map.ngrams(source)):
        if ngram:
            yield _row(" ".join(ngram), vocabulary_map.entries[ngram], {*output})
    mapped_size, full_size = (np.array(result.logits[0][0]).size for result in (mapped, full))
    yield f"candidates  {len(allowed):,}, and {mapped_size:,} counted in the engine; {full_size:,} without the map"
    yield f"whole       {processor.decode(output)}"
    yield f"with map    {processor.decode(mapped.hypotheses[0])}"
    yield f"blocked     {' '.join(piece for piece in output if piece not in allowed) or 'nothing'}"


def _decode(
    model: ctranslate2.Translator, source: list[str], use_vmap: bool, longest: int
) -> ctranslate2.TranslationResult:
    options = {"beam_size": 1, "max_input_length": 0}
    options |= {"min_decoding_length": 0, "max_decoding_length": longest}
    return model.translate_batch([source], use_vmap=use_vmap, return_logits_vocab=True, **options)[0]


def _row(ngram: str, targets: list[str], output: set[str]) -> str:
    """As many target pieces of an n-gram as fit into the terminal; first, in brackets, those of the model's output."""
    ordered = sorted(targets, key=lambda piece: piece not in output)
    cells = [f"[{piece}]" if piece in output else piece for piece in ordered]
    width = shutil.get_terminal_size().columns - 34
    line, count = "", 0
    while count < len(cells) and (count == 0 or len(line) + len(cells[count]) < width):
        line, count = f"{line} {cells[count]}", count + 1
    return f"  {ngram:<28}{line}" + (f" and {len(cells) - count} more" if count < len(cells) else "")
