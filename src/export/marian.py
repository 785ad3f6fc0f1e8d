"""Export a model trained with Marian to model folders for Marian, the native engine and CTranslate2.

Each type has the folders ``<output>/marian-<type>`` and ``<output>/native-<type>``, and ``<output>/<type>`` for
CTranslate2 if the model is a Transformer with self-attention. Marian decodes recurrent models only in float32. It gets
a lexical shortlist as its binary one, the others as a vocabulary map with the same candidates.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import ctranslate2
import numpy as np
import yaml
from msgspec import structs

from decode.engines.ctranslate2 import CTranslate2
from decode.engines.marian import Marian
from export import model_folder
from formats import marian
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_text
from nmt_frontier.importers import read_marian
from nmt_frontier.importers.marian_parameters import CONFIG, MarianOptions, Parameters, read_pieces
from nmt_frontier.importers.marian_shortlist import vocabulary_map
from nmt_frontier.importers.read_marian import positions, shape
from nmt_frontier.making import make
from nmt_frontier.model import shape_text
from nmt_frontier.model.model_folder import Description, Making
from nmt_frontier.search.engine import Engine
from nmt_frontier.search.native import Native

Writers = dict[type[Engine], tuple[Callable[[Path], None], Path | None]]  # of weights, and the engine's map


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


def check_decoding(config: MarianOptions) -> None:
    """Raises UserError for a model whose translations by Marian's decoder are not the best ones by Marian's scorer.

    In layers that are normalised before they are computed, the decoder normalises only the newest word of a
    self-attention and takes the earlier ones as they are (marian-dev's transformer.h, the case ``input == keys``).
    """
    if "n" in config["transformer-preprocess"]:
        raise UserError("Marian decodes models with --transformer-preprocess n wrongly; train with the default, dan")


def check_rounding(config: MarianOptions, types: Iterable[str]) -> None:
    """Raises UserError for a shape with which Marian crashes when it loads weights of 8 or 16 bits."""
    if not {*types} - {"float32"}:
        return
    widths = {config["dim-emb"], config["transformer-dim-ffn"]}
    tied = config["tied-embeddings"] or config["tied-embeddings-all"]
    if config["type"] == "transformer" and (any(width % 64 for width in widths) or not tied):
        raise UserError("in 8 or 16 bits Marian needs widths that are multiples of 64, and tied output embeddings")


def runs_in_marian(config: MarianOptions, kind: str) -> bool:
    """Marian rounds the matrices of recurrent cells one by one, then joins them: it crashes or outputs noise."""
    return kind == "float32" or config["type"] == "transformer"


def marian_files(model: Path, vocabulary: Path, kind: str, output: Path) -> None:
    """Make a folder with the weights as Marian reads them in the type ``kind``, and their vocabulary."""
    output.mkdir()
    log = output.with_suffix(".log")
    marian.run("convert", "--from", model, "--to", output / marian.MODEL, "--gemm-type", marian.TYPES[kind], log=log)
    (output / marian.VOCABULARY).write_bytes(vocabulary.read_bytes())


def export(
    model: Path, vocabulary: Path, sentencepiece: Path, shortlist: Path | None, types: Sequence[str],
    description: model_folder.Origin, output: Path,
) -> None:  # fmt: skip
    """Make all folders of each type. The arguments are those of the command.

    Raises UserError for a model that Marian or the native engine cannot decode, or files that do not belong together.
    """
    marian.require()
    parameters = Parameters(model)
    config, pieces = parameters.config, read_pieces(vocabulary, 0, parameters)
    check_decoding(config)
    check_rounding(config, types)
    read, made = read_marian.read(parameters, pieces, pieces), shape(config)
    about = partial(
        Description,
        format=1,
        **structs.asdict(description),
        shape=shape_text.text(made),
        parameters=parameters.count(),
        vocabulary_map=shortlist is not None,
        made_by=Making(marian=config["version"]),
    )
    with tempfile.TemporaryDirectory() as scratch:
        vmap = None
        if shortlist:
            write_text(vmap := Path(scratch) / CTranslate2.map_file, vocabulary_map(shortlist, pieces, pieces))
        for kind in types:
            writers: Writers = {Native: (partial(read.write, kind), vmap)}
            if runs_in_marian(config, kind):
                writers[Marian] = partial(marian_files, model, vocabulary, kind), shortlist
            if CTranslate2.runs(made):
                writers[CTranslate2] = partial(convert, parameters, vocabulary, kind), vmap
            for engine, (write, candidates) in writers.items():
                write(files := Path(scratch) / engine.folder(kind))
                described = about(engine=engine.name, quantization=kind)
                make(described, files, sentencepiece, candidates, output / files.name)


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
