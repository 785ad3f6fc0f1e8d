"""Subtitles as people and sites write them: pairs by time, text without markup, and what has no partner is counted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mirrored_texts import fails, opened, raised, rows
from surroundings import isolated  # noqa: F401 (a fixture of all tests here)

from corpora.readers.subtitles import FEW_LINKS, Cue, _paired


def clock(seconds, mark=","):
    return f"00:{int(seconds) // 60:02}:{int(seconds) % 60:02}{mark}{int(seconds * 1000) % 1000:03}"


def srt(*cues):
    return "".join(f"{n}\n{clock(a)} --> {clock(b)}\n{text}\n\n" for n, (a, b, text) in enumerate(cues, 1))


def vtt(*cues):
    return "WEBVTT\n\n" + "".join(f"{clock(a, '.')} --> {clock(b, '.')} line:0\n{text}\n\n" for a, b, text in cues)


def pairs(folder, english, german, names=("x.en.srt", "x.de.srt"), **more):
    for name, text in zip(names, (english, german), strict=True):
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    blocks, provenance = opened(folder, file=dict(zip(("en", "de"), names, strict=True)), **more)
    return rows(blocks), dict(provenance.dropped)


ENGLISH = srt((1, 3, "Hello\nthere."), (4, 6, "How are you?"), (7, 9, "Fine, and that is all."), (20, 21, "Music"))
GERMAN = ((1.1, 3, "Hallo."), (4, 5.9, "Wie geht's?"), (7, 8, "Gut,"), (8, 9.1, "und das ist alles."))
EXPECTED = [
    ("Hello there.", "Hallo."),
    ("How are you?", "Wie geht's?"),
    ("Fine, and that is all.", "Gut, und das ist alles."),
]


@pytest.mark.parametrize(("write", "name"), [(srt, "x.de.srt"), (vtt, "x.de.vtt")])
def test_cues_at_the_same_time_are_pairs(tmp_path, write, name):
    assert pairs(tmp_path, ENGLISH, write(*GERMAN), ("x.en.srt", name)) == (EXPECTED, {"missing_side": 1})


def test_windows_writes_a_mark_and_carriage_returns(tmp_path):
    german = srt(*GERMAN).replace("\n", "\r\n").encode("utf-16")
    assert pairs(tmp_path, "\ufeff" + ENGLISH.replace("\n", "\r\n"), german)[0] == EXPECTED


def test_text_is_without_markup_numbers_and_notes(tmp_path):
    german = """WEBVTT - a film
Kind: captions

STYLE
::cue { color: red }

NOTE made by
somebody

first
00:01.000 --> 00:03.000 align:start position:10%
<v Roger><c.loud>Hallo</c> &amp; <00:01.500><i>Ade</i>
"""
    english = "1\n00:00:01,000 --> 00:00:03,000\n{\\an8}<font color='red'>Hello</font> & <i>bye</i>, 5 < 6\n"
    found = pairs(tmp_path, english, german, ("x.en.srt", "x.de.vtt"))
    assert found == ([("Hello & bye, 5 < 6", "Hallo & Ade")], {})


@pytest.mark.parametrize(
    "english",
    [
        "1\n00:00:01,000 --> 00:00:03,000\n\nA dog\n\nruns.\n2\n00:00:04,000 --> 00:00:06,000\n1984\n",  # empty lines
        "00:00:01.000 --> 00:00:03.000\nA dog runs.\n\n00:00:04.000-->00:00:06.000\n1984\n\n\n",  # no numbers
        "2\n00:00:04,0 --> 00:00:06,0\n1984\n\n1\n00:00:01,0 --> 00:00:03,0\nA dog runs.\n\n",  # out of order
    ],
)
def test_cues_as_people_write_them(tmp_path, english):
    german = srt((1, 3, "Ein Hund läuft."), (4, 6, "1984"))
    assert pairs(tmp_path, english, german) == ([("A dog runs.", "Ein Hund läuft."), ("1984", "1984")], {})


def test_an_empty_cue_lacks_a_side_and_text_without_times_is_malformed(tmp_path):
    english = srt(*((n, n + 0.9, f"line {n}") for n in range(30)), (40, 41, "<i> </i>"))
    german = srt(*((n, n + 0.9, f"Zeile {n}") for n in range(30)), (40, 41, "leer"))
    found, dropped = pairs(tmp_path, "An introduction\n\n" + english, german)
    assert len(found) == 30 and dropped == {"missing_side": 1, "malformed": 1}
    assert "x.en.srt: line 1: no times above it" in fails(tmp_path, file="x.{lang}.srt", invalid_share=0)


def test_one_language_alone_is_text(tmp_path):
    (tmp_path / "x.en.srt").write_text(ENGLISH)
    blocks, _ = opened(tmp_path, "monolingual", file="x.en.srt")
    assert rows(blocks) == [(text,) for text in ("Hello there.", "How are you?", "Fine, and that is all.", "Music")]


CUES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12)


@given(CUES, CUES)
def test_every_cue_is_in_one_pair_or_counted(source, target):
    sides = [sorted(Cue(start, start + length, f"{side}{n}") for n, (start, length) in enumerate(cues))
             for side, cues in (("a", source), ("b", target))]  # fmt: skip
    found = [*_paired(*sides, name="x")]
    texts = [record for record in found if not isinstance(record, str)]
    for side, cues in enumerate(sides):
        words = " ".join(record[side] for record in texts).split()
        assert len(words) == len({*words}) and {*words} <= {cue.text for cue in cues}
    used = sum(len(text.split()) for record in texts for text in record)
    assert used + found.count("missing_side") == len(source) + len(target)


def test_films_in_one_file_are_refused(tmp_path):
    films = srt(*[(1, 3, "Hello")] * FEW_LINKS)
    assert "x: too many cues at the same time; give each film" in raised(pairs, tmp_path, films, films)
