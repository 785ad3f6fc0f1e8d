"""Tiny real model folders for tests: an untrained OpenNMT-tf Transformer and its exports, made once a session.

The weights are drawn wide, so that the model is sure of its words: different inputs have different outputs, of
moderate length, and rounding decides nothing.
"""

import atexit
import functools
import io
import os
import random
import shutil
import tempfile
from pathlib import Path

import sentencepiece

from nmt_frontier.files import write_json, write_text

SHAPE = dict(num_layers=(1, 1), num_units=16, num_heads=2, ffn_inner_dim=32)
DESCRIPTION = f"""import opennmt

def model():
    return opennmt.models.Transformer(**{SHAPE!r})
"""
PIECES = 120
SURE = 3.0  # factor of the scores of words
NEVER, END = -50.0, 8.0  # added to the scores of control tokens, so that sentences end and hold words only


def sentences(count: int, seed: int = 1) -> list[str]:
    """Random sentences of made-up words."""
    generator = random.Random(seed)
    words = ["".join(generator.choices("abcdefgh", k=generator.randint(1, 6))) for _ in range(200)]
    return [" ".join(generator.choices(words, k=generator.randint(1, 12))) for _ in range(count)]


def cut(path: Path, kept: float) -> None:
    """Keep so many bytes of a file, or this share of them if it is no whole number."""
    data = path.read_bytes()
    path.write_bytes(data[: kept if isinstance(kept, int) else int(len(data) * kept)])


def sentencepiece_model() -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences(500)), model_writer=model, vocab_size=PIECES, minloglevel=2
    )
    return model.getvalue()


MADE = "NMT_FRONTIER_TEST_MODELS"  # names a folder of the models that another process has made, if it is set


@functools.cache
def folders() -> dict[str, Path]:
    """Model folders ``opennmt-tf``, ``float32`` and ``int8``; the latter two with a vocabulary map."""
    if made := os.environ.get(MADE):
        return {name: Path(made, "models", name) for name in ("opennmt-tf", "float32", "int8")}
    root = Path(tempfile.mkdtemp(prefix="tiny-models-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    tokenizer = sentencepiece_model()
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer)
    pieces = [processor.id_to_piece(number) for number in range(3, processor.get_piece_size())]
    (root / "map.txt").write_text("\t" + " ".join(pieces[::2]) + "\n", encoding="utf-8")

    baseline = root / "opennmt-tf"
    model = opennmt_model(baseline, ["<blank>", "<s>", "</s>", *pieces])
    _convert(model, root)
    made = {name: root / name for name in ("opennmt-tf", "float32", "int8")}
    for name, folder in made.items():
        (folder / "sentencepiece.model").write_bytes(tokenizer)
        write_json(folder / "model.json", _description(name))
    return made


def _description(name: str) -> dict:
    baseline = name == "opennmt-tf"
    return {
        "format": 1, "engine": "opennmt-tf" if baseline else "ctranslate2", "study": "test", "system": "tiny",
        "role": "student", "shape": "1:1 d16 ff32 h2", "parameters": 1234, "source": "en", "target": "de",
        "quantization": "float32" if baseline else name, "vocabulary_map": not baseline, "made_by": {},
    }  # fmt: skip


def opennmt_model(folder: Path, vocabulary: list[str]):
    """Make a folder with an untrained model of these pieces, which decodes to words; returns the model."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import opennmt
    import tensorflow as tf
    from opennmt.utils.checkpoint import Checkpoint

    folder.mkdir()
    write_text(folder / "vocabulary.txt", "".join(f"{piece}\n" for piece in vocabulary))
    write_text(folder / "model_description.py", DESCRIPTION)
    model = opennmt.load_model(str(folder))
    path = str(folder / "vocabulary.txt")
    model.initialize({"source_vocabulary": path, "target_vocabulary": path})
    model.create_variables()
    generator = tf.random.Generator.from_seed(1)
    for variable in model.trainable_variables:
        if len(variable.shape) > 1:
            variable.assign(generator.normal(variable.shape, stddev=0.5))
    model.decoder.output_layer.kernel.assign(SURE * model.decoder.output_layer.kernel)
    bias = model.decoder.output_layer.bias  # the last entry is the unknown word, which OpenNMT-tf adds
    bias.assign([NEVER, NEVER, END, *[0.0] * (len(vocabulary) - 3), NEVER])
    Checkpoint(model, model_dir=str(folder)).save(1)
    return model


def _convert(model, root: Path) -> None:
    from formats.conversion import Converter

    for name in ("float32", "int8"):
        Converter(model).convert(str(root / name), vmap=str(root / "map.txt"), quantization=name)
