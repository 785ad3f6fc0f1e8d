"""Export a model trained with Marian to model folders for Marian, the native engine and CTranslate2.

Each type has the folders ``<output>/marian-<type>`` and ``<output>/native-<type>``, and ``<output>/<type>`` for
CTranslate2 if the model is a Transformer with self-attention. Marian decodes recurrent models only in float32. It gets
a lexical shortlist as its binary one, the others as a vocabulary map with the same candidates.
"""

import argparse
import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import ctranslate2
import numpy as np
import yaml
from msgspec import structs

from common.command_line import there
from common.errors import UserError, command
from common.files import write_text
from decode.engines.ctranslate2 import CTranslate2
from decode.engines.interface import Engine
from decode.engines.marian import Marian
from decode.engines.native import Native
from export import model_folder, read_marian
from export.marian_parameters import CONFIG, Options, Parameters, read_pieces
from export.read_marian import positions
from formats import marian, marian_binary
from formats.model_folder import Description, Making
from formats.shape import SELF_ATTENTION, Conditional, Transformer

Writers = dict[type[Engine], tuple[Callable[[Path], None], Path | None]]  # of weights, and the engine's map

AVERAGING = {  # keys: has a feed-forward layer behind the average, has a gate
    (True, True): "averaging",
    (False, True): "averaging-gated",
    (True, False): "averaging-ungated",
    (False, False): "averaging-plain",
}


def shape(config: Options) -> Transformer | Conditional:
    """The shape of a model with these options."""
    if config["type"] != "transformer":
        return Conditional(
            encoder_transitions=config["enc-cell-depth"],
            decoder_transitions=config["dec-cell-base-depth"],
            units=config["dim-rnn"],
            embedding_units=config["dim-emb"],
            share_embeddings=config["tied-embeddings-all"],
        )
    history = config["transformer-decoder-autoreg"]
    decoders = {"self-attention": SELF_ATTENTION, "rnn": "ssru"}
    averaging = AVERAGING[config["transformer-aan-depth"] > 1, not config["transformer-aan-nogate"]]
    return Transformer(
        encoder_layers=config["enc-depth"],
        decoder_layers=config["dec-depth"],
        units=config["dim-emb"],
        ffn_units=config["transformer-dim-ffn"],
        heads=config["transformer-heads"],
        share_embeddings=config["tied-embeddings-all"],
        decoder=decoders.get(history, averaging),
    )


def convert(parameters: Parameters, vocabulary: Path, kind: str, output: Path) -> None:
    """Convert to CTranslate2 with weights of type ``kind``. Raises UserError for what it does not support.

    CTranslate2's converter reads files of Marian 1.9. So this first writes one, with unpadded options, and with the
    position encodings among the weights.
    """
    config = parameters.config
    options = np.frombuffer(yaml.safe_dump(dict(config)).encode() + b"\0", dtype=np.int8)
    model = {"Wpos": positions(config["dim-emb"]), **parameters.weights, CONFIG: options}  # learned ones replace them
    with tempfile.TemporaryDirectory() as scratch:
        np.savez(path := Path(scratch) / "model.npz", **model)
        converter = ctranslate2.converters.MarianConverter(str(path), [str(vocabulary)] * 2)
        try:
            converter.convert(str(output), quantization=kind)
        except (ValueError, RuntimeError, KeyError) as error:
            raise UserError(f"CTranslate2 does not take this model of Marian's: {error}") from error


def candidates(shortlist: Path, source: list[str], target: list[str]) -> tuple[int, dict[str, set[str]]]:
    """How many entries of the vocabulary are always candidates, and those of each source piece.

    These are its best translations in the shortlist, which may be a text or Marian's binary file, and, as in Marian,
    itself where both sides share a vocabulary. Of equally probable ones Marian takes those that come later in the
    vocabulary; it ignores lines with NULL. Raises UserError for a line that is not ``target source probability`` with
    pieces of the vocabulary, and for a damaged file.
    """
    own = [{piece} if source == target else set() for piece in source]
    try:
        binary = marian_binary.is_shortlist(shortlist)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{shortlist}: missing or damaged ({error})") from None
    if binary:
        first, numbers = marian_binary.read_shortlist(shortlist, len(source), len(target))
        listed = [{target[number] for number in of_piece} for of_piece in numbers]
        return first, {piece: ours | found for piece, ours, found in zip(source, own, listed, strict=False)}
    try:
        found = _listed(shortlist, source, target)
    except UnicodeDecodeError as error:
        raise UserError(f"{shortlist}: neither a text nor a binary shortlist of Marian's ({error})") from None
    return marian.FIRST, {piece: ours | found[piece] for piece, ours in zip(source, own, strict=True)}


