import csv
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measured import measured, replaced
from reports import FIXTURE, ROOT, TIMED, run

from decode.engines import ENGINES
from findings import best_model, captions, comparison
from findings.comparison import matching
from findings.cost import NO_PRICE
from formats import measurement
from nmt_frontier.errors import UserError
from nmt_frontier.files import write_text
from report import measurements, recommendation, samples, terminal
from report.headline import headline


@pytest.fixture
def records():
    return measurement.read(FIXTURE)


@pytest.fixture
def timed(records):
    return comparison.of_test_set(records, TIMED)


def test_the_fixture_says_that_it_is_one(records):
    assert all(
        "fixture" in text
        for record in records
        for text in (record.study, record.conditions.commit, record.conditions.cpu)
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "line 1 is not JSON"),
        ("[]", "not a list of measurements"),
        ("{}", "not a list of measurements"),
        (
            '[{"study": "x", "system": "y"}]',
            "record 1 has .*missing required field `role`",
        ),
        (None, "no such file"),
    ],
)
def test_a_file_that_holds_no_measurements(tmp_path, text, message):
    path = tmp_path / "m.json"
    if text:
        path.write_text(text)
    with pytest.raises(UserError, match=message) as error:
        measurement.read(path)
    assert str(path) in str(error.value)


def test_a_test_set_that_was_not_measured(records):
    message = "nothing was measured on the test set wmt; there are test_2016_flickr, test_2017"
    with pytest.raises(UserError, match=message):
        comparison.of_test_set(records, "wmt")


def test_systems_come_teacher_first_and_control_last(timed):
    assert list(comparison.systems(list(reversed(timed)))) == ["teacher", "tiny", "deep", "deep-control"]


CONFIGURATIONS = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["teacher", "student", "control"]),
            "bleu": st.sampled_from([20.0, 20.5, 21.0, 21.4]),
            "dev_bleu": st.sampled_from([None, 22.0, 22.4, 22.5, 22.6, 23.0]),
            "source_words_per_second": st.sampled_from([100.0, 200.0, 300.0]),
            "noisy": st.booleans(),
        }
    ),
    min_size=1,
    max_size=8,
)


def beats(one, other, quality):
    """Faster and no worse, or as fast and better."""
    own, others = [(record.words_per_second, record.value(quality)) for record in (one, other)]
    return own != others and own[0] >= others[0] and own[1] >= others[1]


@given(CONFIGURATIONS)
def test_no_student_beats_the_best_on_the_dev_set_and_test_scores_decide_nothing(found):
    found = [measured(system=str(number), **values) for number, values in enumerate(found)]
    best = best_model.best(found)
    rivals = best_model.candidates(found)
    assert (best is None) == (not rivals)
    if best:
        assert best.system.role != "teacher" and not any(beats(other, best, "dev_bleu") for other in rivals)
        assert best.scores.dev_bleu >= max(other.scores.dev_bleu for other in rivals) - best_model.TOLERANCE
        assert not best.noisy or all(other.noisy for other in rivals)
        blind = best_model.best([replaced(record, bleu=1.0) for record in found])
        assert blind.system.name == best.system.name
        beating = best_model.beating(found, best)
        assert all(beats(other, best, "bleu") and other.scores.dev_bleu < best.scores.dev_bleu for other in beating)
    else:
        assert best_model.without_best(found)


def test_best_gives_up_quality_for_speed_up_to_the_tolerance(records, timed):
    best = best_model.best(records)
    assert captions.title(best) == "deep int8 greedy map" and best.test_set == TIMED
    below = best_model.TOLERANCE - 0.2  # it is 0.35 below the highest dev BLEU
    worse = [replaced(r, dev_bleu=r.scores.dev_bleu - below) if r is best else r for r in timed]
    assert best_model.best(worse).words_per_second < best.words_per_second
    faster = [replaced(r, dev_bleu=best.scores.dev_bleu) if r.system.name == "tiny" else r for r in timed]
    assert best_model.best(faster).system.name == "tiny"


def test_a_tenth_more_speed_is_not_worth_half_a_bleu(timed):
    best = best_model.best(timed)
    dev_bleu, speed = best.scores.dev_bleu - 0.45, best.words_per_second
    rival = replaced(best, system="tiny", dev_bleu=dev_bleu, source_words_per_second=speed * 1.1)
    assert best_model.best([best, rival]) is best
    assert best_model.best([best, replaced(rival, source_words_per_second=speed * 1.5)]) is not best


