"""From the mirror folder to records: checksums, sides of one length, the command."""

import gzip
import json
import subprocess
from pathlib import Path

import pytest
import warm
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st
from mirrored_texts import ENGLISH, GERMAN, PAIRS, checksum, corpus, mirrored, records_of, refused
from msgspec import structs
from surroundings import isolated  # noqa: F401 (a fixture of all tests here)

from corpora import fetch
from corpora.availability import read_unchecked
from corpora.sources.stored import mirror_folder
from formats import records
from nmt_frontier.files import read_json
from study import config

ROOT = Path(__file__).parents[3]

# Mirror


@pytest.mark.parametrize("compress", [gzip.compress, bytes], ids=["gzip", "plain"])
def test_from_the_mirror(tmp_path, compress):
    pairs, origins = records_of(corpus(), tmp_path, mirrored(tmp_path, compress=compress))
    assert pairs == PAIRS
    assert origins == ["x.en.gz", "x.de.gz"]


def test_monolingual_text_needs_the_source_only(tmp_path):
    mirrored(tmp_path)
    (tmp_path / "x.de.gz").unlink()
    pairs, _ = records_of(corpus(role="monolingual"), tmp_path, tmp_path)
    assert pairs == [(english,) for english, _ in PAIRS]


def test_text_for_a_backward_teacher_needs_the_target_only(tmp_path):
    mirrored(tmp_path)
    (tmp_path / "x.en.gz").unlink()
    pairs, _ = records_of(corpus(role="monolingual_target"), tmp_path, tmp_path)
    assert pairs == [(german,) for _, german in PAIRS]


@pytest.mark.parametrize(("skipped", "most"), [(0, 5), (1, None), (1500, 700), (len(PAIRS) - 1, None), (2999, 9)])
def test_a_part_of_a_text_may_begin_anywhere(tmp_path, skipped, most):
    entry = corpus(skip_lines=skipped, max_lines=most)
    end = len(PAIRS) if most is None else skipped + most
    assert records_of(entry, tmp_path, mirrored(tmp_path))[0] == PAIRS[skipped:end]


def test_lines_before_a_part_count_in_no_number(tmp_path):
    """Neither does a broken one make the text unreadable."""
    english = b"bad \xff\n" + b"one\ntwo \xff\nthree\n" * 30
    mirrored(tmp_path, english, "x\n" * 91)
    entry = corpus(sha256=None, skip_lines=1, invalid="drop")
    blocks, about = fetch.fetch("x", entry, ["en", "de"], tmp_path, tmp_path / "cache", 1)
    assert sum(block.count(b"\n") for block in blocks) == 60 and about.dropped == {"invalid_utf8": 30}
    places = [place.split(",")[0].rpartition(": ")[2] for place, _ in about.samples["invalid_utf8"]]
    assert places[:2] == ["line 3", "line 6"]
    refusal = refused(structs.replace(entry, invalid="error"), tmp_path / "none", tmp_path)
    assert "line 3" in refusal and "line 1," not in refusal
    message = refused(corpus(skip_lines=3000), tmp_path / "all", mirrored(tmp_path))
    assert message == "x: skip_lines leaves out all of its 3,000 lines; take fewer"


def test_environment_goes_before_the_configured_mirror(monkeypatch, tmp_path):
    assert mirror_folder(None) is None
    assert str(mirror_folder("/there")) == "/there"
    monkeypatch.setenv("NMT_FRONTIER_MIRROR", str(tmp_path))
    assert mirror_folder("/there") == tmp_path


def test_a_wrong_mirror_is_an_error_and_left_alone(tmp_path):
    mirrored(tmp_path, english=f"{ENGLISH}one more\n")
    message = refused(corpus(), tmp_path, tmp_path)
    assert f"x.en.gz: sha256 of the text is {checksum(ENGLISH + 'one more' + chr(10))}" in message
    assert f"expected {checksum(ENGLISH)}" in message
    assert "to read it all the same, set corpora.x.sha256 to null" in message
    assert (tmp_path / "x.en.gz").exists()


@pytest.mark.parametrize(
    ("english", "german", "lines", "message"),
    [
        (b"fine\nM\xfcller\n", "gut\nMueller\n", None, "x.en.gz: line 2, byte 2: not UTF-8 (0xfc)"),
        ("a\nb\nc\n", "d\n", None, "x: the sides have different numbers of lines: 3 of en, 1 of de"),
        ("a\n", "b\nc\nd\n", None, "x: the sides have different numbers of lines: 1 of en, 3 of de"),
        ("", "a\n", None, "x: the sides have different numbers of lines: 0 of en, 1 of de"),
        ("", "", None, "x: the text is empty"),
        (ENGLISH, GERMAN, 7000, "x: has 3,000 lines, its configuration says 7,000"),
    ],
    ids=["not UTF-8", "shorter German", "shorter English", "no English", "empty", "number of lines"],
)
def test_wrong_texts(tmp_path, english, german, lines, message):
    mirrored(tmp_path, english, german)
    assert message in refused(corpus(english=english, german=german, lines=lines), tmp_path, tmp_path)


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"))


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1))
def test_any_text_comes_out_as_records(tmp_path_factory, pairs):
    """U+2028, lone carriage returns and the like stay inside a sentence, so that sides do not shift."""
    folder = tmp_path_factory.mktemp("lines")
    texts = ["".join(f"{line}\n" for line in side) for side in zip(*pairs, strict=True)]
    assume(all("\0" not in text and text.strip("\n") for text in texts))  # many NULs are UTF-16
    mirrored(folder, *texts)
    assert records_of(corpus(english=texts[0], german=texts[1]), folder, folder)[0] == [
        (records.sentence(source), records.sentence(target)) for source, target in pairs
    ]


