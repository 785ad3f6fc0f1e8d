"""How whole models are made, and decoded in each program with translations of the paper's length."""

import argparse
import gzip
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from formats import ctranslate2_loading, experiments
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json
from nmt_frontier.model import native_weights
from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.search import native
from nmt_frontier.search.engine import Batch
from nmt_frontier.search.pipeline import Pipeline
from nmt_frontier.translator import LineTokenizer
from papers.fastseq2021.random_models import LANGUAGES, MODELS, Shape, make

Numbers = list[list[int]]
Translate = Callable[[Numbers], Numbers]  # the best hypothesis of each source, without what it begins with
TYPES = FLOAT32, INT8 = "float32", "int8"


class Forced:
    """What all ways share: the numbers of a sentence's pieces, and the length of its translation."""

    def __init__(self, shape: Shape, folder: Path):
        self.shape, self.vocabulary, self.tokenizer = shape, Vocabulary.read(folder), LineTokenizer(folder)
        vocabulary = self.vocabulary
        self.begin = [vocabulary.target_numbers[piece] for piece in vocabulary.target_prefix]
        frame = len(vocabulary.prefix) + len(vocabulary.suffix)
        self.longest = shape.source - frame if shape.source else 200

    def run(self, translate: Translate, lines: list[str], batch: int, overlap: bool) -> tuple[float, Numbers]:
        """Seconds from text to text, and the numbers of all translations, by line."""
        found: dict[tuple[str, ...], list[int]] = {}

        def decoded(sentences: Batch) -> Batch:
            outputs = translate([self.vocabulary.numbers(sentence) for sentence in sentences])
            found.update(zip(map(tuple, sentences), outputs, strict=True))
            return [self.vocabulary.pieces(self.vocabulary.without_hidden(output)) for output in outputs]

        pipeline = Pipeline(self.tokenizer, decoded, overlap=overlap, batch_sentences=batch, longest_input=self.longest)
        start = time.perf_counter()
        for _ in pipeline.windows(lines):
            pass
        seconds = time.perf_counter() - start
        pipeline.close()
        return seconds, [found[key] for key in sorted(found)]


def in_transformers(forced: Forced, folder: Path, cores: int, use_cache: bool = True) -> Translate:
    import torch  # inside: they are no dependencies
    import transformers

    torch.set_num_threads(cores)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float32).eval()
    shape, size, pad = forced.shape, len(forced.begin), model.config.pad_token_id
    length = {"min_new_tokens": shape.output + size, "max_new_tokens": shape.output + size}
    search = {"num_beams": shape.beam, "early_stopping": True, "no_repeat_ngram_size": shape.ngram, "do_sample": False}
    search["use_cache"] = use_cache
    search |= {"forced_bos_token_id": forced.begin[0]} if forced.begin else {}

    def translate(sources: Numbers) -> Numbers:
        widest = max(map(len, sources))
        ids = torch.tensor([source + [pad] * (widest - len(source)) for source in sources])
        mask = torch.tensor([[1] * len(source) + [0] * (widest - len(source)) for source in sources])
        with torch.inference_mode():
            found = model.generate(input_ids=ids, attention_mask=mask, **search, **length)
        return [output[1 + size :] for output in found.tolist()]

    return translate


def in_native(forced: Forced, folder: Path, cores: int, without: frozenset[str] = frozenset()) -> Translate:
    engine, shape = native.library(), forced.shape
    worker = engine.Worker(engine.Model(folder / native_weights.NAME, without=without), cores)
    length = {"shortest": shape.output, "longest": shape.output}
    search = {"beam_size": shape.beam, "blocked_ngram": shape.ngram, "as_transformers": True}
    options = engine.Options(**search, **length, without=without)

    def translate(sources: Numbers) -> Numbers:
        prefixes = [forced.begin] * len(sources) if forced.begin else None
        return [best.pieces[len(forced.begin) :] for best, *_ in worker.translate(sources, options, prefixes)]

    return translate


def in_ctranslate2(forced: Forced, folder: Path, cores: int, kind: str) -> Translate:
    model = ctranslate2_loading.translator(folder, compute_type=kind, intra_threads=cores)
    shape, pieces = forced.shape, read_json(folder / "shared_vocabulary.json")
    pieces_out = shape.output + len(forced.begin)  # it counts what translations begin with
    length = {"min_decoding_length": pieces_out, "max_decoding_length": pieces_out, "max_input_length": 0}
    search = {"beam_size": shape.beam, "no_repeat_ngram_size": shape.ngram, "max_batch_size": 0, **length}
    numbers = {piece: number for number, piece in enumerate(pieces)}

    def translate(sources: Numbers) -> Numbers:
        begin = {"target_prefix": [[pieces[number] for number in forced.begin]] * len(sources)} if forced.begin else {}
        texts = [[pieces[number] for number in source] for source in sources]
        found = model.translate_batch(texts, **search, **begin)
        return [[numbers[piece] for piece in each.hypotheses[0]][len(forced.begin) :] for each in found]

    return translate


def lines_of(path: Path, shape: Shape, forced: Forced) -> list[str]:
    """Sentences, or as many in a line as fill a document. Raises UserError for a short text."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        text = [line.strip() for line in file]
    lines: list[str] = []
    pieces, start = 0, 0
    for end, line in enumerate(text, 1):
        pieces += len(forced.tokenizer.encode(line))
        if pieces >= (forced.longest if shape.source else 1):
            lines.append(" ".join(text[start:end]))
            pieces, start = 0, end
    if len(lines) < shape.sentences:
        raise UserError(f"{path}: has text for {len(lines)} of {shape.sentences} sources")
    return lines[: shape.sentences]


def prepare(shape: Shape, folder: Path, tokenizer: Path) -> None:
    """Make a model, as Hugging Face's and exported."""
    folder.mkdir(parents=True, exist_ok=True)
    source = make(shape, tokenizer, folder)
    if not (folder / "native").exists():
        export = [sys.executable, "-m", "nmt_frontier", "import", str(source), "--output", str(folder / "native")]
        languages = ["--languages", *LANGUAGES] if shape.kind == "m2m_100" else []
        subprocess.run([*export, "--types", *TYPES, *languages], check=True)
    if shape.peer and not (folder / "ctranslate2").exists():
        from ctranslate2.converters import TransformersConverter  # inside: it needs transformers

        TransformersConverter(str(source)).convert(str(folder / "ctranslate2"))


def arguments(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", choices=MODELS)
    parser.add_argument("--text", type=there, required=True, help="sentences, a line each; .gz as it is")
    parser.add_argument("--tokenizer", type=there, required=True, help="SentencePiece model of at most 32,000 pieces")
    parser.add_argument("--folder", type=Path, required=True, help="of the models, to use them again")
    parser.add_argument("--output", type=Path, required=True, help="JSON to write, or to add to")
    return parser


def described() -> dict[str, Any]:
    versions = {name: version(name) for name in ("torch", "transformers", "ctranslate2")}
    return {"versions": versions, "date": datetime.now(UTC).date().isoformat(), **experiments.here()}