def test_the_page_on_results_says_the_rule():
    assert " ".join((ROOT / "docs/results.md").read_text().split()).count(best_model.RULE) == 1


def test_a_study_without_a_best_model_says_why(timed):
    teachers = matching(timed, role="teacher")
    assert best_model.best(teachers) is None and "no student was measured" in best_model.without_best(teachers)
    old = [replaced(record, dev_set=None, dev_bleu=None) for record in timed]
    assert best_model.best(old) is None and "BLEU on the dev set" in best_model.without_best(old)
    quoted = headline(old)["best"]
    assert (quoted["system"], quoted["reason"]) == (None, best_model.without_best(old))


def test_where_the_test_set_disagrees_with_the_dev_set_it_is_said(timed, tmp_path):
    best = best_model.best(timed)
    assert best_model.verdict(timed, best).endswith("no faster student has as much.")
    other = [replaced(r, bleu=40.0) if captions.title(r) == "tiny int8 greedy map" else r for r in timed]
    assert best_model.best(other) == best
    assert "tiny int8 greedy map (40.00). The two sets disagree." in best_model.verdict(other, best)
    assert headline(other)["best"]["beaten_by"] == ["tiny int8 greedy map"]


def test_records_without_a_score_are_neither_best_nor_on_the_front(timed):
    unscored = [replaced(r, bleu=None, speed_only=True) if r.decoding.compute_type == "int8" else r for r in timed]
    assert best_model.best(unscored).decoding.compute_type == "float32"
    assert all(record.decoding.compute_type == "float32" for record in comparison.on_front(unscored))


def test_a_type_that_the_cpu_replaces_shows(timed):
    record = matching(timed, compute_type="int8")[0]
    assert captions.compute_type(replaced(record, effective_compute_type="int8_float32")) == "int8"
    record = replaced(record, compute_type="int16", effective_compute_type="int8_float32")
    assert captions.configuration(record).startswith("int16 (as int8) ")


def test_a_type_that_saturates_shows(timed):
    exact = matching(timed, compute_type="int8")[0]
    record = replaced(exact, library="oneDNN", int8_saturates=True)
    assert captions.compute_type(record) == "int8 (saturates)"
    note = "saturates: oneDNN cuts off sums of 8-bit products here"
    assert note in captions.marks([exact, record]) and note not in captions.marks([exact])


def test_loss_is_against_the_best_search_of_the_same_weights(timed):
    exact = {"system": "deep", "compute_type": "float32", "vocabulary_map": False}
    for engine in ("opennmt-tf", "ctranslate2"):
        chosen = matching(timed, **exact, engine=engine, beam_size=4)[0]
        worse = [r if r is chosen else replaced(r, bleu=min(r.scores.bleu, 20.0)) for r in timed]
        fast = matching(worse, system="deep", compute_type="int8", beam_size=1, vocabulary_map=True)[0]
        assert comparison.best_search(worse, "deep") is chosen
        assert comparison.loss(worse, fast) == chosen.scores.bleu - fast.scores.bleu
        assert measurements.row(fast, worse)["loss"] == f"{chosen.scores.bleu - fast.scores.bleu:.2f}"
        assert f"{captions.title(chosen)} ({chosen.scores.bleu:.2f})" in measurements.notes(worse)
        assert comparison.loss(worse, chosen) == 0


def test_without_a_search_in_float32_there_is_no_loss(timed):
    few = [r for r in timed if r.decoding.compute_type == "int8" or r.decoding.vocabulary_map]
    assert {row["loss"] for row in measurements.rows(few)} == {"–"}
    assert comparison.loss(timed, replaced(timed[0], bleu=None)) is None


def test_csv_has_every_record_and_field(records):
    rows = list(csv.DictReader(measurements.as_csv(records).splitlines()))
    assert len(rows) == len(records) and list(rows[0]) == measurement.header(records)
    for row, record in zip(rows, records, strict=True):
        assert float(row["bleu"]) == record.scores.bleu and json.loads(row["cores"]) == list(record.decoding.cores)
        assert json.loads(row["vocabulary_map"]) is record.decoding.vocabulary_map


