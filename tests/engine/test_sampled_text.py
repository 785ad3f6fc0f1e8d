"""Sampling of text: the command and the Translator."""

import itertools

import pytest
from models import folders as exported
from models import sentences
from native import folders
from translation import run

from nmt_frontier.command import translate
from nmt_frontier.errors import UserError
from nmt_frontier.files import write_json
from nmt_frontier.translator import Translator

LINES = sentences(60)
TEXT_WAY = {"temperature": 1.5, "epsilon": 0.001, "seed": 3}


def text(**options):
    return [*Translator(folders() / "int8", **options).translate(LINES)]


def test_a_translator_draws_the_same_lines_in_any_batches_and_workers():
    expected = text(sampling=TEXT_WAY)
    assert expected != text() and expected != text(sampling={**TEXT_WAY, "seed": 4})
    for workers, size in itertools.product((1, 2), (1, 7, 64)):
        assert text(sampling=TEXT_WAY, workers=workers, batch_sentences=size) == expected
    assert text(sampling={"top_k": 1}) == text()


def test_the_command_draws_and_goes_on_with_the_same_sampling(tmp_path):
    model, lines = folders() / "int8", "".join(f"{line}\n" for line in LINES).encode()
    options = ["--model", model, "--sample", "--temperature", 1.5, "--epsilon", 0.001, "--seed", 3]
    assert run(*options, text=lines).stdout.decode().splitlines() == text(sampling=TEXT_WAY)
    (tmp_path / "in").write_bytes(lines)
    to_file = ["--input", tmp_path / "in", "--output", tmp_path / "out"]
    write_json(tmp_path / "out.progress", {"key": translate.progress_key([model], Translator(model).settings)})
    (tmp_path / "out").touch()
    refused = run(*options, *to_file, "--resume").stderr
    assert b"was begun with sampling None, not {'temperature': 1.5, 'top_k': 0," in refused


MISTAKES = {
    "no flag": (["--temperature", "2"], b"--temperature: is of sampling; add --sample\n"),
    "a beam": (
        ["--sample", "--beam-size", "4"],
        b"samples are drawn without a beam; leave out --beam-size or --sample\n",
    ),
    "a value": (["--sample", "--top-p", "2"], b"the nucleus must be above 0, and at most 1, not 2.000000\n"),
    "no number": (["--sample", "--top-k", "x"], b"argument --top-k: invalid int value: 'x'\n"),
}


@pytest.mark.parametrize(("options", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_the_command_is_one_line(options, message):
    done = run("--model", folders() / "int8", *options, text=b"abc\n")
    assert done.returncode and done.stderr.endswith(message) and b"Traceback" not in done.stderr


def test_other_engines_draw_no_samples():
    with pytest.raises(UserError, match="CTranslate2 draws no samples here; give a folder of the native engine"):
        Translator(exported()["float32"], sampling={})
    with pytest.raises(TypeError, match="heat"):
        Translator(folders() / "int8", sampling={"heat": 2})
