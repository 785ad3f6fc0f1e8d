"""The native engine against the engines of Firefox' models: fxtranslate and slimt, on one simple recurrent model.

An untrained model of Marian's (formats/shapes.yaml) with a lexical shortlist becomes a file as Firefox publishes them:
int8 with fixed scales of activations. Both engines take text and read only such files, so all sides translate text, in
turn, in this process, on one core. Untrained models end no translation: each engine stops at its own longest one, and
what is compared is pieces a CPU second, counted in its text. fxtranslate takes one sentence at a time.
"""

import argparse
import importlib.util
import random
import struct
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece

from export import marian as export_marian
from export import untrained_marian
from export.model_folder import Origin
from formats import opennmt_tf, records
from formats.shape import registry, shape
from measure import in_process
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json, write_text
from nmt_frontier.translator import Translator

PIECES, BEST = 4000, 20  # of the vocabulary; translations of each piece in the shortlist
FLOAT, MARIANS, FIREFOXS = 0x404, 0x10001, 0x4101  # types of a matrix in Marian's binary files
ALPHA = 16.0  # scale of activations
ALIGNMENT = 256  # of the data in a file
SIZES = {1: 24, 8: 64, 32: 128}  # sentences of a batch, and of a run

Way = Callable[[list[str]], list[str]]


def vocabulary(texts: Path, folder: Path) -> Path:
    """Train a SentencePiece model whose first pieces are Marian's."""
    write_text(text := folder / "text", "".join(f"{side}\n" for pair in records.pairs(texts) for side in pair))
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(folder / "v"), vocab_size=PIECES, hard_vocab_limit=False, num_threads=1,
        eos_id=0, unk_id=1, bos_id=-1, pad_id=-1, minloglevel=2,
    )  # fmt: skip
    return folder / "v.model"


def item(name: str, shape: tuple[int, ...], kind: int, data: bytes) -> list[tuple[str, tuple[int, ...], int, bytes]]:
    """A weight of Marian's as Firefox' files have it, with the scale of its inputs."""
    if name == "Wemb":  # rows; Marian leaves them in float32
        matrix = np.frombuffer(data, np.float32, int(np.prod(shape)))
        factor = 127 / np.abs(matrix).max()
        data, kind = np.rint(matrix * factor).astype(np.int8).tobytes() + struct.pack("<f", factor), MARIANS
    if kind != MARIANS:
        return [(name, shape, kind, data)]
    scales = [f"{name}_QuantMultA", *(["none_QuantMultA"] if name == "Wemb" else [])]
    alphas = [(scale, (1, 1), FLOAT, struct.pack("<f", ALPHA)) for scale in scales]
    return [(name, shape, FIREFOXS, data), *alphas]


def firefox(model: Path, output: Path) -> None:
    """Write Marian's int8 file (nmt_frontier.importers.marian_binary) as Firefox publishes it."""
    data = model.read_bytes()
    _, count = struct.unpack_from("<2Q", data)
    headers = list(struct.iter_unpack("<4Q", data[16 : 16 + 32 * count]))
    place, names, shapes, items = 16 + 32 * count, [], [], []
    for length, *_ in headers:
        names.append(data[place : place + length - 1].decode())
        place += length
    for _, _, rank, _ in headers:
        shapes.append(struct.unpack_from(f"<{rank}i", data, place))
        place += 4 * rank
    place += 8 + struct.unpack_from("<Q", data, place)[0]
    for name, form, (_, kind, _, size) in zip(names, shapes, headers, strict=True):
        items += item(name, form, kind, data[place : place + size])
        place += size
    items = [(name, form, kind, part + bytes(-len(part) % ALIGNMENT)) for name, form, kind, part in items]
    head = struct.pack("<2Q", 1, len(items))
    head += b"".join(struct.pack("<4Q", len(name) + 1, kind, len(form), len(part)) for name, form, kind, part in items)
    head += b"".join(name.encode() + b"\0" for name, *_ in items)
    head += b"".join(struct.pack(f"<{len(form)}i", *form) for _, form, *_ in items)
    padding = -(len(head) + 8) % ALIGNMENT
    output.write_bytes(head + struct.pack("<Q", padding) + bytes(padding) + b"".join(part for *_, part in items))


def any_translations(words: list[str]) -> Iterable[str]:
    """A lexical shortlist in which every piece has BEST translations, drawn from all."""
    generator = random.Random(1)
    return (f"{target} {source} 0.05\n" for source in words for target in generator.sample(words, BEST))


