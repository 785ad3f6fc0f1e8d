"""Scores that corpora carry: read with the text of every format; bounds keep the same records in any shards."""

import csv
import io
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import warm
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mirrored_texts import fails, fetched, saved, zipped
from surroundings import isolated  # noqa: F401 (a fixture of all tests here)

from corpora import bounds, clean, funnel, gather, rules
from corpora.funnel import Funnel
from corpora.repairs import Repairs
from corpora.scores import ascending, nth, number_in, number_of
from corpora.settings import OWN_SCORES, Cleaning, Score
from corpora.text_features import Measured, characters
from formats import records
from formats.batches import batches
from formats.counts import Fetched
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json
from study import config, score_checks

TEXTS = [(f"The dog {word} runs.", f"Der Hund {word} rennt.") for word in ("Rex", "Bello", "Max", "Leo", "Ben", "Sam")]
SCORES = [0.5, -1.25, 3.0, 1e-05, 0.5, 2.0]
SCORED = [(*pair, repr(score)) for pair, score in zip(TEXTS, SCORES, strict=True)]


def xliff(version):
    units = []
    for (source, target), score in zip(TEXTS, SCORES, strict=True):
        sides = f"<source>{source}</source><target>{target}</target>"
        prop = f'<prop-group><prop prop-type="bicleaner">{score}</prop></prop-group>'
        units.append(
            f"<trans-unit>{sides}{prop}</trans-unit>"
            if version == "1.2"
            else f'<unit><segment bicleaner="{score}">{sides}</segment></unit>'
        )
    file = '<file source-language="en" target-language="de">'
    head = f'<xliff version="{version}" srcLang="en" trgLang="de">{file}<body>'
    return f"{head}{''.join(units)}</body></file></xliff>"


def table(header=(), delimiter=","):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows([*([header] if header else []), *SCORED])
    return text.getvalue()


def tmx():
    units = (
        f'<tu score="9"><prop type="other">7</prop><prop type="bicleaner">{score}</prop>'
        f'<tuv xml:lang="en"><seg>{source}</seg></tuv><tuv xml:lang="de"><seg>{target}</seg></tuv></tu>'
        for (source, target), score in zip(TEXTS, SCORES, strict=True)
    )
    return f"<tmx><body>{''.join(units)}</body></tmx>"


def objects(wrapped):
    for (source, target), score in zip(TEXTS, SCORES, strict=True):
        pair = {"en": source, "de": target}
        yield json.dumps({"translation": pair, "laser": score} if wrapped else {**pair, "laser": str(score)})


FILES = {
    "plain.tsv": ("".join("\t".join(record) + "\n" for record in SCORED), {"column": 2}),
    "headed.tsv": ("en\tde\tlaser\n" + "".join("\t".join(record) + "\n" for record in SCORED), {"column": "laser"}),
    "plain.csv": (table(), {"column": 2}),
    "headed.csv": (table(("en", "de", "laser"), ";"), {"column": "laser"}),
    "wrapped.jsonl": ("\n".join(objects(wrapped=True)), {"column": "laser"}),
    "flat.jsonl": ("\n".join(objects(wrapped=False)), {"column": "laser"}),
    "memory.tmx": (tmx(), {"property": "bicleaner"}),
    "old.xlf": (xliff("1.2"), {"property": "bicleaner"}),
    "new.xliff": (xliff("2.0"), {"property": "bicleaner"}),
}


@pytest.mark.parametrize("name", FILES)
def test_scores_are_read_with_the_text(tmp_path, name):
    text, place = FILES[name]
    (tmp_path / name).write_text(text)
    found, provenance = fetched(tmp_path, file=name, score={"quality": place})
    assert found == SCORED
    assert {*provenance.dropped} <= {"header"}
    without, _ = fetched(tmp_path, file=name)
    assert without == TEXTS