def test_csv_quotes_text_and_leaves_out_what_is_not_there():
    rows = list(csv.DictReader(measurements.as_csv([measured(seed=1), measured(mixture="x,y")]).splitlines()))
    assert [(row["seed"], row["mixture"]) for row in rows] == [("1", ""), ("", "x,y")]


def test_rows_are_sorted_by_speed_and_compared_with_their_own_baseline(timed):
    rows = measurements.rows(timed)
    speeds = [float(row["source words/s"].replace(",", "")) for row in rows]
    assert speeds == sorted(speeds, reverse=True)
    fast = {"engine": "ctranslate2", "compute_type": "int8", "beam_size": 1, "vocabulary_map": True}
    (deep,), (base,) = (matching(timed, system="deep", **way) for way in (fast, {"engine": "opennmt-tf"}))
    expected = deep.words_per_second / base.words_per_second
    assert measurements.row(deep, timed)["×"] == f"{expected:.1f}" and measurements.row(base, timed)["×"] == "1.0"
    rest = [record for record in timed if record.decoding.engine != "opennmt-tf"]
    assert {row["×"] for row in measurements.rows(rest)} == {"–"}


def test_a_multiple_of_a_disturbed_baseline_has_its_mark(timed):
    quiet, loud = (
        [
            replaced(record, noise=0.1, others=others if record.decoding.engine == "opennmt-tf" else 0.0)
            for record in timed
        ]
        for others in (0.0, 0.5)
    )
    deep = [(record.system.name, record.decoding.engine) for record in timed].index(("deep", "ctranslate2"))
    assert measurements.row(quiet[deep], quiet)["×"][-1].isdigit()
    assert not measurements.row(loud[deep], loud)["×"][-1].isdigit()
    assert "times as fast as the same model" in recommendation.speed(quiet, quiet[deep])
    noisy = [replace(record, noisy=record.decoding.engine == "opennmt-tf") for record in loud]
    assert "times as fast" not in recommendation.speed(noisy, noisy[deep])


def test_cost_is_in_core_seconds_with_the_cpu_and_the_reason_why_there_are_no_usd(timed, tmp_path):
    row = measurements.row(timed[0], timed)
    assert row["core-s/M words"] == f"{timed[0].core_seconds_per_million_words:,.1f}"
    assert row["USD/M words"] == "–" and f"USD: {NO_PRICE}." in measurements.notes(timed)
    priced = [replaced(record, usd_per_million_words=0.00123, price="1 USD an hour") for record in timed]
    assert measurements.row(priced[0], priced)["USD/M words"] == "0.00123"
    assert "USD: 1 USD an hour." in measurements.notes(priced)
    assert timed[0].conditions.cpu in measurements.notes(timed) and f"on {timed[0].conditions.cpu}" in terminal.summary(
        timed, tmp_path
    )


@pytest.mark.parametrize(
    ("delta", "p", "text"), [(-1.2, 0.001, "-1.20*"), (-1.2, 0.05, "-1.20"), (0.3, 0.2, "+0.30"), (None, None, "–")]
)
def test_significance_mark(delta, p, text):
    assert measurements.difference(measured(bleu_delta_teacher=delta, bleu_p_teacher=p), "teacher") == text


def test_comet_has_a_column_and_a_note_only_where_it_was_measured(records, timed):
    assert "COMET" not in measurements.table(records) and "comet" not in measurements.as_csv(records)
    scored = [replaced(timed[0], comet=81.234, comet_signature="model:x|sha256:0"), *timed[1:]]
    cells = [row["COMET"] for row in measurements.rows(scored)]
    assert sorted(cells) == ["81.23", *["–"] * (len(timed) - 1)]
    assert list(measurements.rows(scored)[0]).index("COMET") == list(measurements.rows(timed)[0]).index("chrF") + 1
    assert " COMET: `model:x|sha256:0`." in measurements.notes(scored)
    row, *_ = csv.DictReader(measurements.as_csv(scored).splitlines())
    assert (row["comet"], row["comet_signature"]) == ("81.234", "model:x|sha256:0")


