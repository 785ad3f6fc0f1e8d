"""A model trained with Marian as model folders for Marian and for CTranslate2, with the same weights.

Makes ``<output>/marian-<type>`` and ``<output>/<type>`` of each type. A lexical shortlist becomes a binary one for
Marian and a vocabulary map for CTranslate2 with the same candidates.
"""

import argparse
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import yaml
from ctranslate2.converters.marian import load_vocab

from export import model_folder
from formats import marian
from formats.errors import UserError, command
from formats.files import write_text
from formats.shape import Transformer

CONFIG = "special:model.yml"  # the entry of model.npz that holds Marian's options
FIRST, BEST = 100, 100  # of a shortlist: so many entries of the vocabulary are always on, and so many a source piece
POSITIONS = 2048  # that CTranslate2 knows

Weights = dict[str, np.ndarray]


def load(path: Path) -> tuple[Weights, dict[str, Any]]:
    """Weights by Marian's names, and its options. Raises UserError for a file that is missing or damaged."""
    try:
        weights = dict(np.load(path))
        config = yaml.safe_load(weights.pop(CONFIG).tobytes().rstrip(b"\0"))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, yaml.YAMLError) as error:
        raise UserError(f"{path}: not a model.npz of Marian's, or damaged: {error}") from None
    return weights, config


def facts(weights: Weights, config: dict[str, Any]) -> dict[str, Any]:
    """What model.json says of the model itself."""
    shape = Transformer(
        encoder_layers=config["enc-depth"],
        decoder_layers=config["dec-depth"],
        units=config["dim-emb"],
        ffn_units=config["transformer-dim-ffn"],
        heads=config["transformer-heads"],
        share_embeddings=config["tied-embeddings-all"],
    )
    parameters = sum(weight.size for weight in weights.values())
    return {"shape": str(shape), "parameters": parameters, "made_by": {"marian": config["version"]}}