@pytest.mark.optional("pyarrow")
def test_scores_of_parquet(tmp_path):
    import pyarrow
    from pyarrow import parquet

    sides = dict(zip(("en", "de"), map(list, zip(*TEXTS, strict=True)), strict=True))
    parquet.write_table(pyarrow.table({**sides, "laser": SCORES}), tmp_path / "x.parquet")
    assert fetched(tmp_path, file="x.parquet", score={"quality": {"column": "laser"}})[0] == SCORED
    assert "no column other (score)" in fails(tmp_path, file="x.parquet", score={"quality": {"column": "other"}})


def test_scores_of_a_database(tmp_path):
    import sqlite3

    with sqlite3.connect(tmp_path / "x.db") as database:
        database.execute("create table pairs (number, en, de, laser)")
        rows = [(1, *pair, score) for pair, score in zip(TEXTS, SCORES, strict=True)]
        database.executemany("insert into pairs values (?, ?, ?, ?)", rows)
    asked = {"file": "x.db", "query": "select en, de, number, laser from pairs"}
    assert fetched(tmp_path, **asked, score={"quality": {"column": 3}})[0] == SCORED
    problem = "x.db: no column 4 (score); the query has 4, from 0"
    assert problem in fails(tmp_path, **asked, score={"quality": {"column": 4}})


def test_scores_in_a_file_beside_the_text(tmp_path):
    lines = "".join(f"{score}\n" for score in SCORES)
    source = saved(tmp_path, *("".join(f"{side}\n" for side in sides) for sides in zip(*TEXTS, strict=True)))
    (tmp_path / "x.scores").write_text(lines)
    beside = {"quality": {"file": "x.scores"}}
    assert fetched(tmp_path, **source, score=beside)[0] == SCORED
    (tmp_path / "x.scores").write_text(lines[:-1].rpartition("\n")[0] + "\n")
    assert "6 of en, 6 of de, 5 of the score quality" in fails(tmp_path, **source, score=beside)
    (tmp_path / "x.scores").unlink()
    assert "score.quality.file: no file x.scores, searched for in " in fails(tmp_path, **source, score=beside)


def test_scores_in_the_archive_of_the_text_stand_behind_those_of_its_columns(tmp_path):
    text, place = FILES["plain.tsv"]
    zipped(tmp_path / "x.zip", {"x.tsv": text, "x.scores": "\n".join(map(str, range(6)))})
    score = {"order": {"member": "x.scores"}, "quality": place}
    found, _ = fetched(tmp_path, file="x.zip", member="x.tsv", score=score)
    assert found == [(*record, f"{number}.0") for number, record in enumerate(SCORED)]
    assert list(config.corpus({"role": "train", "file": "x.tsv", "score": score}).carried) == ["quality", "order"]


