"""A teacher behind HTTP as a point of a front, beside a student."""

import json
import sys

import pytest
from measured import measured, replaced

from findings import captions, comparison
from formats import measurement, records
from measure import language_model, score
from nmt_frontier.errors import UserError
from report import front_overview

PAIRS = [("A dog runs fast .", "Ein Hund rennt schnell ."), ("A cat sleeps here .", "Eine Katze schläft hier .")]
COUNTS = {"models": {"tiny.gguf": 3}, "output_tokens": 30, "seconds": 5.0, "answers": 3, "failed": {"copy": 1}}


@pytest.fixture
def asked(tmp_path):
    """The files of distill.ask and distill.n_best_lists for two sentences, of which one has no translation."""
    records.write(tmp_path / "t.tsv.zst", PAIRS)
    (tmp_path / "llm.json").write_text(json.dumps(COUNTS))
    (tmp_path / "llm.txt").write_text("Ein Hund rennt schnell .\n\n")
    return tmp_path


def run(monkeypatch, program, *arguments):
    monkeypatch.setattr(sys, "argv", [program.__name__, *map(str, arguments)])
    program.main()


def made(monkeypatch, folder, *more):
    options = ["--answers", folder / "llm.json", "--translations", folder / "llm.txt", "--study", "s"]
    options += ["--test-set", f"t={folder}/t.tsv.zst", "--system", "gemma", "--parameters", 270_000_000]
    run(
        monkeypatch,
        language_model,
        *options,
        "--compute-type",
        "q4_k_m",
        "--output",
        folder / "llm.records.json",
        *more,
    )
    (record,) = measurement.read(folder / "llm.records.json")
    return record


def test_its_speed_is_that_of_all_its_answers_one_after_the_other(asked, monkeypatch, capsys):
    record = made(monkeypatch, asked, "--cores", 0, 1)
    assert record.timing.source_words == 10 and record.words_per_second == 2 and record.timing.target_tokens == 30
    assert record.core_seconds_per_million_words == 1_000_000 and record.usd_per_million_words is None
    assert (record.system.role, record.system.shape) == ("imported", "tiny.gguf") and record.decoding.sentences == 2
    assert captions.title(record) == "gemma language model, behind HTTP q4_k_m greedy"
    assert record.decoding.cores == (0, 1) and captions.mark(record) == "?"
    assert capsys.readouterr().out == "gemma: 2.00 source words a second on 2 cores\n"


def test_it_stands_in_a_front_beside_a_student(asked, monkeypatch):
    record = made(monkeypatch, asked)
    (asked / "deep.txt").write_text("Ein Hund rennt schnell .\nEine Katze rennt hier .\n")
    student = replaced(measured(source_words_per_second=5e4, source_words=10), output="deep.txt", cores=[0])
    measurement.write(asked / "deep.json", [student])
    files = ["--records", asked / "deep.json", asked / "llm.records.json", "--output", asked / "all.json"]
    run(monkeypatch, score, *files, "--test-sets", f"t={asked}/t.tsv.zst", "--target-language", "de", "--samples", 10)
    found = measurement.read(asked / "all.json")
    bleu = {each.system.name: each.scores.bleu for each in found}
    assert 0 < bleu["gemma"] < bleu["deep"]
    assert [each.system.name for each in comparison.on_front(found)] == ["deep"]
    (axes,) = front_overview.draw(found).axes
    assert {"deep", "gemma\nlanguage model,\nbehind HTTP"} <= {text.get_text() for text in axes.texts}
    assert [f"{tick:g}" for tick in axes.get_xticks()] == ["10", "100", "1000", "10000"]
    assert len({line.get_color() for line in axes.lines if line.get_marker() not in ("None", "|", "")}) == 2
    assert record.words_per_second == 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("llm.json", "{}", "llm.json: not beside n-best lists of distill.ask"),
        ("llm.json", json.dumps(COUNTS | {"seconds": 0}), "llm.json: counts no seconds of answers"),
        ("llm.txt", "one line\n", "llm.txt: "),
    ],
)
def test_files_of_something_else_are_one_line(asked, monkeypatch, name, content, message):
    (asked / name).write_text(content)
    with pytest.raises(UserError, match=message) as error:
        made(monkeypatch, asked)
    assert "\n" not in str(error.value)
