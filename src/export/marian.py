"""Export a model trained with Marian to model folders for Marian, CTranslate2 and the native engine.

For each type it makes ``<output>/marian-<type>``, ``<output>/<type>`` and ``<output>/native-<type>`` of the same
weights. A lexical shortlist becomes Marian's binary shortlist, and a vocabulary map with the same candidates for the
others.
"""

import argparse
import json
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import yaml
from ctranslate2.converters.marian import load_vocab

from common.errors import UserError, command
from common.files import write_text
from decode.engines.ctranslate2 import CTranslate2
from decode.engines.marian import Marian
from decode.engines.native import Native
from export import model_folder, read_ctranslate2
from formats import marian
from formats.shape import Transformer

CONFIG = "special:model.yml"  # the entry of model.npz that holds Marian's options
POSITIONS = 2048  # encodings that CTranslate2 needs

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
    """What model.json says about the model itself."""
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
    """Marian's position encodings, float32 [POSITIONS, units]: sines, then cosines.

    The wave lengths grow to 10,000 in units / 2 - 1 steps; CTranslate2's converter assumes units / 2 steps.
    """
    rates = 10_000.0 ** -(np.arange(units // 2) / (units // 2 - 1))
    angles = np.arange(POSITIONS)[:, None] * rates
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)


def convert(weights: Weights, config: dict[str, Any], vocabulary: Path, kind: str, output: Path) -> None:
    """Convert to CTranslate2 with weights of type ``kind``. Raises UserError for what it does not support.

    CTranslate2's converter reads the files of Marian 1.9. So this writes one first: with unpadded options, and with
    the position encodings among the weights.
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
    """The candidates of each source piece: its best translations in the shortlist, and, as in Marian, itself.

    Raises UserError for a line that is not ``target source probability`` with pieces of the vocabulary.
    """
    translations: dict[str, list[tuple[float, str]]] = {piece: [] for piece in pieces}
    for number, line in enumerate(shortlist.read_text(encoding="utf-8").splitlines(), 1):
        try:
            target, source, probability = line.split(" ")
            translations[source].append((float(probability), target))
            translations[target]
        except (ValueError, KeyError):
            raise UserError(
                f"{shortlist}: line {number} is not `target source probability` with pieces of this model"
            ) from None
    return {
        source: {source, *(target for _, target in sorted(ranked)[-marian.BEST :])}
        for source, ranked in translations.items()
    }


def vocabulary_map(shortlist: Path, pieces: list[str]) -> str:
    """The shortlist in the format of CTranslate2's vocabulary maps."""
    lines = (f"{source}\t{' '.join(sorted(targets))}\n" for source, targets in candidates(shortlist, pieces).items())
    return "".join(["\t" + " ".join(pieces[: marian.FIRST]) + "\n", *lines])


def check_decoding(config: dict[str, Any]) -> None:
    """Raises UserError for a model whose translations by Marian's decoder are not the best ones by Marian's scorer.

    In layers that are normalised before they are computed, the decoder normalises only the newest word of a
    self-attention and takes the earlier ones as they are (marian-dev's transformer.h, the case ``input == keys``).
    """
    if "n" in config["transformer-preprocess"]:
        raise UserError("Marian decodes models with --transformer-preprocess n wrongly; train with the default, dan")


def check_rounding(config: dict[str, Any]) -> None:
    """Raises UserError for a shape with which Marian crashes when it loads weights of 8 or 16 bits."""
    widths = {config["dim-emb"], config["transformer-dim-ffn"]}
    if any(width % 64 for width in widths) or not (config["tied-embeddings"] or config["tied-embeddings-all"]):
        raise UserError("in 8 or 16 bits Marian needs widths that are multiples of 64, and tied output embeddings")


def marian_files(model: Path, vocabulary: Path, kind: str, output: Path) -> None:
    """Make a folder with the weights as Marian reads them in the type ``kind``, and their vocabulary."""
    output.mkdir()
    log = output.with_suffix(".log")
    marian.run("convert", "--from", model, "--to", output / marian.MODEL, "--gemm-type", marian.TYPES[kind], log=log)
    (output / marian.VOCABULARY).write_bytes(vocabulary.read_bytes())


def export(
    model: Path,
    vocabulary: Path,
    sentencepiece: Path,
    shortlist: Path | None,
    types: Sequence[str],
    description: dict[str, Any],
    output: Path,
) -> None:
    """Make all folders of each type. The arguments are those of the command.

    Raises UserError for a model that one of the engines cannot decode, or files that do not belong together.
    """
    marian.require()
    weights, config = load(model)
    pieces = load_vocab(vocabulary)
    if len(pieces) != config["dim-vocabs"][0] or pieces[:2] != [marian.END, marian.UNKNOWN]:
        raise UserError(f"{vocabulary}: not the vocabulary of {model}")
    check_decoding(config)
    if {*types} - {"float32"}:
        check_rounding(config)
    description = {"format": 1, **description, **facts(weights, config), "vocabulary_map": shortlist is not None}
    with tempfile.TemporaryDirectory() as scratch:
        vmap = None
        if shortlist:
            write_text(vmap := Path(scratch) / CTranslate2.map_file, vocabulary_map(shortlist, pieces))
        exact = Path(scratch) / "exact"
        convert(weights, config, vocabulary, "float32", exact)
        read = read_ctranslate2.read(exact)
        for kind in types:
            engines = {CTranslate2: vmap, Marian: shortlist, Native: vmap}
            folders = [Path(scratch) / engine.folder(kind) for engine in engines]
            convert(weights, config, vocabulary, kind, folders[0])
            marian_files(model, vocabulary, kind, folders[1])
            read.write(kind, folders[2])
            for (engine, candidates), files in zip(engines.items(), folders, strict=True):
                described = {"engine": engine.name, **description, "quantization": kind}
                model_folder.make(described, files, sentencepiece, candidates, output / files.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="model.npz of train.marian, or of any training")
    parser.add_argument("--vocabulary", type=Path, required=True, help="vocab.yml of both languages")
    parser.add_argument("--sentencepiece", type=Path, required=True, help="model whose pieces these are")
    parser.add_argument("--shortlist", type=Path, help="of export.shortlist")
    parser.add_argument("--types", nargs="+", choices=marian.TYPES, default=["float32", "int8"])
    parser.add_argument("--description", type=json.loads, required=True, help="JSON: study, system, role, languages")
    parser.add_argument("--output", type=Path, required=True, help="folder of the model folders")
    export(**vars(parser.parse_args()))


if __name__ == "__main__":
    command(main)