def _listed(shortlist: Path, source_pieces: list[str], pieces: list[str]) -> dict[str, set[str]]:
    """The best translations of each source piece in a text."""
    numbers = {piece: number for number, piece in enumerate(pieces)}
    translations: dict[str, list[tuple[float, int]]] = {piece: [] for piece in source_pieces}
    with open(shortlist, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                target, source, probability = line.rstrip("\n").split(" ")
                if "NULL" not in (source, target):
                    translations[source].append((float(probability), numbers[target]))
            except (ValueError, KeyError):
                wrong = f"line {number} is not `target source probability` with pieces of this model"
                raise UserError(f"{shortlist}: {wrong}") from None
    return {
        source: {pieces[target] for _, target in sorted(ranked)[-marian.BEST :]}
        for source, ranked in translations.items()
    }


def vocabulary_map(shortlist: Path, source: list[str], target: list[str]) -> str:
    """The shortlist in the format of CTranslate2's vocabulary maps."""
    first, found = candidates(shortlist, source, target)
    lines = (f"{piece}\t{' '.join(sorted(targets))}\n" for piece, targets in found.items() if targets)
    return "".join(["\t" + " ".join(target[:first]) + "\n", *lines])


def check_decoding(config: Options) -> None:
    """Raises UserError for a model whose translations by Marian's decoder are not the best ones by Marian's scorer.

    In layers that are normalised before they are computed, the decoder normalises only the newest word of a
    self-attention and takes the earlier ones as they are (marian-dev's transformer.h, the case ``input == keys``).
    """
    if "n" in config["transformer-preprocess"]:
        raise UserError("Marian decodes models with --transformer-preprocess n wrongly; train with the default, dan")


def check_rounding(config: Options) -> None:
    """Raises UserError for a shape with which Marian crashes when it loads weights of 8 or 16 bits."""
    widths = {config["dim-emb"], config["transformer-dim-ffn"]}
    tied = config["tied-embeddings"] or config["tied-embeddings-all"]
    if config["type"] == "transformer" and (any(width % 64 for width in widths) or not tied):
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
    description: model_folder.Origin,
    output: Path,
) -> None:
    """Make all folders of each type. The arguments are those of the command.

    Raises UserError for a model that Marian or the native engine cannot decode, or files that do not belong together.
    """
    marian.require()
    parameters = Parameters(model)
    config, pieces = parameters.config, read_pieces(vocabulary, 0, parameters)
    check_decoding(config)
    if {*types} - {"float32"}:
        check_rounding(config)
    read, made = read_marian.read(parameters, pieces, pieces), shape(config)
    with tempfile.TemporaryDirectory() as scratch:
        vmap = None
        if shortlist:
            write_text(vmap := Path(scratch) / CTranslate2.map_file, vocabulary_map(shortlist, pieces, pieces))
        for kind in types:
            writers: Writers = {Native: (partial(read.write, kind), vmap)}
            # Marian rounds the matrices of recurrent cells one by one, then joins them: it crashes or outputs noise.
            if kind == "float32" or config["type"] == "transformer":
                writers[Marian] = partial(marian_files, model, vocabulary, kind), shortlist
            if CTranslate2.runs(asdict(made)):
                writers[CTranslate2] = partial(convert, parameters, vocabulary, kind), vmap
            for engine, (write, candidates) in writers.items():
                write(files := Path(scratch) / engine.folder(kind))
                described = Description(
                    format=1,
                    engine=engine.name,
                    **structs.asdict(description),
                    shape=str(made),
                    parameters=parameters.count(),
                    quantization=kind,
                    vocabulary_map=shortlist is not None,
                    made_by=Making(marian=config["version"]),
                )
                model_folder.make(described, files, sentencepiece, candidates, output / files.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=there, required=True, help="model.npz of train.marian, or of any training")
    parser.add_argument("--vocabulary", type=there, required=True, help="vocab.yml of both languages")
    parser.add_argument("--sentencepiece", type=there, required=True, help="model whose pieces these are")
    parser.add_argument("--shortlist", type=there, help="of export.shortlist")
    parser.add_argument("--types", nargs="+", choices=marian.TYPES, default=["float32", "int8"])
    described = model_folder.described
    parser.add_argument("--description", type=described, required=True, help="JSON: study, system, role, languages")
    parser.add_argument("--output", type=Path, required=True, help="folder of the model folders")
    export(**vars(parser.parse_args()))


if __name__ == "__main__":
    command(main)
