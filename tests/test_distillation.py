"""Records to shards, to pieces, to translations: nothing is lost, shifted or half written."""

import json
import subprocess
import sys

import pytest
import sentencepiece

from distill.encode import encode
from distill.translate import translate
from distill.vocabulary import train
from formats import records
from formats.errors import UserError

PAIRS = [(f"a dog runs past {n} houses", f"ein Hund läuft an {n} Häusern vorbei") for n in range(60)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "sentencepiece.model"
    path.write_bytes(train([side for pair in PAIRS for side in pair], 100, 1.0, 1))
    return path


def test_pieces_decode_to_the_sentences(model, tmp_path):
    records.write(tmp_path / "all.tsv.zst", PAIRS)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    decoded = [tuple(processor.decode(side.split()) for side in pieces)
               for pieces in encode([tmp_path / "all.tsv.zst"], model, 1)]  # fmt: skip
    assert decoded == PAIRS


def test_a_shard_is_translated_in_order_and_counted(model, tmp_path):
    from tests.models import folders

    folder = folders()["float32"]
    source = [(f"{word} dog",) for word in ("a", "red", "one", "the")]
    records.write(tmp_path / "shard.tsv.zst", source)
    command = [sys.executable, "-m", "distill.translate", "--input", tmp_path / "shard.tsv.zst", "--model", folder,
               "--sentencepiece", folder / "sentencepiece.model", "--output", tmp_path / "out.tsv.zst"]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    counts = json.loads((tmp_path / "out.json").read_text())
    translated = list(records.read(tmp_path / "out.tsv.zst"))
    assert counts["lines_in"] == 4 == counts["lines_out"] + counts["dropped"]["empty_translation"]
    assert [(record[0],) for record in translated] == [record for record in source if record[0] in dict(translated)]


def test_a_folder_without_a_model_is_said_plainly(model, tmp_path):
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    with pytest.raises(UserError, match="cannot load this model"):
        list(translate(["a dog"], tmp_path, processor, 1, 1))