def test_markdown_has_a_table_for_each_test_set(records):
    text = measurements.table(records)
    for name in comparison.test_sets(records):
        part = text.split(f"## {name}\n")[1].split("\n## ")[0]
        assert part.count("\n| ") == 1 + len(comparison.of_test_set(records, name))
        assert "tok:13a" in part and "p < 0.05" in part


def test_notes_say_of_losses_and_differences_only_what_there_is(timed):
    rounded = [record for record in timed if record.decoding.compute_type == "int8"]
    alone = [replaced(record, bleu_delta_teacher=None, bleu_delta_control=None) for record in rounded]
    assert "Loss: " in measurements.notes(timed) and "Loss: " not in measurements.notes(rounded)
    assert "Differences" in measurements.notes(timed) and "Differences" not in measurements.notes(alone)
    of_teacher = [replaced(record, bleu_delta_control=None) for record in timed]
    assert "are to the teacher (teacher) with" in measurements.notes(of_teacher)
    assert "a control" not in measurements.notes(of_teacher)


def test_notes_say_what_sets_a_student_and_its_control_apart(timed):
    words = "distillation and 44,929 more sentences"
    assert f"(deep to deep-control: {words}; only twins," in measurements.notes(timed)
    untold = [replaced(record, control_difference=None) for record in timed]
    assert "(deep to deep-control: what sets their trainings apart was not recorded;" in measurements.notes(untold)
    assert "deep-control" not in measurements.notes(matching(timed, role="teacher"))
    record = comparison.full_precision(timed, "deep")
    expected = {"bleu": record.scores.bleu_delta_control, "p": record.scores.bleu_p_control}
    found = headline(timed)["test_sets"][TIMED]["to_control"]
    assert found == {"deep": {"control": "deep-control", "difference": words, **expected}}


def test_full_precision_is_that_of_an_engine_which_has_the_system(timed):
    exact = comparison.full_precision(timed, "deep")
    assert exact.decoding.engine == "ctranslate2" and (exact.decoding.compute_type, exact.decoding.vocabulary_map) == (
        "float32",
        False,
    )
    baseline = [record for record in timed if record.decoding.engine != "ctranslate2"]
    native = replaced(exact, engine="native")
    assert comparison.full_precision([*baseline, native], "deep") is native
    assert comparison.full_precision(baseline, "deep").decoding.engine == "opennmt-tf"


def test_terminal_fits_and_names_what_is_there(tmp_path, records):
    text = terminal.summary(records, tmp_path)
    others = [replaced(r, compute_type="int16") if r.decoding.compute_type == "int8" else r for r in records]
    assert max(map(len, (text + terminal.summary(others, tmp_path)).splitlines())) <= 120
    assert text.count("baseline") == 4 and best_model.RULE in " ".join(text.split())
    assert all(part not in text for part in ("Sentences", "Worth opening", "To translate"))
    best = best_model.best(comparison.of_test_set(records, TIMED))
    assert f"\n\nbest student: {captions.title(best)}\n" in text
    model = tmp_path / "models" / best.system.name / best.decoding.compute_type
    model.mkdir(parents=True)
    write_text(tmp_path / "report/report.html", "")
    text = terminal.summary(records, tmp_path)
    assert f"\n\nWorth opening:\n  {tmp_path}/report/report.html  " in text and "front.html" not in text
    assert f"\n\nTo translate with {captions.title(best)}:\n" in text and f" --model {model}\n" in text


def test_the_command_that_is_printed_decodes_as_measured(tmp_path, timed):
    for record in timed:
        (tmp_path / captions.model_folder(record)).mkdir(parents=True, exist_ok=True)
    beam = [r for r in timed if r.decoding.beam_size == 4 and not r.decoding.vocabulary_map]
    assert "--beam-size 4 --no-vocabulary-map\n" in terminal.translating(beam, tmp_path)
    *_, command = terminal.summary(timed, tmp_path).splitlines()
    assert "--beam-size" not in command and "--no-vocabulary-map" not in command


def test_the_command_that_is_printed_runs_without_an_active_environment(tmp_path, timed, monkeypatch):
    (tmp_path / captions.model_folder(best_model.best(timed))).mkdir(parents=True)
    beside = Path(sys.executable).with_name("nmt-frontier")
    for path, program in (("/nowhere", beside), (str(beside.parent), "nmt-frontier")):
        monkeypatch.setenv("PATH", path)
        assert f'echo "..." | {program} translate' in terminal.translating(timed, tmp_path)