def positions(units: int) -> np.ndarray:
    """Marian's position encodings, [POSITIONS, units]: sines, then cosines.

    The wave lengths grow to 10,000 in units / 2 - 1 steps; CTranslate2's converter assumes units / 2.
    """
    rates = 10_000.0 ** -(np.arange(units // 2) / (units // 2 - 1))
    angles = np.arange(POSITIONS)[:, None] * rates
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)


def convert(weights: Weights, config: dict[str, Any], vocabulary: Path, kind: str, output: Path) -> None:
    """To CTranslate2. Raises UserError for what it does not support.

    Its converter reads the file of Marian 1.9; this writes such a one: the options without padding, and the position
    encodings among the weights.
    """
    options = np.frombuffer(yaml.safe_dump(config).encode() + b"\0", dtype=np.int8)
    model = {"Wpos": positions(config["dim-emb"]), **weights, CONFIG: options}  # a model may have learned its own
    with tempfile.TemporaryDirectory() as scratch:
        np.savez(path := Path(scratch) / "model.npz", **model)
        converter = ctranslate2.converters.MarianConverter(str(path), [str(vocabulary)] * 2)
        try:
            converter.convert(str(output), quantization=kind)
        except (ValueError, RuntimeError, KeyError) as error:
            raise UserError(f"CTranslate2 does not take this model of Marian's: {error}") from error


def candidates(shortlist: Path, pieces: list[str]) -> dict[str, set[str]]:
    """The target pieces that each source piece brings: its best of the shortlist, and itself, as Marian has it.

    Raises UserError for a line that is not ``target source probability`` with pieces of the vocabulary.
    """
    found: dict[str, list[tuple[float, str]]] = {piece: [] for piece in pieces}
    for number, line in enumerate(shortlist.read_text(encoding="utf-8").splitlines(), 1):
        try:
            target, source, probability = line.split(" ")
            found[source].append((float(probability), target))
            found[target]
        except (ValueError, KeyError):
            raise UserError(
                f"{shortlist}: line {number} is not `target source probability` with pieces of this model"
            ) from None
    return {source: {source, *(target for _, target in sorted(best)[-BEST:])} for source, best in found.items()}


def vocabulary_map(shortlist: Path, pieces: list[str]) -> str:
    """The shortlist as a map of CTranslate2's."""
    lines = (f"{source}\t{' '.join(sorted(brought))}\n" for source, brought in candidates(shortlist, pieces).items())
    return "".join(["\t" + " ".join(pieces[:FIRST]) + "\n", *lines])


def check_decoding(config: dict[str, Any]) -> None:
    """Raises UserError for a model that Marian decodes to other words than its own scorer would choose.

    Its decoder normalises the newest word of a self-attention only: of layers that are normalised before they are
    computed, those before go in as they are (marian-dev's transformer.h, the case ``input == keys``).
    """
    if "n" in config["transformer-preprocess"]:
        raise UserError("Marian decodes models with --transformer-preprocess n wrongly; train with the default, dan")


def check_rounding(config: dict[str, Any]) -> None:
    """Raises UserError for a shape that Marian cannot load in 8 or 16 bits: it would end in a crash."""
    widths = {config["dim-emb"], config["transformer-dim-ffn"]}
    if any(width % 64 for width in widths) or not (config["tied-embeddings"] or config["tied-embeddings-all"]):
        raise UserError("in 8 or 16 bits Marian needs widths that are multiples of 64, and tied output embeddings")


def marian_files(model: Path, vocabulary: Path, shortlist: Path | None, kind: str, output: Path) -> None:
    """A folder of what Marian needs: weights laid out for ``kind``, vocabulary, binary shortlist."""
    output.mkdir()
    log = output.with_suffix(".log")
    marian.run("convert", "--from", model, "--to", output / marian.MODEL, "--gemm-type", marian.TYPES[kind], log=log)
    (output / marian.VOCABULARY).write_bytes(vocabulary.read_bytes())
    if shortlist:
        options = ["--shortlist", shortlist, FIRST, BEST, 0, "--vocabs", vocabulary, vocabulary]
        marian.run("convert", *options, "--dump-shortlist", output / marian.SHORTLIST, log=log)


def export(args: argparse.Namespace) -> None:
    """Both folders of each type. Raises UserError for input that does not fit together."""
    marian.require()
    weights, config = load(args.model)
    pieces = load_vocab(args.vocabulary)
    if len(pieces) != config["dim-vocabs"][0] or pieces[:2] != [marian.END, marian.UNKNOWN]:
        raise UserError(f"{args.vocabulary}: not the vocabulary of {args.model}")
    check_decoding(config)
    if {*args.types} - {"float32"}:
        check_rounding(config)
    description = {"format": 1, **args.description, **facts(weights, config)}
    description |= {"vocabulary_map": args.shortlist is not None}
    with tempfile.TemporaryDirectory() as scratch:
        found = None
        if args.shortlist:
            write_text(found := Path(scratch) / "vmap.txt", vocabulary_map(args.shortlist, pieces))
        for kind in args.types:
            plain, own = Path(scratch) / kind, Path(scratch) / f"marian-{kind}"
            convert(weights, config, args.vocabulary, kind, plain)
            marian_files(args.model, args.vocabulary, args.shortlist, kind, own)
            for engine, files, vmap in (("ctranslate2", plain, found), ("marian", own, None)):
                described = {"engine": engine, **description, "quantization": kind}
                model_folder.make(described, files, args.sentencepiece, vmap, args.output / files.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="model.npz of distill.marian, or of any training")
    parser.add_argument("--vocabulary", type=Path, required=True, help="vocab.yml of both languages")
    parser.add_argument("--sentencepiece", type=Path, required=True, help="model whose pieces these are")
    parser.add_argument("--shortlist", type=Path, help="of export.shortlist")
    parser.add_argument("--types", nargs="+", choices=marian.TYPES, default=["float32", "int8"])
    parser.add_argument("--description", type=json.loads, required=True, help="JSON: study, system, role, languages")
    parser.add_argument("--output", type=Path, required=True, help="folder of the model folders")
    export(parser.parse_args())


if __name__ == "__main__":
    command(main)