def make(
    name: str,
    spm: Path,
    folder: Path,
    train: Callable[..., object] = untrained_marian.make,
    shortlist: Callable[[list[str]], Iterable[str]] = any_translations,
    longest: int = 24,
) -> Path:
    """The folders of a study's system, and the file in Firefox' format beside them.

    train: writes Marian's files of a shape, with a vocabulary, into a folder; by default an untrained model. shortlist:
    the lines of one for the pieces. longest: pieces of a translation.
    """
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(spm))
    words = [pieces.id_to_piece(number) for number in range(2, len(pieces))]
    write_text(entries := folder / "vocabulary.txt", "".join(f"{word}\n" for word in [*opennmt_tf.CONTROL, *words]))
    train(shape(registry()[name]), entries, folder / "training")
    write_text(lexical := folder / "lex.txt", "".join(shortlist(words)))
    settings = {"study": "benchmark", "system": name, "role": "untrained", "source": "en", "target": "de"}
    origin = Origin(**settings, max_decoding_length=longest)
    files = [folder / "training" / file for file in ("model.npz", "vocab.yml")]
    export_marian.export(*files, spm, lexical, ["int8"], origin, folder / "models")
    firefox(folder / "models/marian-int8/model.bin", folder / "firefox.bin")
    return folder / "models"


def text_way(folder: Path, size: int) -> Way:
    translator = Translator(folder, workers=1, batch_sentences=size, end_loops=False, copying=False)
    return lambda lines: [*translator.translate(lines)]


def fxtranslate(folder: Path, spm: Path, shortlist: Path) -> tuple[Way, str]:
    import fxtranslate

    pieces = spm.read_bytes()
    engine = fxtranslate.Translator((folder / "firefox.bin").read_bytes(), pieces, pieces, shortlist.read_bytes())
    return lambda lines: [engine.translate(line) for line in lines], engine.backend()


def slimt(asked: Any, folder: Path, spm: Path, shortlist: Path) -> Callable[[int], Way]:
    """The compiled module alone: the package around it loads a list of models from the network."""
    place = importlib.util.find_spec("slimt")
    (library,) = Path(place.submodule_search_locations[0]).glob("_slimt.*.so")
    spec = importlib.util.spec_from_file_location("slimt._slimt", library)
    spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
    config = module.Config()
    config.encoder_layers, config.decoder_layers = asked.encoder_layers, asked.decoder_layers
    config.num_heads, config.split_mode = asked.heads, "sentence"
    model = module.Model(config, module.Package(*map(str, (folder / "firefox.bin", spm, shortlist))))
    service = module.Service(workers=1, cache_size=0)

    def way(size: int) -> Way:
        def translate(lines: list[str]) -> list[str]:
            cut = [lines[start : start + size] for start in range(0, len(lines), size)]
            return [found.target.text for batch in cut for found in service.translate(model, batch, False)]

        return translate

    return way


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="bergamot-ssru-tiny")
    parser.add_argument("--text", type=there, required=True, help="records that the vocabulary is learned from")
    in_process.options(parser)
    args = parser.parse_args()
    session, shared = in_process.prepared(args)
    lines, rows = records.sources(args.test_set), []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        models = make(args.shape, spm := vocabulary(args.text, folder), folder)
        shortlist = models / "marian-int8/shortlist.bin"
        counter = sentencepiece.SentencePieceProcessor(model_file=str(spm))
        try:
            firefox_way, backend = fxtranslate(folder, spm, shortlist)
            slimt_way = slimt(shape(registry()[args.shape]), folder, spm, shortlist)
        except ImportError as error:
            raise UserError(f"{error}; pip install fxtranslate slimt") from None
        for size, count in SIZES.items():
            ways = {"native": text_way(models / "native-int8", size), "marian": text_way(models / "marian-int8", size)}
            ways |= {"slimt": slimt_way(size)} | ({"fxtranslate": firefox_way} if size == 1 else {})
            chosen, counts = lines[:count], {}
            for name, way in ways.items():
                counts[name] = sum(map(len, counter.encode(way(chosen))))
            calls = {name: partial(way, chosen) for name, way in ways.items()}
            usages = in_process.timed(calls, session, [session.core], f"{args.shape} {size}")
            rates = {name: [counts[name] / usage.cpu_seconds for usage in used] for name, used in usages.items()}
            for name in ways:
                faster = [one / other for one, other in zip(rates["native"], rates[name], strict=True)]
                row = {"shape": args.shape, "engine": name, "batch": size, "pieces": counts[name]}
                row |= in_process.Spread.of(rates[name]).fields("pieces_per_cpu_second")
                rows.append(row | in_process.Spread.of(faster).fields("native_times_faster") | shared)
    write_json(args.output, [row | {"fxtranslate_backend": backend} for row in rows])


if __name__ == "__main__":
    command(main)