def test_a_record_without_a_number_is_dropped_and_counted(tmp_path):
    rows = [*SCORED, ("A cat.", "Eine Katze.", "high"), ("A cow.", "Eine Kuh.", ""), ("A pig.", "Ein Schwein.", "nan")]
    (tmp_path / "x.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    asked = {"file": "x.tsv", "score": {"quality": {"column": 2}}}
    found, provenance = fetched(tmp_path, **asked, invalid_share=0.4)
    assert found == SCORED and provenance.dropped == {"invalid_score": 3}
    assert provenance.samples["invalid_score"][:2] == [
        ("record 7: score quality (column 2): 'high' is no number", "A cat."),
        ("record 8: score quality (column 2): is missing", "A cow."),
    ]
    assert "3 of 9 lines cannot be read" in fails(tmp_path, **asked)


@pytest.mark.parametrize(
    ("cell", "number"), [("1e-3", 0.001), (" -.5", -0.5), ("1_0", None), ("١", None), ("inf", None)]
)
def test_a_number_is_what_other_programs_take_for_one(cell, number):
    assert number_in(cell) == number


def test_a_column_that_is_not_there(tmp_path):
    (tmp_path / "x.tsv").write_text(FILES["plain.tsv"][0])
    assert "x.tsv: no column 3 (score)" in fails(tmp_path, file="x.tsv", score={"quality": {"column": 3}})
    assert "x.tsv: no column laser (score)" in fails(tmp_path, file="x.tsv", score={"quality": {"column": "laser"}})
    (tmp_path / "x.jsonl").write_text(FILES["flat.jsonl"][0])  # of which each line may have other keys
    refused = fails(tmp_path, file="x.jsonl", score={"quality": {"column": "none"}})
    assert "score quality (column none): is missing" in refused and "name another place of the numbers" in refused


# The n-th key


NUMBERS = st.lists(st.one_of(st.floats(allow_nan=False), st.sampled_from([0.0, -0.0, 1.0])), min_size=1, max_size=60)


@given(NUMBERS, st.integers(1, 70), st.integers(1, 9))
def test_nth_is_that_of_the_sorted_keys(numbers, n, size):
    keys = ascending(np.array(numbers))
    found = nth(lambda: (keys[start : start + size] for start in range(0, len(keys), size)), n)
    if n > len(keys):
        assert found is None
        return
    key, ties = found
    assert number_of(key) == sorted(numbers)[n - 1]
    assert ties == n - sum(int(each) < key for each in keys)


# The chain from records with scores to clean ones


def chain(folder, lines, score, shards, rejected=True, sides=2):
    """The records that are kept, their counts, and what was dropped. lines: sides, then scores."""
    codes, tables = ["en", "de"][:sides], characters(["en", "de"][:sides])
    source = folder / "x.tsv.zst"
    records.write(source, lines)
    parts, refused = [], []
    for k in range(1, shards + 1):
        part, away = folder / f"{k}-of-{shards}.tsv.zst", folder / f"{k}.rejected.tsv.zst"
        chosen = Funnel(rules.chosen(Cleaning(max_tokens=6), codes, [], tables))
        repairs = Repairs(Cleaning(repair_quotes=True), codes)
        clean.clean(source, (k, shards), part, repairs, chosen, tables, away, sides)
        parts.append(part)
        refused.append(away)
    unfiltered = folder / "unfiltered" / "x.tsv.zst"
    about = Fetched(name="x", role="train", lines=len(lines), dropped={"invalid_score": 1})
    gather.gather(parts, unfiltered, about, ["duplicate"], refused)
    output = folder / f"clean-{shards}" / "x.tsv.zst"
    before = funnel.rejected_file(unfiltered) if rejected else None
    bounds.bound(unfiltered, {}, {name: Score(**each) for name, each in score.items()}, output, before)
    away = list(records.read(funnel.rejected_file(output))) if rejected else []
    return list(records.read(output)), read_json(records.info(output)), away


WORDS = st.sampled_from(["a", "b", "c", "Hund", "„d“", "e f g h i j k"])
ROWS = st.lists(st.tuples(WORDS, WORDS, st.sampled_from(["0.5", "1.0", "-3.0", "0.0"]), st.integers(0, 9).map(str)))


def expected(lines, bound, best):
    """In plain Python: bounds on both scores, then the best by the first; ties by the hash of the text, then order."""
    rows = [(row[0].replace("„d“", '"d"'), row[1].replace("„d“", '"d"'), *row[2:]) for row in lines]
    rows = [row for row in rows if max(len(side.split()) for side in row[:2]) <= 6 and ratio(row) <= 3]
    unique = list({row[:2]: row for row in reversed(rows)}.values())[::-1]
    unique = [row for row in rows if row in unique and row is next(each for each in rows if each[:2] == row[:2])]
    left = [row for row in unique if float(row[3]) <= bound]
    ranked = sorted(left, key=lambda row: (-float(row[2]), hashed(row[:2])))[:best]
    return [row[:2] for row in left if row in ranked], unique, left


def ratio(row):
    lengths = sorted(len(side) for side in row[:2])
    return lengths[1] / lengths[0]


def hashed(pair):
    from formats.batches import indexed

    return int(Measured(indexed(records.line(pair)), characters(["en", "de"])).hash[0])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS, st.integers(0, 9), st.integers(1, 20))
