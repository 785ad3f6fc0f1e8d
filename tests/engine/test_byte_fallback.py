"""A vocabulary with bytes in the engines: what no piece has is read and written as UTF-8, with and without a map."""

import pytest
from models import folders, opennmt_model, sentences
from msgspec.structs import replace

from decode.engines.ctranslate2 import CTranslate2
from export import read_opennmt_tf
from export.vocabulary_map import BYTES
from formats.conversion import Converter
from nmt_frontier.making import make
from nmt_frontier.model.model_folder import describe
from nmt_frontier.search.native import Native
from nmt_frontier.sentence import sentence
from nmt_frontier.text import tokenizers
from nmt_frontier.translator import Translator
from train.vocabulary import entries, train

TEXTS = ["abc 🐕", "Пёс", "h 北京 g", "a \u0301 €"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folders of both engines with the same weights; their map allows bytes, and hardly any other piece."""
    root = tmp_path_factory.mktemp("bytes")
    (root / "tokenizer").write_bytes(tokenizer := train(sentences(300), "unigram", 340, 1.0, 1, byte_fallback=True))
    model = opennmt_model(root / "opennmt-tf", vocabulary := [*entries(tokenizer)])
    every = " ".join(BYTES)
    (root / "map").write_text("".join([f"\t{vocabulary[-1]}\n", *(f"{byte}\t{every}\n" for byte in BYTES)]))
    Converter(model).convert(str(root / "weights" / CTranslate2.name))
    read_opennmt_tf.read(root / "opennmt-tf").write("float32", root / "weights" / Native.name)
    for engine in (CTranslate2, Native):
        if engine.supported():
            description = replace(describe(folders()["float32"]), engine=engine.name, quantization="float32")
            files = root / "weights" / engine.name, root / "tokenizer", root / "map"
            make(description, *files, root / engine.name)
    return root


@pytest.mark.parametrize("engine", [CTranslate2, Native])
@pytest.mark.parametrize("vocabulary_map", [True, False])
def test_bytes_are_read_and_written_as_utf8(made, engine, vocabulary_map):
    """Untrained models write any bytes, most of them no UTF-8, which become replacement characters."""
    if not engine.supported():
        pytest.skip("this engine is not installed")
    translator = Translator(made / engine.name, vocabulary_map=vocabulary_map, workers=1)
    processor = tokenizers.pieces(made / "tokenizer")
    sources = [processor.encode(text, out_type=str) for text in TEXTS]
    assert all({*source} & {*BYTES} for source in sources)
    outputs = translator.engine.translate(sources)
    texts = [*translator.translate(TEXTS)]
    assert texts == [sentence(processor.decode(output)) for output in outputs]
    assert "\ufffd" in "".join(texts) and "<0x" not in "".join(texts) and "\u2047" not in "".join(texts)
    if vocabulary_map:
        written = {piece for output in outputs for piece in output}
        assert written & {*BYTES} and len(written - {*BYTES}) <= 1  # unknown is never written
