"""Scores are sacreBLEU's own, and comparisons compare what they say."""

import json
import random
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
from measured import measured
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

from common.errors import UserError
from common.files import write_json
from formats import measurement, records
from measure import score
from measure.bootstrap import Bootstrap, Scorer, p_value

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
    """Two records of a teacher, one of a student and one of its control; a function that scores them."""
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
    measurement.write(tmp_path / "decoding/all.json", [measured(beam_size=4, **row) for row in rows])

    def run(*options):
        sys.argv = ["score", "--records", f"{tmp_path}/decoding/all.json", "--test-sets", f"t={tmp_path}/t.tsv.zst"]
        sys.argv += [
            "--target-language",
            "de",
            "--samples",
            "300",
            "--teacher",
            "teacher",
            "--output",
            f"{tmp_path}/measurements.json",
            *options,
        ]
        score.main()
        return json.loads((tmp_path / "measurements.json").read_text())

    return tmp_path, run


def test_scores_are_those_of_the_sacrebleu_command(study):
    folder, run = study
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
    _, run = study
    teacher, teacher_int8, student, control = run()
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
    folder, run = study
    path = folder / "decoding/all.json"
    rows = json.loads(path.read_text())
    shutil.copy(folder / "t.tsv.zst", folder / "val.tsv.zst")
    on_dev = [row | {"test_set": "val", "split": "dev", "output": "bad.txt"} for row in rows[1:]]
    path.write_text(json.dumps([*rows, *on_dev]))
    found = run("--dev", f"val={folder}/val.tsv.zst")
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
    folder, run = study
    path = folder / "decoding/all.json"
    rows = json.loads(path.read_text())
    student, control = rows[2:]
    more = student | {"system": "tiny-more", "output": "good.txt"}
    far = control | {"system": "tiny-far-original", "output": "similar.txt"}
    path.write_text(json.dumps([*rows[:2], student, more, far, control]))
    files = [
        learned(folder, "tiny"),
        learned(folder, "tiny-more", {"text": 2000}),
        learned(folder, "tiny-original", teachers=[], targets="original"),
        learned(folder, "tiny-far-original", {"far": 30}, teachers=[], targets="original"),
    ]
    found = {record["system"]: record for record in run("--learned", *files)}
    assert found["tiny"]["control"] == "tiny-original" and found["tiny"]["control_difference"] == "distillation"
    other = found["tiny-more"]
    assert other["control"] == "tiny-far-original" and other["bleu_delta_control"] == pytest.approx(
        other["bleu"] - found["tiny-far-original"]["bleu"]
    )
    assert other["control_difference"] == "distillation, 2,000 more sentences and 30 fewer sentences"
    assert found["teacher"]["control"] is found["tiny-original"]["control"] is None
    alone = run()  # not told what they learned from
    assert [record["control_difference"] for record in alone] == [None] * 6


def test_the_control_is_of_the_same_student_and_seed(study):
    folder, run = study
    path = folder / "decoding/all.json"
    rows = json.loads(path.read_text())
    student, control = rows[2:]
    others = [
        control | {"system": "deep-original", "student": "deep"},
        control | {"system": "tiny-original-seed2", "seed": 2},
    ]
    path.write_text(json.dumps([*rows[:2], student, *others, control, student | {"system": "tiny-seed2", "seed": 2}]))
    found = {record["system"]: record["control"] for record in run()}
    assert found["tiny"] == "tiny-original" and found["tiny-seed2"] == "tiny-original-seed2"


def test_only_equal_settings_are_compared_with_the_control(study):
    folder, run = study
    path = folder / "decoding/all.json"
    rows = json.loads(path.read_text())
    for change in ({"beam_size": 1}, {"vocabulary_map": True}, {"compute_type": "int16"}, {"engine": "marian"}):
        path.write_text(json.dumps([*rows[:2], rows[2] | change, rows[3]]))
        assert run()[2]["bleu_p_control"] is None
    path.write_text(json.dumps(rows[1:]))  # without the teacher at full precision
    assert {record["bleu_delta_teacher"] for record in run()} == {None}


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


def test_an_output_of_another_length_is_refused(study):
    folder, run = study
    (folder / "decoding/bad.txt").write_text("a\nb\n")
    with pytest.raises(UserError, match=r"bad\.txt: 2 lines, but its test set has 200; decode it again"):
        run()


def test_an_unknown_test_set_is_refused(study):
    folder, run = study
    path = folder / "decoding/all.json"
    path.write_text(path.read_text().replace('"test_set": "t"', '"test_set": "u"'))
    with pytest.raises(UserError, match=r"all\.json: test set u is not among --test-sets"):
        run()


def test_a_missing_tokenizer_is_named(study, monkeypatch):
    _, run = study

    def missing(**options):
        raise RuntimeError("no tokenizer for Japanese")

    monkeypatch.setattr("formats.metrics.BLEU", missing)
    with pytest.raises(UserError, match="BLEU for the target language de: no tokenizer for Japanese"):
        run()