def test_bounds_keep_the_best_however_the_corpus_was_divided(tmp_path_factory, lines, bound, best):
    wanted, unique, left = expected(lines, bound, best)
    if not wanted:
        return
    score = {"first": {"column": 2, "best": best}, "second": {"column": 3, "better": "low", "bound": bound}}
    for shards in (1, 3):
        kept, counts, away = chain(tmp_path_factory.mktemp("bounds"), lines, score, shards)
        assert sorted(kept) == sorted(wanted) and kept == [pair for pair in kept if pair in wanted]
        dropped = counts["dropped"]
        assert dropped["low_score"] == len(unique) - len(wanted) and dropped["invalid_score"] == 1
        assert counts["lines_in"] == counts["lines_out"] + sum(dropped.values()) == len(lines) + 1
        assert sum(reason == "low_score" for reason, *_ in away) == dropped["low_score"]
        assert len(away) == sum(dropped.values()) - 1  # what could not be read is nowhere
        assert sum(counts["lengths"]["source"]["out"]) == len(wanted)
        assert sum(counts["lengths"]["source"]["in"]) == len(lines)
        for name in ("first", "second"):
            histogram = counts["scores"][name]
            assert sum(histogram["before"]) == len(unique) and sum(histogram["after"]) == len(wanted)
    assert len(left) >= len(wanted)


def test_equal_scores_are_chosen_by_text_not_by_place(tmp_path):
    lines = [(f"word {number}", f"Wort {number}", "1.0") for number in range(2000)]
    kept, _, _ = chain(tmp_path, lines, {"all": {"column": 2, "best": 500}}, 2)
    numbers = [int(source.split()[1]) for source, _ in kept]
    assert len(kept) == 500 and numbers == sorted(numbers)
    assert 180 < sum(number < 1000 for number in numbers) < 320  # the first 500 would be no sample


def test_scores_without_bounds_drop_nothing_and_monolingual_text_may_have_some(tmp_path):
    lines = [(f"word number {number}", repr(float(number % 7))) for number in range(300)]
    kept, counts, _ = chain(tmp_path, lines, {"quality": {"column": 1}}, 2, rejected=False, sides=1)
    assert kept == [line[:1] for line in lines]
    assert counts["dropped"]["low_score"] == 0
    histogram = counts["scores"]["quality"]
    assert (histogram["low"], histogram["high"]) == (0, 6) and histogram["before"] == histogram["after"]
    assert histogram["before"][0] == 43 and {*counts["lengths"]} == {"source"}


@pytest.mark.parametrize("numbers", [(1e308, -1e308), (0.0, 5e-324), (-0.0, 0.0)])
def test_numbers_at_the_ends_of_what_there_is_have_a_histogram(tmp_path, numbers):
    """Some tools write the largest number where a score is missing; the difference of two such is none."""
    lines = [(f"word number {row}", repr(numbers[row % 2])) for row in range(200)]
    kept, counts, _ = chain(tmp_path, lines, {"quality": {"column": 1, "best": 100}}, 1, rejected=False, sides=1)
    assert len(kept) == 100 == sum(counts["scores"]["quality"]["after"])
    assert sum(counts["scores"]["quality"]["before"]) == 200


def test_the_log_says_what_each_bound_drops_alone_even_where_nothing_is_left(tmp_path, capsys):
    lines = [(f"word number {number}", f"Wort Nummer {number}", f"{number}", f"{number}") for number in range(100)]
    score = {"first": {"column": 2, "bound": 40}, "second": {"column": 3, "better": "low", "bound": 29}}
    with pytest.raises(UserError, match="no line is left of 101; dropped 1 invalid_score, 100 low_score"):
        chain(tmp_path, lines, score, 2)
    said = capsys.readouterr().err
    assert "score first: 40 of 100 records are worse than the bound 40; 98 % of all lie from 1 to 98" in said
    assert "score second: 70 of 100 records are worse than the bound 29; " in said


