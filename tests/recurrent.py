"""Native files and model folders of models with random weights, written without OpenNMT-tf."""

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

import numpy as np
import sentencepiece
from msgspec import convert

from nmt_frontier.importers.float_model import FloatModel
from nmt_frontier.making import make
from nmt_frontier.model.model_folder import Description
from nmt_frontier.model.native_vocabulary import Vocabulary

UNITS, EMBEDDING, PIECES = 32, 48, 121  # as many pieces as in tests.models
GATES = {"lstm": 4, "gru": 3}


def model(cell: str = "lstm", directions: int = 2, encoder_layers: int = 2, decoder_layers: int = 1) -> FloatModel:
    """A model of this shape, with a bridge unless the decoder can start with the encoder's states."""
    gates, states, bridge = GATES[cell], 2 if cell == "lstm" else 1, encoder_layers != decoder_layers
    sizes = {"attention.keys": (UNITS, UNITS), "attention.hidden": (UNITS, 2 * UNITS)}
    sizes["decoder.feedback"] = gates * UNITS, UNITS
    if bridge:
        sizes["bridge"] = (states * decoder_layers * UNITS, states * encoder_layers * UNITS)
    stacks = [(f"encoder.{name}", EMBEDDING, UNITS // directions, encoder_layers) for name in ("forward", "backward")]
    for name, inputs, units, layers in [*stacks[:directions], ("decoder", EMBEDDING, UNITS, decoder_layers)]:
        for layer in range(layers):
            sizes[f"{name}.{layer}.inputs"] = gates * units, units if layer else inputs
            sizes[f"{name}.{layer}.states"] = gates * units, units
    metadata = {
        "architecture": "recurrent", "cell": cell, "units": UNITS, "directions": directions,
        "encoder_layers": encoder_layers, "decoder_layers": decoder_layers, "bridge": bridge,
    }  # fmt: skip
    return random_model(metadata, sizes, EMBEDDING, UNITS)


def random_model(
    metadata: dict,
    sizes: dict[str, tuple[int, int]],
    embedding: int,
    output: int,
    vectors: dict[str, int] | None = None,
) -> FloatModel:
    """A model of PIECES pieces. sizes: rows and columns of its products. vectors: lengths of its vectors."""
    generator = np.random.default_rng(1)
    products = {
        name: (generator.normal(0, 0.3, size), generator.normal(0, 0.1, size[0])) for name, size in sizes.items()
    }
    metadata |= {"embedding_units": embedding, "source_factor": 1.0, "target_factor": 1.0}
    metadata |= {"start": 1, "end": 2, "start_from_zero": False}
    widths = {"source": embedding, "target": embedding, "output": output}
    embeddings = {side: (side, generator.normal(size=(PIECES, width))) for side, width in widths.items()}
    drawn = {name: generator.normal(size=length) for name, length in (vectors or {}).items()}
    pieces = [str(number) for number in range(PIECES)]
    vocabulary, bias = Vocabulary(pieces, pieces, "0"), generator.normal(size=PIECES)
    return FloatModel(Path("random"), metadata, products, drawn, embeddings, bias, vocabulary)


@functools.cache
def folders() -> dict[str, Path]:
    """Native model folders of a system ``gru``, which CTranslate2 does not run, by type, all with one map."""
    return made("gru", model("gru", directions=1), ["float32", "int16", "int8"])


def made(system: str, network: FloatModel, kinds: list[str]) -> dict[str, Path]:
    """Native model folders of a model of PIECES pieces, by type, all with one map."""
    from models import sentencepiece_model  # inside: who writes files only needs no pieces
    from native import random_map

    root = Path(tempfile.mkdtemp(prefix="recurrent-models-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    tokenizer = sentencepiece_model()
    (root / "sp.model").write_bytes(tokenizer)
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer)
    words = [processor.id_to_piece(number) for number in range(3, processor.get_piece_size())]
    pieces = ["<blank>", "<s>", "</s>", *words, "<unk>"]
    (root / "map.txt").write_text(random_map(pieces), encoding="utf-8")
    found = {}
    for kind in kinds:
        network.write(kind, root / "weights" / kind)
        Vocabulary(pieces, pieces, "<unk>").write(root / "weights" / kind)
        found[kind] = root / system / f"native-{kind}"
        description = {
            "format": 1, "engine": "native", "study": "test", "system": system, "role": "student", "quantization": kind,
            "shape": "GRU 2:1 d512 e256", "parameters": 1234, "source": "en", "target": "de", "made_by": {},
            "vocabulary_map": True, "max_decoding_length": 20,
        }  # fmt: skip
        make(
            convert(description, Description), root / "weights" / kind, root / "sp.model", root / "map.txt", found[kind]
        )
    return found