# Command line


def run(name, target, spec, *more):
    arguments = ("--name", name, "--languages", "en", target, "--spec", json.dumps(spec.document), *map(str, more))
    return subprocess.run([warm.python(), "-m", "corpora.fetch", *arguments], capture_output=True, text=True)


def test_command(tmp_path):
    where = ("--output", tmp_path / "o.tsv.zst", "--mirror", mirrored(tmp_path))
    done = run("x", "de", corpus(licence="CC0", max_lines=3), *where)
    assert done.returncode == 0, done.stderr
    assert list(records.read(tmp_path / "o.tsv.zst")) == PAIRS[:3]
    text = "".join(f"{english}\t{german}\n" for english, german in PAIRS[:3])
    about = {"name": "x", "role": "train", "origin": ["x.en.gz", "x.de.gz"], "licence": "CC0", "lines": 3}
    sums = {"sha256": checksum(text), "text_sha256": {"en": checksum(ENGLISH), "de": checksum(GERMAN)}}
    assert read_json(tmp_path / "o.json") == about | sums | {"dropped": {}}


def test_a_language_whose_checksums_the_base_does_not_know(tmp_path):
    """As the README adds Czech to the demo: three lines."""
    demo = config.read(ROOT / "configs/demo.yaml").corpora
    base = {"extends": str(ROOT / "configs/demo.yaml"), "corpora": {}}
    for name, configured in demo.items():
        texts = {"en": f"{name}\n{ENGLISH}", "cs": f"{name}\n{GERMAN}"}
        base["corpora"][name] = {"lines": len(PAIRS) + 1, "sha256": {"en": checksum(texts["en"])}}
        for code in ("en",) if name == "captions" else texts:
            path = tmp_path / "mirror" / configured.mirror.replace("{lang}", code)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(gzip.compress(texts[code].encode()))
    (tmp_path / "base.yaml").write_text(yaml.safe_dump(base))
    study = tmp_path / "demo-cs.yaml"
    study.write_text("extends: base.yaml\nstudy: demo-cs\ntarget: cs\n")

    loaded = config.read(study)
    note = read_unchecked(loaded)
    assert note.startswith("no checksum for cs of multi30k, val, test_2016_flickr: what is read is not checked")
    assert read_unchecked(config.read(ROOT / "configs/demo.yaml")) is None
    for name, described in loaded.corpora.items():
        where = ("--mirror", tmp_path / "mirror", "--output", tmp_path / f"{name}.tsv.zst")
        done = run(name, "cs", described, *where)
        assert done.returncode == 0, done.stderr
        found = read_json(tmp_path / f"{name}.json")["text_sha256"]
        assert found["en"] == described.sha256["en"]
        unchecked = json.dumps({"cs": found["cs"]}) if "cs" in found else ""
        assert (f"not checked; for its configuration: {unchecked}" in done.stderr) == bool(unchecked)


def test_an_error_of_the_command_is_one_line(tmp_path):
    done = run("x", "de", corpus(), "--output", tmp_path / "o.tsv.zst")
    assert done.returncode == 1
    assert done.stderr.startswith("error: x: no mirror, and no file x.en.gz in /")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    command = [warm.python(), "-m", "corpora.fetch", "--name", "x"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "arguments are required: --languages, --spec, --output" in done.stderr


def test_an_incomplete_entry_is_an_error_before_anything_is_read(monkeypatch, capsys, tmp_path):
    spec = json.dumps({key: value for key, value in corpus().document.items() if key != "role"})
    options = ["--languages", "en", "de", "--mirror", str(tmp_path), "--output", str(tmp_path / "o.tsv.zst")]
    monkeypatch.setattr("sys.argv", ["fetch", "--name", "x", "--spec", spec, *options])
    with pytest.raises(SystemExit):
        fetch.main()
    assert "argument --spec: Object missing required field `role`: {" in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []


def test_an_entry_that_is_no_object(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["fetch", "--spec", "[]"])
    with pytest.raises(SystemExit):
        fetch.main()
    assert "argument --spec: Expected `object`, got `array`: []" in capsys.readouterr().err