def test_own_scores_come_in_files_and_must_be_as_many(tmp_path):
    lines = [(f"word number {number}", f"Wort Nummer {number}") for number in range(100)]
    chain(tmp_path, [(*line, "0") for line in lines], {"x": {"column": 2}}, 2)
    source, parts = tmp_path / "unfiltered/x.tsv.zst", [tmp_path / f"{k}.tsv.zst" for k in (1, 2)]
    for number, part in enumerate(parts):
        records.write(part, [(repr(-float(row)),) for row in range(50 * number, 50 * number + 50)])
    own = {"own": Score(bound=-9.5), "x": Score(column=2)}
    bounds.bound(source, {"own": parts}, own, tmp_path / "out/x.tsv.zst", None)
    assert list(records.read(tmp_path / "out/x.tsv.zst")) == lines[:10]
    samples = read_json(tmp_path / "out/x.json")["samples"]["low_score"]  # which the page of the corpora shows
    assert len(samples) == 20 and len({*map(tuple, samples)}) == 20
    for english, german, of_own, of_text in samples:
        number = int(english.split()[2])
        assert german == f"Wort Nummer {number}" and (of_own, of_text) == (f"own -{number}", "x 0") and number > 9
    command = [warm.python(), "-m", "corpora.bounds", "--input", source, "--bounds", '{"own": {}}']
    run = subprocess.run(
        [*command, "--own", "own", parts[0], "--output", tmp_path / "few/x.tsv.zst"], capture_output=True, text=True
    )
    assert run.returncode and "has 100 records, and 50 scores own; delete" in run.stderr
    assert not Path(tmp_path, "few/x.tsv.zst").exists()


def test_columns_of_scores_are_no_sides_for_the_rules(tmp_path):
    """A long or empty number would be a long or empty side."""
    (source,) = [tmp_path / "x.tsv.zst"]
    records.write(source, [("a b", "c d", "1 " * 200)])
    (batch,) = batches(source)
    measured = Measured(batch, characters(["en", "de"]), 2)
    assert len(measured.sides) == 2 and measured.hash == Measured(batch.first(2), characters(["en", "de"])).hash
    assert batch.first(2).lines(np.array([0])) == b"a b\tc d\n"


# Mistakes


def problems(**entry):
    corpus = config.corpus({"role": "train", **entry})
    return [line.removeprefix("x.score") for line in score_checks.corpus_problems("x", corpus, None)]


def test_mistakes_in_the_configuration():
    column = {"column": 2}
    assert problems(file="x.tsv") == problems(file="x.tsv", score={"a": column}) == []
    assert problems(file="x.tsv", role="dev", score={"a": column}) == [": dev sets are never filtered"]
    assert problems(file="x.tsv", score={"a": column | {"file": "y"}, "b": {}}) == [
        ".b: needs exactly one of column, property, file and member; it has none; those of the study are "
        + ", ".join(OWN_SCORES),
        ".a: needs exactly one of column, property, file and member; it has column and file",
    ]
    both = {"a": column | {"best": 2}, "b": column | {"best": 3}}
    assert problems(file="x.tsv", score=both) == [": a and b have `best`; only one can choose, give the others a bound"]
    builtin = {"builtin": {"split": "a", "sentences": 9}}
    assert problems(**builtin, score={"a": column}) == [": a: builtin carries no scores"]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"file": "x.tmx", "score": {"a": {"column": 2}}}, "is not for the format tmx; its scores have a property"),
        ({"file": "x.po", "score": {"a": {"property": "b"}}}, "is not for the format po; name a file beside it"),
        ({"file": "x.jsonl", "score": {"a": {"column": 2}}}, "column: 2 is none of the names of columns"),
        (
            {"file": "x.{lang}", "score": {"a": {"file": "y.{lang}"}}},
            "file: y.{lang} has {lang} in it, but a score",
        ),
        ({"file": "x.{lang}.srt", "score": {"a": {"file": "y"}}}, "cues of subtitles have no lines"),
        ({"file": "x.tsv", "mirror": "x.{lang}", "score": {"a": {"column": 2}}}, "a file for each language has no 2"),
    ],
)
def test_scores_that_the_format_does_not_carry(entry, problem):
    from corpora.sources import source_of

    found = [*source_of("x", config.corpus({"role": "train", **entry}), ["en", "de"]).problems()]
    assert any(problem in line for line in found), found
