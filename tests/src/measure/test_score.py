"""Scores are sacreBLEU's own, and comparisons are of the right records."""

import json
import random
import subprocess
import sys
import time
from unittest.mock import Mock

import numpy as np
import pytest
from measured import measured
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

from formats import measurement, records
from measure import score
from measure.bootstrap import Bootstrap, Scorer, p_value
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json

GENERATOR = random.Random(1)
TEXT = "der die das ein eine Hund Katze Mann läuft sitzt springt, und auf im Gras Wasser. rot groß 3,5 schnell"
WORDS = TEXT.split()
REFERENCES = [" ".join(GENERATOR.choices(WORDS, k=GENERATOR.randint(5, 15))) for _ in range(200)]


def noisy(share, seed):
    """The references with a share of their words replaced."""
    generator = random.Random(seed)
    return [
        " ".join(generator.choice(WORDS) if generator.random() < share else word for word in line.split())
        for line in REFERENCES
    ]


OUTPUTS = {"good": noisy(0.1, 1), "similar": noisy(0.1, 2), "bad": noisy(0.4, 3)}


@pytest.fixture
def study(tmp_path):
    """A folder, two records of a teacher, one of a student and one of its control, and a function that scores them."""
    records.write(tmp_path / "t.tsv.zst", zip(REFERENCES, REFERENCES, strict=True))
    (tmp_path / "decoding").mkdir()
    for name, lines in OUTPUTS.items():
        (tmp_path / f"decoding/{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    rows = [
        {"system": "teacher", "role": "teacher", "compute_type": "float32", "output": "good.txt"},
        {"system": "teacher", "role": "teacher", "compute_type": "int8", "output": "good.txt"},
        {"system": "tiny", "role": "student", "student": "tiny", "compute_type": "int8", "output": "similar.txt"},
        {"system": "tiny-original", "role": "control", "student": "tiny", "compute_type": "int8", "output": "bad.txt"},
    ]
    path = tmp_path / "decoding/all.json"
    measurement.write(path, [measured(beam_size=4, **row) for row in rows])

    def run(*options, rows=None):
        if rows is not None:
            write_json(path, rows)
        sys.argv = ["score", "--records", str(path), "--test-sets", f"t={tmp_path}/t.tsv.zst", "--samples", "300"]
        sys.argv += ["--target-language", "de", "--teacher", "teacher", "--output", f"{tmp_path}/measurements.json"]
        sys.argv += options
        score.main()
        return read_json(tmp_path / "measurements.json")

    return tmp_path, read_json(path), run


@pytest.mark.slow
def test_scores_are_those_of_the_sacrebleu_command(study):
    folder, _, run = study
    (folder / "references").write_text("".join(f"{line}\n" for line in REFERENCES), encoding="utf-8")
    for record in run("--config-hash", "abc"):
        output = str(folder / record["output"])
        command = [sys.executable, "-m", "sacrebleu", str(folder / "references"), "-i", output, "-m", "bleu", "chrf"]
        done = subprocess.run([*command, "-w", "8"], capture_output=True, text=True, check=True)
        bleu, chrf = json.loads(done.stdout)
        assert (record["bleu"], record["chrf"]) == (pytest.approx(bleu["score"]), pytest.approx(chrf["score"]))
        assert (record["bleu_signature"], record["chrf_signature"]) == (bleu["signature"], chrf["signature"])
        assert record["config_hash"] == "abc"


def test_comparisons(study):
    teacher, teacher_int8, student, control = study[-1]()
    for same in (teacher, teacher_int8):
        assert (same["bleu_delta_teacher"], same["bleu_p_teacher"]) == (0, 1)
        assert same["bleu_delta_control"] is None and same["bleu_p_control"] is None
    assert student["bleu_delta_teacher"] == pytest.approx(student["bleu"] - teacher["bleu"])
    assert student["bleu_p_teacher"] > 0.05
    assert student["bleu_delta_control"] == pytest.approx(student["bleu"] - control["bleu"])
    assert student["bleu_delta_control"] > 5 and student["bleu_p_control"] < 0.05
    assert control["bleu_delta_teacher"] < -5 and control["bleu_p_teacher"] < 0.05
    assert control["bleu_delta_control"] is None


def test_the_dev_set_is_scored_by_configuration_and_is_no_test_set(study):
    folder, rows, run = study
    on_dev = [row | {"test_set": "val", "split": "dev", "output": "bad.txt"} for row in rows[1:]]
    found = run("--dev", f"val={folder}/t.tsv.zst", rows=[*rows, *on_dev])
    assert [record["output"] for record in found] == [f"decoding/{row['output']}" for row in rows]
    assert {record["dev_set"] for record in found} == {"val"}
    assert found[0]["dev_bleu"] is None  # the slow one, which is not decoded there
    assert [record["dev_bleu"] for record in found[1:]] == [found[-1]["bleu"]] * 3
    with pytest.raises(UserError, match=r"all\.json: test set val is not among --test-sets"):
        run()


def learned(folder, system, more=None, **values):
    seen = {"pairs": 100, **(more or {})}
    about = {"shares": {name: 1 / len(seen) for name in seen}, "sentences": seen, "teachers": ["teacher"]}
    write_json(folder / f"{system}.json", about | {"system": system, "targets": "best", "drop_worst": 0} | values)
    return str(folder / f"{system}.json")


