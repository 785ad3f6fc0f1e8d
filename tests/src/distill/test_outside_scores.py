"""Scores by a program of another environment: lines in, numbers out."""

import json
import subprocess

import pytest
import warm

from distill import n_best_lists
from distill.n_best_lists import NBestList, ScoredText
from distill.score import scored
from distill.settings import Scores
from formats import records
from nmt_frontier.errors import UserError

LISTS = [
    NBestList("s1", [ScoredText("a", -0.1, 3), ScoredText("bb", -0.2, 1)]),
    NBestList("s2", []),
    NBestList("s3", [ScoredText("ccc", -1.0, 4)]),
]
LENGTHS = r"awk -F '\t' '{print length($2) * 10 + length($3)}'"  # of the hypothesis and the reference


def test_a_hypothesis_has_the_mean_over_the_references_by_their_weights():
    assert [*scored(LISTS, Scores(command=LENGTHS))] == [pytest.approx([11.25, 21.25]), [], pytest.approx([33])]


def test_without_references_each_hypothesis_is_one_line():
    counting = r"awk -F '\t' '{print NF + length($2)}'"
    assert [*scored(LISTS, Scores(command=counting, references=False))] == [[3, 4], [], [5]]


def test_a_program_may_answer_at_the_end():
    """More lines than a pipe holds, and no answer before the last one."""
    many = [NBestList("s" * 100, [ScoredText(str(number), -1.0)]) for number in range(20_000)]
    found = [score for (score,) in scored(many, Scores(command="sort -n | awk '{print NR}'", references=False))]
    assert found == [*range(1, 20_001)]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("head -n 1 | wc -l", "wrote fewer lines than it was given"),
        ("yes 1", "wrote more lines than it was given"),
        ("echo nan", "line 1 of its output: 'nan' is no number"),
        ("echo score: 1", "line 1 of its output: 'score: 1' is no number"),
        ("exit 3", "exit 3: ended with status 3"),
        ("no-such-program", "ended with status 127"),
    ],
)
def test_a_program_that_does_not_keep_to_it(command, message):
    with pytest.raises(UserError, match=message):
        [*scored(LISTS, Scores(command=command))]


def run(module, *options, code=0):
    done = subprocess.run([warm.python(), "-m", module, *options], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


def test_the_commands_choose_by_these_scores(tmp_path):
    lists, scores = tmp_path / "lists.tsv.zst", tmp_path / "scores.tsv.zst"
    n_best_lists.write(lists, LISTS)
    run("distill.score", json.dumps({"command": LENGTHS}), "--n-best-lists", lists, "--output", scores)
    select = ["--n-best-lists", lists, "--targets", "mbr", "--output", tmp_path / "out.tsv.zst", "--scores"]
    run("distill.select", *select, scores)
    assert [*records.read(tmp_path / "out.tsv.zst")] == [("s1", "bb", "-0.2000"), ("s3", "ccc", "-1.0000")]
    small = {"command": LENGTHS.replace("length($2) * 10", "length($2) * 1e-12"), "references": False}
    run("distill.score", json.dumps(small), "--n-best-lists", lists, "--output", scores)
    assert [*records.read(scores)] == [("s1", "[1e-12, 2e-12]"), ("s2", "[]"), ("s3", "[3e-12]")]
    records.write(scores, [("s1", "[1, 2, 3]")])
    assert "record 1: scores of other n-best lists" in run("distill.select", *select, scores, code=1).stderr
