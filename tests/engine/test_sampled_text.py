"""Sampling of text: the command and the Translator."""

import io
import itertools

import pytest
from models import folders as exported
from models import sentences
from native import folders
from translation import run

from nmt_frontier.command import translate
from nmt_frontier.errors import UserError
from nmt_frontier.files import write_json
from nmt_frontier.search.native import Native
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


def test_several_samples_of_a_line_stand_one_below_the_other():
    """The first of them is the one that is drawn alone; those of an empty line are empty, a split one is joined."""
    translator = Translator(folders() / "int8", sampling=TEXT_WAY, samples=3)
    lines = [LINES[0], "", LINES[1], "17", LINES[0]]
    found = [*translator.translate(lines)]
    assert len(found) == 3 * len(lines) and found[:3] == found[-3:] and found[3:6] == [""] * 3
    assert found[::3] == [*Translator(folders() / "int8", sampling=TEXT_WAY).translate(lines)]
    assert len({*found[:3]}) > 1 and translator.counts["lines"] == len(lines)
    few = [*Translator(folders() / "int8", sampling=TEXT_WAY, samples=2, batch_sentences=1).translate(lines)]
    assert few == [line for start in range(0, len(found), 3) for line in found[start : start + 2]]
    copied = Translator(folders() / "int8", sampling=TEXT_WAY, samples=3, copying=True)
    assert [*copied.translate(["17"])] == ["17"] * 3


def test_samples_of_a_long_line_are_joined_of_their_parts(monkeypatch):
    monkeypatch.setattr(Native, "longest_input", 4)
    long = " ".join(LINES[:3])
    (one, two) = Translator(folders() / "int8", sampling=TEXT_WAY, samples=2, long_lines="split").translate([long])
    (alone,) = Translator(folders() / "int8", sampling=TEXT_WAY, long_lines="split").translate([long])
    assert one == alone != two


def test_the_command_draws_several_and_goes_on_after_a_kill(tmp_path):
    model, lines = folders() / "int8", "".join(f"{line}\n" for line in LINES).encode()
    options = ["--model", model, "--sample", "--samples", 3, "--temperature", 1.5, "--epsilon", 0.001, "--seed", 3]
    options += ["--workers", 1, "--batch-tokens", 16]
    expected = [*Translator(model, sampling=TEXT_WAY, samples=3).translate(LINES)]
    assert run(*options, text=lines).stdout.decode().splitlines() == expected
    (tmp_path / "in").write_bytes(lines)
    translator = Translator(model, sampling=TEXT_WAY, samples=3, workers=1, batch_tokens=16)
    key = translate.progress_key([model], translator.settings)
    torn = Torn(lines)
    with pytest.raises(ZeroDivisionError), translate.resumable_output(tmp_path / "out", key, False, torn) as output:
        translate.translate(translator, torn, output)
    written = (tmp_path / "out").read_text().splitlines()
    assert 0 < len(written) < len(expected) and len(written) % 3 == 0
    done = run(*options, "--input", tmp_path / "in", "--output", tmp_path / "out", "--resume")
    assert done.returncode == 0 and (tmp_path / "out").read_text().splitlines() == expected


class Torn(io.BytesIO):
    """Text whose end cannot be read."""

    def __next__(self):
        return 1 / 0 if self.tell() > len(self.getvalue()) * 0.8 else super().__next__()


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
    "samples": (["--samples", "4"], b"--samples: is of sampling; add --sample\n"),
    "no samples": (["--sample", "--samples", "0"], b"argument --samples: 0 is not at least 1\n"),
    "too many": (
        ["--sample", "--samples", "2000"],
        b"there may be from 1 to 1,024 samples, or 0 for a search, not 2000\n",
    ),
    "one text": (
        ["--sample", "--samples", "4", "--recase"],
        b"--recase: is for one translation of a line; leave out --samples\n",
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
    with pytest.raises(UserError, match="samples are at least 1, not 0"):
        Translator(folders() / "int8", sampling={}, samples=0)
    with pytest.raises(TypeError, match="heat"):
        Translator(folders() / "int8", sampling={"heat": 2})