def taught(records, bleu=0.0):
    """The records of a study whose teacher has this much more BLEU on the dev set."""
    return [
        replaced(record, teacher="teacher", dev_bleu=record.scores.dev_bleu + bleu)
        if record.system.role == "teacher" and record.scores.dev_bleu
        else replaced(record, teacher="teacher")
        for record in records
    ]


def test_the_best_student_is_weighed_against_the_teacher(tmp_path, records):
    known = taught(records)
    student, teacher = best_model.best(known), best_model.best_of_teacher(known)
    assert captions.title(teacher) == "teacher int8 greedy map" and best_model.to_ship(known) is student
    sentence = best_model.beside_teacher(known)
    assert sentence == (
        "Where twice the speed counts as one BLEU more, the teacher's best way is teacher int8 greedy map; the student "
        f"is 2.35 times as fast, with 0.61 BLEU less on val and 0.61 BLEU less on {TIMED}."
    )
    assert round(student.words_per_second / teacher.words_per_second, 2) == 2.35
    assert recommendation.answer(known).sentences[-1] == sentence
    text = " ".join(terminal.summary(known, tmp_path).split())
    beside = (
        "It is 1.44 BLEU below the teacher's best search (OpenNMT-tf float32 beam 4) and 2.35 times as fast as the "
    )
    assert f"{beside}teacher in int8 greedy map. {sentence}" in text and "to ship" not in text


def test_a_teacher_that_is_worth_more_is_the_better_choice(tmp_path, records):
    known = taught(records, 1.0)
    student, teacher = best_model.best(known), best_model.best_of_teacher(known)
    assert best_model.to_ship(known) is teacher and student == best_model.best(taught(records))
    assert best_model.to_ship(taught(records, 0.5)).system.role == "student"
    sentence, other, *_ = (answer := recommendation.answer(known)).sentences
    assert sentence == (
        "Where twice the speed counts as one BLEU more, the teacher is the better choice: teacher int8 greedy map has "
        f"35.87 BLEU on val, 33.77 on {TIMED}, and translates 4,194 source words a second. The best student is 2.35 "
        f"times as fast, with 1.61 BLEU less on val and 0.61 BLEU less on {TIMED}."
    )
    assert (answer.ship, answer.command) == (captions.title(teacher), captions.decoding_command(teacher))
    assert other == "The best student is deep int8 greedy map." and answer.teacher
    choices = {row["model"]: row["choice"].split(", ")[0] for row in recommendation.rows(known)[:2]}
    assert choices == {captions.title(teacher): "to ship", captions.title(student): "best student"}
    (tmp_path / captions.model_folder(teacher)).mkdir(parents=True)
    text = terminal.summary(known, tmp_path)
    assert sentence in " ".join(text.split()) and "front, to ship\n" in text and "front, best\n" in text
    assert text.endswith(f" --model {tmp_path}/models/teacher/int8\n")


def test_a_teacher_without_a_dev_set_and_one_without_students_are_not_weighed(tmp_path, records):
    old = [replaced(record, dev_bleu=None) if record.system.role == "teacher" else record for record in records]
    alone = [record for record in records if record.system.role == "teacher"]
    assert best_model.to_ship(old) is best_model.best(old) is not None and best_model.to_ship(alone) is None
    for known in (old, alone):
        said = " ".join(recommendation.answer(known).sentences)
        assert best_model.beside_teacher(known) is None and f"Where {best_model.PRICE}" not in said
    assert "best student: none: no student was measured" in terminal.summary(alone, tmp_path)


@pytest.fixture
def finished(tmp_path, records):
    """A study of 40 sentences with its translations and samples."""
    known = [replaced(record, teacher="teacher", sentences=40) for record in records]
    for record in known:
        lines = "".join(f"{captions.title(record)} says {number}\n" for number in range(1, 41))
        write_text(tmp_path / record.decoding.output, lines)
    drawn = [samples.Sample(2 * n + 1, f"source {2 * n + 1}", f"reference {2 * n + 1}", {}) for n in range(20)]
    samples.write(tmp_path / "report/samples.json", samples.Samples(TIMED, drawn))
    return known


