"""The training driver: schedules as the papers write them, runs that are never mixed up."""

import json
import math
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import tensorflow as tf

from distill import sample
from distill.learning import left_out, mixture, reads
from distill.leftovers import groups, longest, rows
from distill.schedule import Journal, Passes, Phase, phases
from distill.train import run_folder
from distill.training import dataset, opennmt_parameters, shuffle_buffer, start_from, watched
from distill.validation import stalled
from formats import records
from formats.errors import UserError
from formats.files import read_json
from formats.shape import shape

VALUES = {"encoder_layers": 1, "decoder_layers": 1, "units": 16, "ffn_units": 32, "heads": 2}
SHAPE = shape(VALUES)
TOKENS = {"batch_tokens": 240, "batch_sentences": None, "max_length": 150}
SENTENCES = {"batch_tokens": None, "batch_sentences": 16, "max_length": 150}
TRAINING = {
    "learning_rate": 0.002,
    "warmup_steps": 20,
    "label_smoothing": 0.1,
    "decay": "inverse_sqrt",
    "optimizer": "adam",
}


@pytest.mark.parametrize("decay", ["inverse_sqrt", "cosine"])
def test_the_learning_rate_peaks_after_the_warm_up(decay):
    from opennmt.schedules.lr_schedules import make_learning_rate_schedule

    made = opennmt_parameters({**TRAINING, "decay": decay}, 100)
    schedule = make_learning_rate_schedule(made["learning_rate"], made["decay_type"], made["decay_params"])
    rates = [float(schedule(step)) for step in range(1, 101)]
    assert max(rates) == pytest.approx(0.002, rel=0.11)  # OpenNMT-tf's cosine starts at step 0, not after the warm-up
    assert abs(rates.index(max(rates)) - 19) <= 1
    if decay == "inverse_sqrt":
        assert rates[79] == pytest.approx(0.002 * math.sqrt(20 / 80), rel=0.02)
    else:
        assert rates[-1] < 1e-5


def test_a_run_is_continued_only_under_the_same_settings(tmp_path):
    basic = {"steps": 10, "dropout": 0.1, "decay": "constant", "then": [], "average_last": 2, "averages": [1, 4]}
    settings = {"shape": {"units": 16}, "training": basic, "seed": 1, "data": ["a"]}

    def folder(**changes):
        return run_folder(tmp_path, {**settings, "training": basic | changes})

    assert folder(steps=20) == folder(average_last=4) == folder(threads=2) == folder()  # prolonged, averaged otherwise
    assert folder(device="cuda") == folder()  # and continued on a GPU
    assert folder(average_last=8) != folder()  # so many checkpoints were not kept
    # Other steps are another rate at every step, or a second phase that begins elsewhere.
    assert folder(decay="cosine", steps=20) != folder(decay="cosine")
    assert folder(then=[{"steps": 5}], steps=20) != folder(then=[{"steps": 5}])
    for key, value in {"seed": 2, "data": ["b"], "shape": {"units": 8}, "training": basic | {"dropout": 0}}.items():
        assert run_folder(tmp_path, {**settings, key: value}) != folder()