def test_a_student_is_compared_with_its_twin_and_else_the_sentences_are_counted(study):
    folder, (*teachers, student, control), run = study
    more = student | {"system": "tiny-more", "output": "good.txt"}
    far = control | {"system": "tiny-far-original", "output": "similar.txt"}
    original = {"teachers": [], "targets": "original"}
    files = [learned(folder, "tiny"), learned(folder, "tiny-more", {"text": 2000})]
    files += [learned(folder, "tiny-original", **original)]
    files += [learned(folder, "tiny-far-original", {"far": 30}, **original)]
    rows = [*teachers, student, more, far, control]
    found = {record["system"]: record for record in run("--learned", *files, rows=rows)}
    assert found["tiny"]["control"] == "tiny-original" and found["tiny"]["control_difference"] == "distillation"
    other = found["tiny-more"]
    assert other["control"] == "tiny-far-original"
    assert other["bleu_delta_control"] == pytest.approx(other["bleu"] - found["tiny-far-original"]["bleu"])
    assert other["control_difference"] == "distillation, 2,000 more sentences and 30 fewer sentences"
    assert found["teacher"]["control"] is found["tiny-original"]["control"] is None
    assert [record["control_difference"] for record in run()] == [None] * 6  # without --learned


def test_the_control_is_of_the_same_student_and_seed(study):
    _, (*teachers, student, control), run = study
    others = [control | {"system": "deep-original", "student": "deep"}]
    others += [control | {"system": "tiny-original-seed2", "seed": 2}, control]
    others += [student | {"system": "tiny-seed2", "seed": 2}]
    found = {record["system"]: record["control"] for record in run(rows=[*teachers, student, *others])}
    assert found["tiny"] == "tiny-original" and found["tiny-seed2"] == "tiny-original-seed2"


def test_a_student_without_a_control_of_its_own_has_one_of_its_shape(study):
    _, (*teachers, student, control), run = study
    direct = control | {"system": "direct-original", "student": "direct"}
    other = direct | {"system": "wide-original", "student": "wide", "shape": "1:1 d32 ff64 h2"}
    found = {record["system"]: record["control"] for record in run(rows=[*teachers, student, other, direct])}
    assert found["tiny"] == "direct-original"


@pytest.mark.slow
def test_only_equal_settings_are_compared_with_the_control(study):
    _, (*teachers, student, control), run = study
    for change in ({"beam_size": 1}, {"vocabulary_map": True}, {"compute_type": "int16"}, {"engine": "marian"}):
        assert run(rows=[*teachers, student | change, control])[2]["bleu_p_control"] is None
    found = run(rows=[teachers[1], student, control])  # without the teacher at full precision
    assert {record["bleu_delta_teacher"] for record in found} == {None}


def test_p_values_are_those_of_sacrebleu():
    systems = list(OUTPUTS.items())
    paired = PairedTest(systems, {"BLEU": BLEU(trg_lang="de")}, [REFERENCES], test_type="bs", n_samples=300)
    expected = [result.p_value for result in paired()[1]["BLEU"][1:]]
    scorer, bootstrap = Scorer(BLEU(trg_lang="de", references=[REFERENCES])), Bootstrap(len(REFERENCES), 300)
    statistics = {name: scorer.statistics(lines) for name, lines in OUTPUTS.items()}
    resamples = {name: bootstrap.scores(scorer, values) for name, values in statistics.items()}
    totals = {name: scorer.score(values.sum(0)) for name, values in statistics.items()}
    for name, expected_p in zip(("similar", "bad"), expected, strict=True):
        assert p_value(resamples[name], resamples["good"], totals[name] - totals["good"]) == pytest.approx(expected_p)


@pytest.mark.parametrize("metric", [BLEU(trg_lang="de", references=[REFERENCES]), CHRF(references=[REFERENCES])])
def test_sentences_that_were_seen_before_count_the_same(metric):
    scorer = Scorer(metric)
    mixed = [*OUTPUTS["bad"][:100], *OUTPUTS["good"][100:]]
    for lines in (OUTPUTS["good"], OUTPUTS["bad"], mixed, mixed):
        expected = metric.corpus_score(lines, None).score
        assert scorer.score(scorer.statistics(lines).sum(0)) == pytest.approx(expected)


def test_many_outputs_are_scored_in_time():
    """104 outputs of 1000 sentences in less than a minute."""
    references = REFERENCES * 5
    scorer, bootstrap = Scorer(BLEU(references=[references])), Bootstrap(len(references), 1000)
    start = time.process_time()
    for number in range(4):
        statistics = scorer.statistics(noisy(0.2, number) * 5)
        assert bootstrap.scores(scorer, statistics).shape == (1000,)
        assert np.ptp(bootstrap.scores(scorer, statistics)) > 0
    assert (time.process_time() - start) * 104 / 4 < 60


def test_an_output_of_another_length_and_an_unknown_test_set_are_refused(study):
    folder, rows, run = study
    (folder / "decoding/bad.txt").write_text("a\nb\n")
    with pytest.raises(UserError, match=r"bad\.txt: 2 lines, but its test set has 200; decode it again"):
        run()
    with pytest.raises(UserError, match=r"all\.json: test set u is not among --test-sets"):
        run(rows=[row | {"test_set": "u"} for row in rows])


def test_a_missing_tokenizer_is_named(study, monkeypatch):
    monkeypatch.setattr("findings.metrics.BLEU", Mock(side_effect=RuntimeError("no tokenizer for Japanese")))
    with pytest.raises(UserError, match="BLEU for the target language de: no tokenizer for Japanese"):
        study[-1]()