def test_the_terminal_shows_three_sentences(tmp_path, finished):
    text = terminal.sentences(finished, tmp_path)
    who = "Teacher: teacher OpenNMT-tf float32 beam 4. Student: deep int8 greedy map. Control: deep-control int8 greedy"
    said = (
        f"Sentences 11, 21, 31 of {TIMED}, drawn at random near a quarter, a half and three quarters of it. {who} map."
    )
    assert said in " ".join(text.split()) and text.count("source ") == 6
    assert text.endswith(
        """
source        source 31
reference     reference 31
teacher       teacher OpenNMT-tf float32 beam 4 says 31
student       deep int8 greedy map says 31
control       deep-control int8 greedy map says 31
"""
    )
    assert text in terminal.summary(finished, tmp_path)


def test_sentences_of_studies_that_lack_some_systems(tmp_path, finished):
    def spoken(roles):
        known = [record for record in finished if record.system.role in roles]
        return re.findall("^(teacher|student|control) .* says 31$", terminal.summary(known, tmp_path), re.MULTILINE)

    for roles in (["teacher"], ["student"], ["control"], ["teacher", "student"], ["student", "control"]):
        assert spoken(roles) == roles
    best = best_model.best(finished)
    others = [replaced(record, control=None) if record is best else record for record in finished]
    assert terminal.sentences(others, tmp_path) == terminal.sentences(finished, tmp_path)  # another student's control
    (tmp_path / best.decoding.output).unlink()
    assert spoken(["teacher", "student"]) == ["teacher"]
    few = [samples.Sample(3, "source", "reference", {})]
    samples.write(tmp_path / "report/samples.json", samples.Samples(TIMED, few))
    assert terminal.sentences(finished, tmp_path).count("source ") == 1


def test_a_long_line_is_cut_and_commands_to_a_terminal_are_not_sent(tmp_path, finished):
    path = tmp_path / best_model.best(finished).decoding.output
    said = ["wau" * 300, "\x1b[2Jwau wau " * 100, "", *["wau"] * 37]
    path.write_text("".join(f"{text}\n" for text in said))
    drawn = [samples.Sample(number, "source", "reference", {}) for number in (1, 2, 3)]
    samples.write(tmp_path / "report/samples.json", samples.Samples(TIMED, drawn))
    text = terminal.sentences(finished, tmp_path)
    shown = re.findall(r"^student  .*\n(?: {14}.*\n)*", text, re.MULTILINE)
    assert [lines.count("\n") for lines in shown] == [3, 3] and all(lines.endswith("…\n") for lines in shown)
    assert "\nstudent\ncontrol" in text  # an empty translation
    assert max(map(len, text.splitlines())) <= 120 and "\x1b" not in text


def test_the_folder_of_a_model_is_named_as_its_engine_names_it(tmp_path, timed):
    for engine in ENGINES.values():
        record = replaced(timed[0], engine=engine.name, compute_type="int8")
        assert Path(captions.model_folder(record)).name == engine.folder("int8")


def test_headline(timed):
    figures = headline(timed)["test_sets"][TIMED]
    best = comparison.best_search(timed, "teacher")
    assert figures["bleu"]["teacher"]["bleu"] == best.scores.bleu
    assert figures["bleu"]["teacher"]["decoding"] == captions.configuration(best)
    roles = {"teacher": "teacher", "deep": "student", "tiny": "student", "deep-control": "control"}
    assert {name: system["role"] for name, system in figures["bleu"].items()} == roles
    best, quoted = best_model.best(timed), headline(timed)["best"]
    assert quoted["rule"] == best_model.RULE and quoted["beaten_by"] == []
    assert (quoted["system"], quoted["decoding"]) == (best.system.name, captions.configuration(best))
    assert (quoted["dev_bleu"], quoted["bleu"]) == (best.scores.dev_bleu, {TIMED: best.scores.bleu})
    assert quoted["times_baseline"] == comparison.speed_up(timed, best)
    assert quoted["core_seconds_per_million_words"] == best.core_seconds_per_million_words
    assert quoted["cpu"] == best.conditions.cpu