@pytest.mark.parametrize("pairs", [1, 60, 500_000, 500_001, 605_848, 999_999, 1_000_001, 4_468_840])
def test_a_pass_reads_no_pair_twice(pairs):
    """OpenNMT-tf's random_shard: parts of the size of the buffer begin evenly spread over the file."""
    buffer = shuffle_buffer(pairs)
    parts = -(-pairs // buffer)
    begins = np.linspace(0, pairs, num=parts, endpoint=False, dtype=np.int64)
    read = sum(min(int(begin) + buffer, pairs) - int(begin) for begin in begins)
    assert pairs <= read <= pairs + parts and buffer <= 500_000


def test_what_the_trainer_sees_has_the_weights(tmp_path):
    """Batches that OpenNMT-tf makes of two epochs: shares of the corpora at any moment, and pairs a batch."""
    import opennmt

    words = ["<blank>", "<s>", "</s>", "a", "b", "x"]
    (tmp_path / "vocabulary.txt").write_text("".join(f"{word}\n" for word in words))
    for name, size in (("a", 3000), ("b", 500)):  # b is smaller than its share and comes again and again
        records.write(tmp_path / f"{name}.tsv.zst", ((f"{name}{' x' * (n % 9)}", "x") for n in range(size)))
    corpora, epochs = [tmp_path / "a.tsv.zst", tmp_path / "b.tsv.zst"], []
    for number in (1, 2):
        path = tmp_path / f"epoch.{number}.tsv.zst"
        sample.draw(corpora, [5, 2], 2100, 1, number, path)
        epochs.append(read_json(records.info(path)))
        for side, name in enumerate(("source", "target")):
            (tmp_path / f"{number}.{name}").write_text("".join(f"{record[side]}\n" for record in records.read(path)))

    (tmp_path / "model_description.py").write_text(SHAPE.model_description(0.1))
    model = opennmt.load_model(str(tmp_path))
    vocabulary = str(tmp_path / "vocabulary.txt")
    model.initialize({"source_vocabulary": vocabulary, "target_vocabulary": vocabulary})

    def one_pass(number):
        files = [tmp_path / f"{number % 2 + 1}.{name}" for name in ("source", "target")]
        return dataset(model, TOKENS | {"batch_tokens": 60}, *files, 120)

    journal = Journal(tmp_path / "journal.json")
    seen, of_a = 0, 0
    for count, (features, _) in enumerate(Passes(one_pass, journal, (0, 0)), 1):
        first = features["ids"].numpy()[:, 0]
        seen, of_a = seen + len(first), of_a + int((first == words.index("a")).sum())
        if count % 100 == 0:
            share = 5 / 7
            assert abs(of_a - share * seen) < 5 * (share * (1 - share) * seen) ** 0.5
        if count == 1000:
            break
    number, batch = journal.position(1000)
    passes = number + batch / journal.epoch_batches()
    assert passes == pytest.approx(seen / 2100, rel=0.03) and number >= 2  # both epochs, and the first one again
    about = mixture(epochs, [0, 0], passes)
    assert about["shares"] == {"a": round(5 / 7, 6), "b": round(2 / 7, 6)}
    assert about["pairs"] == pytest.approx(seen, rel=0.03)


@pytest.mark.parametrize(("asked", "full"), [(TOKENS, 240), (SENTENCES, 16), (TOKENS | {"max_length": 9}, 240)])
def test_what_is_left_over_at_the_end_of_a_pass_comes_together(asked, full, tmp_path):
    """All sentences once, as without, in fewer batches; OpenNMT-tf ends a pass with a batch for every length."""
    import opennmt

    (tmp_path / "vocabulary.txt").write_text("<blank>\n<s>\n</s>\n" + "".join(f"w{n}\n" for n in range(400)))
    generator = random.Random(1)
    pairs = [" ".join(f"w{generator.randrange(400)}" for _ in range(1 + min(n % 23, n % 97))) for n in range(400)]
    (tmp_path / "text").write_text("".join(f"{pair}\n" for pair in pairs))
    (tmp_path / "model_description.py").write_text(SHAPE.model_description(0.1))
    model = opennmt.load_model(str(tmp_path))
    vocabulary = str(tmp_path / "vocabulary.txt")
    model.initialize({"source_vocabulary": vocabulary, "target_vocabulary": vocabulary})
    made = dataset(model, asked, tmp_path / "text", tmp_path / "text", 400)

    batches = [*made]
    for source, target in batches:
        for tokens, length, ids in zip(
            source["tokens"].numpy(), source["length"].numpy(), source["ids"].numpy(), strict=True
        ):
            assert all(tokens[:length]) and not any(tokens[length:]) and not ids[length:].any()
        assert (target["length"].numpy() == source["length"].numpy() + 1).all()
    read = [b" ".join(filter(None, row)).decode() for source, _ in batches for row in source["tokens"].numpy()]
    assert sorted(read) == sorted(pair for pair in pairs if len(pair.split()) <= asked["max_length"])
    missed = left_out(tmp_path / "text", tmp_path / "text", asked["max_length"])
    assert missed == len(pairs) - len(read) and bool(missed) == (asked["max_length"] == 9)
    sizes = [rows(batch) * (longest(batch) if asked["batch_tokens"] else 1) for batch in batches]
    assert max(sizes) <= full and sum(size < full / 2 for size in sizes) <= 1
    assert len(batches) < sum(1 for _ in made._batches)
    assert not made._batches.options().autotune.enabled  # whose thread could hold up the end of a pass for a minute
    alone = groups(batches[:5], 1, "tokens" if asked["batch_tokens"] else "sentences")
    assert [longest(group[-1]) for group in alone] == [longest(batch) for batch in batches[:5]]


def test_what_is_too_long_or_empty_on_either_side_is_counted(tmp_path):
    (tmp_path / "source").write_text("a b c\na\n\na b\na b\n")
    (tmp_path / "target").write_text("a\na b c\na\n\na b\n")
    assert [left_out(tmp_path / "source", tmp_path / "target", longest) for longest in (1, 2, 3)] == [5, 4, 2]


@pytest.mark.parametrize("passes, times", [(0.5, [0.5, 0, 0]), (3, [1, 1, 1]), (4.25, [2, 1.25, 1])])
def test_epochs_are_read_in_turn(passes, times):
    assert [reads(passes, number, 3) for number in range(3)] == times


def entry(steps=None, epochs=None, accumulate=1, then=(), every=None):
    both = {"checkpoint_steps": every, "validation_steps": every}
    return {"steps": steps, "epochs": epochs, "accumulate": accumulate, "then": list(then), **both}


def test_phases_in_steps_and_in_epochs():
    then = [entry(epochs=2, accumulate=16, every=5), entry(steps=7)]
    schedule = phases(entry(steps=100, then=then, every=50), lambda: 160)
    assert schedule == [Phase(100, 1, 50, 50), Phase(20, 16, 5, 5), Phase(7, 1, 50, 50)]
    assert phases(entry(epochs=0.001, every=9), lambda: 10) == [Phase(1, 1, 9, 9)]


def test_positions_after_a_phase_that_stopped_early(tmp_path):
    schedule = [Phase(100, 1, 50, 50), Phase(10, 16, 4, 4)]
    journal = Journal(tmp_path / "journal.json")
    journal.stop(0, 40)
    journal.finish_pass(0, 30)
    journal.finish_pass(1, 33)
    journal.finish_pass(1, 99)  # known already
    again = Journal(tmp_path / "journal.json")  # after a kill
    assert again.ends(schedule) == [40, 50]
    assert again.batches(42, schedule) == 40 + 2 * 16
    assert again.position(72) == (2, 72 - 63)
    assert again.position(30) == (1, 0)
    assert again.updates_left(10, 0, schedule) == 30 + 160
    due = [step for step in range(1, 51) if again.validation_due(step, schedule)]
    assert due == [40, 44, 48, 50]


@pytest.mark.parametrize(
    "scores, over",
    [([1, 2, 3], False), ([3, 2, 3], True), ([3, 1, 2], True), ([3, 1, 3.1], False), ([3, 2], False), ([], False)],
)
def test_a_phase_ends_when_dev_bleu_stalls(scores, over):
    assert stalled(scores, 2) == over


def test_a_diverging_loss_stops_the_training():
    fine = [9 - number / 100 for number in range(500)]
    assert list(watched(iter(fine))) == fine
    with pytest.raises(RuntimeError, match=r"diverged: loss .* after 4"):
        list(watched(iter([*fine, *[8.0] * 200])))


STUDY = entry(steps=24, then=[entry(steps=4, accumulate=3)]) | TRAINING | TOKENS | {
    "batch_tokens": 40,
    "dropout": 0.2,
    "checkpoint_steps": 6,
    "validation_steps": 12,
    "patience": None,
    "average_last": 2,
    "averages": [1, 2, 10],
    "device": "cpu",
    "threads": 1,
}  # fmt: skip
SHORT = STUDY | {"then": [], "steps": 8, "decay": "constant", "checkpoint_steps": 3} | {
    "averages": [1, 2, 3, 4],
    "average_last": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Two epochs of 60 pairs, in pieces."""

    folder = tmp_path_factory.mktemp("data")
    words = "ein kleiner hund sieht den grossen ball und eine katze schläft auf dem alten sofa im haus"
    words = words.split()
    sides = [(words[i % 7 : i % 7 + 3 + i % 5], words[i % 5 : i % 5 + 2 + i % 6]) for i in range(120)]
    pairs = [(" ".join(source), " ".join(target)) for source, target in sides]
    records.write(folder / "train.tsv.zst", pairs)
    records.write(folder / "dev.tsv.zst", pairs[:8])
    command = [sys.executable, "-m", "distill.vocabulary", "--corpora", folder / "train.tsv.zst", "--languages"]
    command += ["de", "en", "--pieces", "110", "--sentences", "1000"]
    command += ["--model", folder / "model", "--vocabulary", folder / "vocabulary"]
    subprocess.run(command, check=True, capture_output=True)
    for epoch in (1, 2):
        path = folder / f"epoch.{epoch}.tsv.zst"
        sample.draw([folder / "train.tsv.zst"], [1], 60, 1, epoch, path)
        encoded(path, folder / "model", folder / f"{epoch}.source", folder / f"{epoch}.target")
    encoded(folder / "dev.tsv.zst", folder / "model", folder / "dev.source", folder / "dev.target")
    return folder


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """A finished training of one phase, with the checkpoints 1, 3, 6 and 8."""
    folder = tmp_path_factory.mktemp("trained")
    subprocess.run(training(data, folder, None, SHORT), check=True, capture_output=True)
    return folder


def encoded(path, model, *outputs):
    command = [sys.executable, "-m", "distill.encode", "--inputs", path, "--model", model, "--outputs", *outputs]
    subprocess.run(command, check=True, capture_output=True)


def training(data, folder, values=None, settings=STUDY, *options):
    both = {side: [data / f"{epoch}.{side}" for epoch in (1, 2)] for side in ("source", "target")}
    return [sys.executable, "-m", "distill.train", "--system", "x", "--role", "student",
            "--shape", json.dumps(values or VALUES), "--training", json.dumps(settings), "--source", *both["source"],
            "--target", *both["target"], "--epochs", *(data / f"epoch.{epoch}.json" for epoch in (1, 2)),
            "--dev", data / "dev.tsv.zst", "--dev-source", data / "dev.source", "--vocabulary", data / "vocabulary",
            "--sentencepiece", data / "model", "--threads", "1", "--runs", folder, "--averaged", folder / "averaged",
            "--learning", folder / "learning.json", *options]  # fmt: skip


def weights(folder):
    """Those of the averaged model, by name."""
    from opennmt.utils.checkpoint import get_checkpoint_variables
    from tensorflow.train import latest_checkpoint

    return {k: v for k, v in get_checkpoint_variables(latest_checkpoint(str(folder))).items() if k.startswith("model")}


def kill(command, folder, step):
    """Run a training until it has the checkpoint of this step."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 600
    while not list(folder.glob(f"run-*/ckpt-{step}.index")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_a_killed_training_ends_with_the_weights_of_one_that_was_not(data, tmp_path):
    """Killed in each phase: same batches, same dropout, same schedule."""
    subprocess.run(training(data, tmp_path / "whole"), check=True, capture_output=True)
    for step in (12, 24):
        kill(training(data, tmp_path / "killed"), tmp_path / "killed", step)
        assert not (tmp_path / "killed/averaged").exists()
    subprocess.run(training(data, tmp_path / "killed"), check=True, capture_output=True)

    expected, found = weights(tmp_path / "whole/averaged"), weights(tmp_path / "killed/averaged")
    assert expected.keys() == found.keys() and all((expected[key] == found[key]).all() for key in expected)
    whole, killed = (read_json(tmp_path / name / "learning.json") for name in ("whole", "killed"))
    for key in ("validation", "phases", "steps", "averages", "seen"):
        assert whole[key] == killed[key]
    assert {row["step"]: row["loss"] for row in whole["training"]} == {
        row["step"]: row["loss"] for row in killed["training"]
    }
    assert whole["phases"] == [{"end": 24, "accumulate": 1}, {"end": 28, "accumulate": 3}] and whole["steps"] == 28
    assert [row["checkpoints"] for row in whole["averages"]] == [1, 2]
    assert whole["seen"]["passes"] > 2


def test_a_training_starts_from_the_weights_of_another(data, trained, tmp_path):
    """With a rate of next to nothing they stay as they are, whatever the seed; killed or not, a training ends alike."""
    still = SHORT | {"steps": 2, "optimizer": "sgd", "learning_rate": 1e-30}
    start = ["--start-from", trained / "averaged", "--seed", "7"]
    subprocess.run(training(data, tmp_path / "still", None, still, *start), check=True, capture_output=True)
    parent, child = weights(trained / "averaged"), weights(tmp_path / "still/averaged")
    assert parent.keys() == child.keys() and all((parent[key] == child[key]).all() for key in parent)

    longer = SHORT | {"steps": 12, "checkpoint_steps": 6}
    kill(training(data, tmp_path / "killed", None, longer, *start), tmp_path / "killed", 6)
    for name in ("whole", "killed"):
        subprocess.run(training(data, tmp_path / name, None, longer, *start), check=True, capture_output=True)
    whole, killed = weights(tmp_path / "whole/averaged"), weights(tmp_path / "killed/averaged")
    assert all((whole[key] == killed[key]).all() for key in whole)
    assert not all((whole[key] == parent[key]).all() for key in whole)
    learning = read_json(tmp_path / "whole/learning.json")
    assert learning["steps"] == 12 and learning["start_from"] == str(trained / "averaged")  # its own schedule


@pytest.mark.parametrize("values", [VALUES | {"ffn_units": 64}, VALUES | {"encoder_layers": 2}])
def test_weights_of_another_model_are_refused(values, tmp_path):
    import opennmt
    from opennmt.utils.checkpoint import Checkpoint

    (tmp_path / "vocabulary.txt").write_text("<blank>\n<s>\n</s>\na\n")
    models = []
    for number, built in enumerate((SHAPE, SHAPE, shape(values))):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "model_description.py").write_text(built.model_description(0.1))
        models.append(opennmt.load_model(str(tmp_path / str(number))))
        models[-1].initialize({f"{side}_vocabulary": str(tmp_path / "vocabulary.txt") for side in ("source", "target")})
        models[-1].create_variables()
    first, same, other = models
    Checkpoint(first, model_dir=str(tmp_path / "averaged")).save(4)
    assert not all((a == b).numpy().all() for a, b in zip(first.weights, same.weights, strict=True))
    start_from(same, tmp_path / "averaged")
    assert all((a == b).numpy().all() for a, b in zip(first.weights, same.weights, strict=True))
    for model, folder in ((other, "averaged"), (same, "0")):
        with pytest.raises(UserError, match="not the weights of a model of this shape and vocabulary"):
            start_from(model, tmp_path / folder)


def test_an_average_of_one_is_the_last_checkpoint(trained):
    from opennmt.utils.checkpoint import get_checkpoint_variables

    (run,) = trained.glob("run-*")
    last, averaged = get_checkpoint_variables(str(run / "ckpt-8")), weights(trained / "averaged")
    assert all((value == last[key]).all() for key, value in averaged.items())


def test_a_recurrent_student_is_trained_and_watched(data, tmp_path):
    """CTranslate2 has no GRU: OpenNMT-tf decodes the dev set. And each phase ends as dev BLEU stalls."""
    values = {"cell": "gru", "encoder_layers": 2, "decoder_layers": 1, "units": 16, "embedding_units": 8}
    settings = STUDY | {
        "batch_tokens": None,
        "batch_sentences": 16,
        "max_length": 6,
        "label_smoothing": 0,
        "patience": 1,
        "validation_steps": 2,
        "optimizer": "sgd",
        "learning_rate": 1e-9,
        "decay": "constant",
    }
    subprocess.run(training(data, tmp_path, values, settings), check=True, capture_output=True)
    learning = read_json(tmp_path / "learning.json")
    assert learning["shape"] == "GRU 2:1 d16 e8"
    assert [row["step"] for row in learning["validation"]] == [2, 4, 6, 8] and [
        phase["end"] for phase in learning["phases"]
    ] == [4, 8]
    epochs = [(data / f"{epoch}.source", data / f"{epoch}.target") for epoch in (1, 2)]
    missed = [left_out(*sides, 6) for sides in epochs]
    assert 0 < sum(missed) < 100 and learning["left_out"] == {"pairs": sum(missed), "of": 120}
    assert learning["seen"]["pairs"] == pytest.approx(learning["seen"]["passes"] * (120 - sum(missed)) / 2, rel=0.1)


@pytest.mark.parametrize(
    "model, message",
    [
        (
            "TransformerTinny",
            "shape TransformerTinny: The model 'TransformerTinny' does not exist in the model catalog",
        ),
        ("none.py", "none.py: No such file or directory"),
    ],
)
def test_models_that_are_not_there(model, message, data, tmp_path):
    done = subprocess.run(training(data, tmp_path, {"model": model}), capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1] == f"error: {message}"


def test_divergence_is_told(data, tmp_path):
    settings = STUDY | {"learning_rate": 1e9, "optimizer": "sgd", "decay": "constant", "steps": 400}
    done = subprocess.run(training(data, tmp_path, None, settings), capture_output=True, text=True)
    assert done.returncode == 1
    assert "diverged" in done.stderr.splitlines()[-1] and "a lower learning_rate" in done.stderr.splitlines()[-1]
    again = subprocess.run(training(data, tmp_path, None, settings), capture_output=True, text=True)
    assert again.returncode == 1 and "diverged" in again.stderr and "in an earlier start" in again.stderr
    assert not (tmp_path / "averaged").exists()


def test_a_gpu_that_is_not_there_is_told(data, tmp_path):
    if tf.config.list_physical_devices("GPU"):
        pytest.skip("TensorFlow finds a GPU here")
    done = subprocess.run(training(data, tmp_path, None, STUDY | {"device": "cuda"}), capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "TensorFlow finds no GPU; install tensorflow in place of tensorflow-cpu" in done.stderr.splitlines()[-1]


def test_fewer_steps_than_were_made_are_told(data, trained):
    done = subprocess.run(training(data, trained, None, SHORT | {"steps": 4}), capture_output=True, text=True)
    assert done.returncode == 1 and "has 8 steps, more than asked for; delete the folder" in done.stderr


def test_averages_leave_out_the_first_step(trained):
    """OpenNMT-tf saves it always; it is hardly better than random weights."""
    assert list(trained.glob("run-*/ckpt-1.index"))
    assert [row["checkpoints"] for row in read_json(trained / "learning.json")["averages"]] == [1, 2, 3]


def test_a_catalogue_model_that_ctranslate2_lacks_is_told_before_training(data, tmp_path):
    done = subprocess.run(training(data, tmp_path, {"model": "NMTSmallV1"}), capture_output=True, text=True)
    assert done.returncode == 1 and "CTranslate2 has no such model" in done.stderr.splitlines()[-1]
