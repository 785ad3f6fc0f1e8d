"""export.package --for: packages that other programs open."""

import subprocess
import sys
import zipfile

import ctranslate2
import pytest
from models import folders, sentences
from translation import plain

from export.foreign_package import argos, bergamot
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json
from nmt_frontier.importers.found import ImportOptions
from nmt_frontier.importers.model import export
from nmt_frontier.text.tokenizers import pieces

LINES = sentences(20)


def test_an_argos_package_is_read_back_and_opens_in_ctranslate2(tmp_path):
    pytest.importorskip("nmt_frontier.bindings", reason="the native engine is not installed here")
    package = tmp_path / "en_de.argosmodel"
    options = ["--for", "argos", "--model", str(folders()["float32"]), "--output", str(package)]
    corpora = '[{"name": "some", "role": "training", "licence": "CC0", "url": null}]'
    subprocess.run([sys.executable, "-m", "export.package", *options, "--corpora", corpora], check=True)
    export(package, tmp_path / "out", ["float32"], ImportOptions())
    found = [*plain(tmp_path / "out/native-float32", vocabulary_map=False).translate(LINES)]
    description = read_json(tmp_path / "out/native-float32/model.json")
    assert (description["source"], description["target"], description["vocabulary_map"]) == ("en", "de", True)
    with zipfile.ZipFile(package) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "en_de"
    processor = pieces(folder / "sentencepiece.model")
    batch = [processor.encode(line, out_type=str) for line in LINES]
    lengths = {"min_decoding_length": 0, "max_decoding_length": 150}
    theirs = ctranslate2.Translator(str(folder / "model")).translate_batch(batch, beam_size=1, **lengths)
    assert found == [processor.decode(one.hypotheses[0]) for one in theirs] and len({*found}) > 10
    assert "| some | training | CC0 | - |" in (folder / "README.md").read_text().replace("  ", "")


def test_equal_models_give_equal_packages(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        argos(folders()["int8"], None, tmp_path / name / "x.argosmodel")
    first, second = ((tmp_path / name / "x.argosmodel").read_bytes() for name in "ab")
    assert first == second


def test_what_another_program_does_not_open_is_refused(tmp_path):
    model = folders()["float32"]
    with pytest.raises(UserError, match=r"has to end in \.argosmodel"):
        argos(model, None, tmp_path / "x.zip")
    with pytest.raises(UserError, match="is a model of CTranslate2"):
        argos(folders()["opennmt-tf"], None, tmp_path / "x.argosmodel")
    with pytest.raises(
        UserError, match="cannot be written for Bergamot: Marian's decoder begins with a vector of zeros"
    ):
        bergamot(model, None, tmp_path / "x")
    for change, message in (({"source": None}, "names no languages"), ({"tokenizer": "spaces"}, "one SentencePiece")):
        copy = tmp_path / message.split()[0]
        copy.mkdir()
        for path in model.iterdir():
            if not (path.name == "sentencepiece.model" and "tokenizer" in change):
                (copy / path.name).write_bytes(path.read_bytes())
        write_json(copy / "model.json", {**read_json(model / "model.json"), **change})
        with pytest.raises(UserError, match=message):
            argos(copy, None, tmp_path / "x.argosmodel")
    assert not (tmp_path / "x.argosmodel").exists()
