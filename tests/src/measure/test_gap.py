"""The gap between teacher and students: scores, twins, tables and pictures."""

import copy
import itertools
import json
import os
import random
import re
import subprocess
import sys
from unittest.mock import Mock

import pytest
import warm
from models import folders, sentences
from sacrebleu import corpus_bleu

from formats import records
from measure import test_sets, training_differences
from nmt_frontier.errors import UserError
from nmt_frontier.files import sha256, write_json
from nmt_frontier.search import loading
from report import figure, teacher_student

WORDS = "der hund läuft durch das alte haus und sieht eine kleine katze auf dem sofa im garten".split()  # noqa: SIM905

TENSORFLOW = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
TEACHERS = ("one", "ensemble")
NOISE = {"one": 0.1, "ensemble": 0.05, "s-seed1": 0.15, "s-seed2": 0.15, "s-original-seed1": 0.4}
NOISE |= {"s-original-seed2": 0.4, "other": 0.6}  # share of replaced words by system


def noisy(lines, share, seed):
    """The lines with some words replaced."""
    generator = random.Random(seed)
    return [
        " ".join(generator.choice(WORDS) if generator.random() < share else word for word in line.split())
        for line in lines
    ]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A teacher, a student of two seeds and mixtures, one with another decoder, an ensemble without greedy output."""
    folder = tmp_path_factory.mktemp("gap")
    generator = random.Random(1)
    references = [" ".join(generator.choices(WORDS, k=generator.randint(4, 20))) for _ in range(120)]
    sources = [f"source {number} {'x ' * len(line.split())}".strip() for number, line in enumerate(references)]
    records.write(folder / "t.tsv.zst", zip(sources, references, strict=True))
    settings = {"units": 16, "steps": 2000}
    trained = {"student": "s", "settings": settings}
    other = {"role": "student", "student": "other", "settings": settings | {"decoder": "ssru"}}
    mixtures = {"distilled": ("s", "student"), "original": ("s-original", "control")}
    systems = [
        *({"system": name, "role": "teacher", "student": name, "mixture": None, "seed": None} for name in TEACHERS),
        *(
            {"system": f"{name}-seed{seed}", "mixture": mixture, "seed": seed, "role": role, **trained}
            for mixture, (name, role) in mixtures.items()
            for seed in (1, 2)
        ),
        {"system": "other", "mixture": "distilled", "seed": 2, **other},
    ]
    for number, (system, share) in enumerate(NOISE.items()):
        (folder / system).mkdir()
        for beam in (1, 4) if system != "ensemble" else (4,):
            lines = noisy(references, share, 10 * number + (beam if system != "one" else 1))
            (folder / system / f"beam{beam}.t.txt").write_text("".join(f"{line}\n" for line in lines))
    distilled = {"shares": {"pairs": 0.5, "text": 0.5}, "sentences": {"pairs": 1000, "text": 300}}
    distilled |= {"teachers": ["ensemble"]}
    original = {"shares": {"pairs": 1.0}, "teachers": [], "sentences": {"pairs": 1000}}
    for name in (name for name in NOISE if name.startswith("s-")):
        learned = original if "original" in name else distilled
        write_json(folder / name / "learned.json", learned | {"system": name, "targets": "best", "drop_worst": 0})
    task = {"systems": systems, "teacher": "ensemble", "teacher_beam": 4, "beam_sizes": [1, 4]}
    task |= {"target_language": "de", "config_hash": "abc"}
    command = [warm.python(), "-m", "measure.teacher_student", json.dumps(task), "--outputs", folder]
    command += ["--test-sets", f"t={folder}/t.tsv.zst", "--learned", *folder.glob("s-*/learned.json")]
    command += ["--output", folder / "gap.json"]
    subprocess.run(command, check=True, capture_output=True)
    return folder, teacher_student.read(folder / "gap.json"), references


def test_scores_are_sacrebleus(study):
    folder, found, references = study
    for row in found["test_sets"]["t"]["beams"]["1"]["systems"]:
        lines = (folder / row["system"] / "beam1.t.txt").read_text().splitlines()
        assert row["bleu"] == pytest.approx(corpus_bleu(lines, [references]).score)
        teacher = (folder / "ensemble/beam4.t.txt").read_text().splitlines()
        assert row["agreement_bleu"] == pytest.approx(corpus_bleu(lines, [teacher]).score)
        assert row["agreement_exact"] == sum(a == b for a, b in zip(lines, teacher, strict=True)) / 120
        assert sum(part["sentences"] for part in row["by_length"]) == 120
        ends = [part["words"] for part in row["by_length"]]
        assert len(ends) == 4 and all(one[1] < two[0] for one, two in itertools.pairwise(ends))
        lowercased = corpus_bleu(lines, [references], lowercase=True).score
        assert row["bleu_lowercased"] == pytest.approx(lowercased)
        assert len({part["bleu"] for part in row["by_length"]}) > 1  # each of its own sentences

    beams = found["test_sets"]["t"]["beams"]  # an ensemble has no greedy output
    assert [row["system"] for row in beams["1"]["systems"]][:2] == ["one", "s-seed1"]
    assert [row["system"] for row in beams["4"]["systems"]][:2] == ["one", "ensemble"]
    itself = beams["4"]["systems"][1]
    compared = [itself[name] for name in ("agreement_bleu", "bleu_delta_teacher", "bleu_p_teacher")]
    assert compared == [pytest.approx(100), 0, 1]


def test_seeds_are_put_together_and_tested_one_by_one(study):
    found = study[1]["test_sets"]["t"]["beams"]["1"]
    groups = {(group["student"], group["mixture"]): group for group in found["groups"]}
    seeds = [row["bleu"] for row in found["systems"] if row["student"] == "s" and row["mixture"] == "distilled"]
    group = groups["s", "distilled"]
    assert group["seeds"] == 2 and group["bleu"] == pytest.approx(sum(seeds) / 2)
    assert (group["bleu_min"], group["bleu_max"]) == (min(seeds), max(seeds))
    (pair,) = found["comparisons"]
    assert (pair["mixture"], pair["than"], pair["seeds"]) == ("distilled", "original", [1, 2])
    assert (pair["twins"], pair["difference"]) == (False, "distillation and 300 more sentences")
    assert group["sentences"] == 1300 and groups["s", "original"]["sentences"] == 1000
    assert min(pair["bleu_deltas"]) > 10 and max(pair["bleu_p"]) < 0.01


def test_students_that_differ_in_one_setting_are_tested_with_the_same_seed(study):
    result = study[1]["test_sets"]["t"]["beams"]["1"]
    (pair,) = result["changes"]
    assert [pair[name] for name in ("student", "than", "mixture", "seeds")] == ["other", "s", "distilled", [2]]
    assert (pair["difference"], pair["instead"]) == ("ssru decoder", "self-attention")
    bleu = {row["system"]: row["bleu"] for row in result["systems"]}
    assert pair["bleu_deltas"] == [pytest.approx(bleu["other"] - bleu["s-seed2"])] and pair["bleu_p"][0] < 0.01
    assert "settings" not in result["systems"][-1]
    (row,) = (row for row in teacher_student.pairs(study[1]["test_sets"]["t"], "changes") if row["search"] == "greedy")
    assert row["difference"] == "ssru decoder rather than self-attention" and "*" in row["BLEU"]


EVERY = {"steps": 5000, "checkpoint_steps": 100}


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        ({"steps": 5000}, ("5,000 updates", "2,000")),
        ({"units": 32}, ("32 units", "16")),
        ({"cell": "lstm"}, ("LSTM", "GRU")),
        ({"share_embeddings": True}, ("share embeddings yes", "no")),
        ({"dropout": 0.2}, ("dropout 0.2", "0.1")),
        ({"then": [{"steps": 10}]}, None),
        (EVERY, ("5,000 updates, a checkpoint every 100", "2,000, a checkpoint every 50")),
        ({"units": 32, "steps": 5000}, None),
        ({"learning_rate": 0.1, "checkpoint_steps": 100}, None),
        ({"decoder": "self-attention"}, None),
        ({}, None),
    ],
)
def test_the_one_setting_apart(changed, difference):
    settings = {"steps": 2000, "checkpoint_steps": 50, "units": 16, "cell": "gru", "dropout": 0.1, "then": []}
    assert training_differences.setting_difference(settings | changed, settings) == difference


def test_the_part_of_the_gap_that_is_closed(study):
    found = study[1]["test_sets"]["t"]["beams"]
    (teacher,) = (row["bleu"] for row in found["4"]["systems"] if row["system"] == "ensemble")
    groups = {group["mixture"]: group["bleu"] for group in found["1"]["groups"] if group["student"] == "s"}
    (row,) = teacher_student.closed(study[1], "t", "1")
    assert (row["mixture"], row["than"], row["twins"]) == ("distilled", "original", False)
    assert row["gap"] == pytest.approx(teacher - groups["original"])
    assert row["won"] == pytest.approx(groups["distilled"] - groups["original"])
    assert row["closed"] == pytest.approx(row["won"] / row["gap"])
    assert row["p"] == max(found["1"]["comparisons"][0]["bleu_p"])
    above = copy.deepcopy(study[1])  # without a gap no share of it is closed
    for row in above["test_sets"]["t"]["beams"]["1"]["systems"]:
        row["bleu_delta_teacher"] = 1.0
    (row,) = teacher_student.closed(above, "t", "1")
    assert (row["gap"], row["closed"]) == (-1.0, None)


def test_translations_that_no_beam_found_are_named_by_what_they_are(study):
    assert "to ensemble with\nbeam 4; a star" in teacher_student.table(study[1])
    answered = copy.deepcopy(study[1])
    beams = [beam for test_set in answered["test_sets"].values() for beam in test_set["beams"].values()]
    for row in itertools.chain(answered["systems"], *(beam["systems"] for beam in beams)):
        if row["system"] == "ensemble":
            row["search"] = "the best of 4 answers"
    assert "to ensemble with\nthe best of 4 answers; a star" in teacher_student.table(answered)
    found = {(row["system"], row["search"]) for row in teacher_student.scores(answered["test_sets"]["t"])}
    assert {("ensemble", "the best of 4 answers"), ("one", "beam 4"), ("one", "greedy")} <= found
    assert ("ensemble", "beam 4") not in found
    assert "dotted: ensemble, the best of 4 answers" in teacher_student.draw(answered).axes[0].get_xlabel()


def test_the_sentences_that_differ_most(study):
    different = study[1]["test_sets"]["t"]["most_different"]
    assert different["system"] == "s-seed1" and len(different["sentences"]) == 10
    likeness = [sentence["chrf"] for sentence in different["sentences"]]
    assert likeness == sorted(likeness) and all(s["teacher"] != s["student"] for s in different["sentences"])


def test_outputs_take_as_many_cores_as_threads_are_given(tmp_path, monkeypatch, capsys):
    records.write(tmp_path / "t.tsv.zst", [(line, line) for line in sentences(5)])
    for pool in TENSORFLOW:
        monkeypatch.setenv(pool, "9")
    monkeypatch.setattr(loading, "load", load := Mock(wraps=loading.load))
    call = ["outputs", "--model", folders()["float32"], "--test-sets", f"t={tmp_path}/t.tsv.zst", "--beam-sizes", 1, 2]
    for threads in (1, 2):
        more = ["--threads", threads, "--output", tmp_path / f"of-{threads}"]
        monkeypatch.setattr(sys, "argv", [*map(str, [*call, *more])])
        test_sets.main()
        assert {os.environ[pool] for pool in TENSORFLOW} == {str(threads)}
    searches = [call.args[1] for call in load.call_args_list]
    assert [(search.workers, search.threads) for search in searches] == [(1, 1), (1, 1), (2, 1), (2, 1)]
    texts = [(tmp_path / f"of-{threads}/beam2.t.txt").read_text() for threads in (1, 2)]
    assert texts[0] == texts[1] and texts[0].count("\n") == 5
    assert "t, beam 2: 5 of 5 sentences" in capsys.readouterr().err


def test_groups_look_as_their_systems_do_in_the_front(study):
    bars, _ = teacher_student.draw(study[1]).axes
    names = [text.get_text().split("\n")[0] for text in bars.get_yticklabels()]
    dots = [line for line in bars.lines if line.get_marker() != "None"]  # the other one is the teacher's beam search
    looks = {names[int(dot.get_ydata()[0])]: (dot.get_color(), dot.get_marker()) for dot in dots}
    expected = (figure.TEACHER, figure.STUDENTS[0], figure.CONTROL, figure.STUDENTS[1])
    assert looks == dict(zip(("one", "s, distilled", "s, original", "other, distilled"), expected, strict=True))


@pytest.mark.slow
def test_table_and_plot(study, tmp_path):
    folder, found, _ = study
    text, checksum = teacher_student.table(found), sha256(folder / "t.tsv.zst")
    assert (found["config_hash"], found["test_sets"]["t"]["sha256"]) == ("abc", checksum)
    assert text.endswith(f". Configuration abc; t sha256 {checksum[:12]}.\n")
    assert "| distillation and 300 more sentences |" in text and "| 1,300 " in text and "only twins" in text.lower()
    assert "s, distilled" in text and "+" in text and text.count("| reference ") == 10
    assert found["test_sets"]["t"]["beams"]["1"]["systems"][0]["bleu_signature"] in text
    plot = [warm.python(), "-m", "report", "gap", "--input", folder / "gap.json", "--output", tmp_path / "x.svg"]
    subprocess.run(plot, check=True, capture_output=True)
    assert {"s, original", "1,000 sentences"} <= {*re.findall(">([^<>]+)</", (tmp_path / "x.svg").read_text())}
    (tmp_path / "x.json").write_text("[]")
    table = [warm.python(), "-m", "report", "gap", "--input", tmp_path / "x.json", "--output", tmp_path / "y.md"]
    done = subprocess.run(table, capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "not made by measure.teacher_student" in done.stderr
    (tmp_path / "x.json").write_text('{"test_sets": {"t": {"beams": {}}}}')
    with pytest.raises(UserError, match=r"x\.json: no beam of the test set t was scored"):
        teacher_student.read(tmp_path / "x.json")


def test_only_changes_may_be_missing_from_a_file():
    """Files of earlier versions have no changes; one without comparisons is another file."""
    assert list(teacher_student.pairs({"beams": {"1": {"comparisons": []}}}, "changes")) == []
    with pytest.raises(KeyError):
        list(teacher_student.pairs({"beams": {"1": {"changes": []}}}, "comparisons"))