def test_the_speed_up_is_that_of_the_middle_run_as_on_the_page():
    base = measured(engine="opennmt-tf", compute_type="float32", beam_size=4, text_seconds_runs=[4.0, 9.0, 6.0])
    record = measured(engine="native", text_seconds_runs=[1.0, 1.5, 2.0])
    assert comparison.speed_up([base, record], record) == comparison.faster(record, base).middle == 4.0
    once = replaced(base, text_seconds_runs=[4.0])
    ratio = record.words_per_second / base.words_per_second
    assert comparison.speed_up([once, record], record) == ratio


def test_differences_are_of_pairs_that_differ_in_nothing_else(timed):
    changed = []
    for record in timed:
        worse = (
            record.system.name == "tiny" and record.decoding.compute_type == "int8" and record.decoding.beam_size == 4
        )
        changed.append(replaced(record, bleu=20.0 - (5.25 if worse and record.decoding.vocabulary_map else 0.0)))
    figures = headline(changed)["test_sets"][TIMED]
    where = {"bleu": -5.25, "system": "tiny", "decoding": "int8 beam 4 map"}
    assert figures["int8_minus_float32"]["beam 4"] == where
    assert figures["map_minus_no_map"]["beam 4"] == where
    assert figures["int8_minus_float32"]["beam 1"]["bleu"] == figures["map_minus_no_map"]["beam 1"]["bleu"] == 0


def test_contrasts_are_all_pairs_that_differ_in_one_setting():
    """Two ways have a partner in float32; the third, with a beam of 4, has none with that beam."""
    ways = [("int8", 1), ("float32", 1), ("int8", 4), ("int16", 1)]
    records = [measured(compute_type=type, beam_size=beam, bleu=20.0 + n) for n, (type, beam) in enumerate(ways)]
    (eight,) = comparison.contrasts(records, "compute_type", "int8", "float32")
    assert eight == (records[0], records[1]) and eight.bleu == -1.0
    assert eight.speed == comparison.faster(records[0], records[1])
    (sixteen,) = comparison.contrasts(records, "compute_type", "int16", "float32")
    assert sixteen.bleu == 2.0
    assert comparison.contrasts(records, "vocabulary_map", True, False) == []


def test_headline_without_map_int8_students_or_full_precision(timed):
    few = matching(timed, engine="opennmt-tf")
    figures = headline(few)["test_sets"][TIMED]
    assert figures["int8_minus_float32"] == figures["map_minus_no_map"] == {"beam 4": None}
    assert headline(few)["best"]["system"] is None
    assert figures["bleu"]["deep"]["bleu"] == matching(few, system="deep")[0].scores.bleu


def test_command_line(tmp_path):
    paths = [tmp_path / name for name in ("all.csv", "headline.json", "table.md")]
    calls = [
        run("report.measurements", "--measurements", FIXTURE, "--csv", paths[0], "--headline", paths[1]),
        run("report", "table", "--input", FIXTURE, "--output", paths[2]),
    ]
    assert all(done.returncode == 0 and done.stderr == "" for done in calls)
    assert all(path.stat().st_size for path in paths)
    done = run("report.terminal", "--measurements", FIXTURE)
    assert done.returncode == 0 and done.stderr == "" and "deep-control" in done.stdout


def test_command_line_reports_mistakes_without_a_traceback(tmp_path):
    done = run("report.terminal", "--measurements", tmp_path / "none.json")
    assert done.returncode == 1 and done.stderr.startswith("error: ") and "Traceback" not in done.stderr
    done = run("report.measurements", "--measurements", FIXTURE)
    assert done.returncode == 2 and "nothing to do" in done.stderr


def test_captions_say_of_every_row_how_often_it_was_measured(timed):
    some = [replaced(record, runs=3) for record in timed]
    assert "medians of 3 runs: " in measurements.notes(some) and captions.ONCE not in str(measurements.rows(some))
    some[1] = replaced(some[1], runs=1)
    assert "medians of 3 runs (¹: a single run): " in measurements.notes(some)
    marked = [row for row in measurements.rows(some) if row["source words/s"].endswith(captions.ONCE)]
    assert marked == [measurements.row(some[1], some)]
    once = [replaced(record, runs=1) for record in some]
    assert "a single run: " in measurements.notes(once) and captions.ONCE not in str(measurements.rows(once))
    assert captions.repeats([5, 1, 3]) == "medians of 3 or 5 runs, or one run"
