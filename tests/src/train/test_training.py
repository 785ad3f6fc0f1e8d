"""Trainings as a user starts them, but with TensorFlow loaded already (forked.py): killed, continued, refused."""

import json
import re
import shutil
import signal
import subprocess
import time

import forked
import numpy as np
import pytest
import tensorflow as tf
import warm
from training_settings import TOKENS, TRAINING, VALUES, entry, phase

from export import read_opennmt_tf
from formats import records
from nmt_frontier import cpu
from nmt_frontier.files import read_json
from train import sample
from train.training_record import left_out

pytestmark = pytest.mark.slow

STUDY = entry(steps=24, then=[phase(steps=4, accumulate=3)]) | TRAINING | TOKENS | {
    "batch_tokens": 40, "dropout": 0.2, "checkpoint_steps": 6, "validation_steps": 12, "patience": None,
    "average_last": 2, "averages": [1, 2, 10], "moving_average": None, "alignment": None, "sampling": None,
    "device": "cpu", "precision": "float32", "threads": 1,
}  # fmt: skip
SHORT = STUDY | {"then": [], "steps": 8, "decay": "constant", "checkpoint_steps": 3}
SHORT |= {"averages": [1, 2, 3, 4], "average_last": 1}


@pytest.fixture(scope="module", autouse=True)
def plain_graphs():
    """Trainings that take less time, but for tests with optimised graphs; those of whole studies are optimised."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(forked.PLAIN_GRAPHS, "1")
        yield


@pytest.fixture
def optimised_graphs(monkeypatch):
    monkeypatch.delenv(forked.PLAIN_GRAPHS)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Two epochs of 60 pairs, in pieces."""

    def encoded(path, *outputs):
        called("train.encode", "--inputs", path, "--model", folder / "model", "--outputs", *outputs)

    folder = tmp_path_factory.mktemp("data")
    words = "ein kleiner hund sieht den grossen ball und eine katze schläft auf dem alten sofa im haus"
    words = words.split()
    sides = [(words[i % 7 : i % 7 + 3 + i % 5], words[i % 5 : i % 5 + 2 + i % 6]) for i in range(120)]
    pairs = [(" ".join(source), " ".join(target)) for source, target in sides]
    records.write(folder / "train.tsv.zst", pairs)
    records.write(folder / "dev.tsv.zst", pairs[:8])
    called("train.vocabulary", "--corpora", folder / "train.tsv.zst", "--languages", "de", "en", "--pieces", "110",
           "--sentences", "1000", "--model", folder / "model", "--vocabulary", folder / "vocabulary")  # fmt: skip
    for epoch in (1, 2):
        path = folder / f"epoch.{epoch}.tsv.zst"
        sample.draw([folder / "train.tsv.zst"], [1], 60, 1, epoch, path)
        encoded(path, folder / f"{epoch}.source", folder / f"{epoch}.target")
    encoded(folder / "dev.tsv.zst", folder / "dev.source", folder / "dev.target")
    return folder


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """A finished training of one phase, with the checkpoints 1, 3, 6 and 8."""
    folder = tmp_path_factory.mktemp("trained")
    finish(data, folder, None, SHORT)
    return folder


@pytest.fixture
def copied(trained, tmp_path):
    """A copy of the finished training without its average."""
    return shutil.copytree(trained, tmp_path / "copy", ignore=shutil.ignore_patterns("averaged"))


def called(*command):
    subprocess.run([warm.python(), "-m", *command], check=True, capture_output=True)


def training(data, folder, values=None, settings=STUDY, *options, seed=1, **others):
    asked = {"system": "x", "role": "student", "shape": values or VALUES, "training": settings, "seed": seed, **others}
    sides = {side: [data / f"{epoch}.{side}" for epoch in (1, 2)] for side in ("source", "target")}
    return ["train.train", json.dumps(asked), "--source", *sides["source"],
            "--target", *sides["target"], "--epochs", *(data / f"epoch.{epoch}.json" for epoch in (1, 2)),
            "--dev", data / "dev.tsv.zst", "--dev-source", data / "dev.source", "--vocabulary", data / "vocabulary",
            "--sentencepiece", data / "model", "--threads", "1", "--runs", folder, "--averaged", folder / "averaged",
            "--learning", folder / "learning.json", *options]  # fmt: skip


def run(*arguments, **seed):
    """A training that ends, well or not; arguments as of ``training``."""
    return forked.Command(*training(*arguments, **seed)).wait()


def finish(*arguments, **seed):
    done = run(*arguments, **seed)
    assert done.returncode == 0, done.stderr[-3000:]


def refused(message, *arguments):
    """A training that ends with this message in one line."""
    done = run(*arguments)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert re.search(message, done.stderr.splitlines()[-1]), done.stderr


def same(first, second):
    """Whether weights are equal to the bit."""
    return first.keys() == second.keys() and all((first[key] == second[key]).all() for key in first)


def weights(folder):
    """The weights of the averaged model, by name."""
    from opennmt.utils.checkpoint import get_checkpoint_variables
    from tensorflow.train import latest_checkpoint

    return {k: v for k, v in get_checkpoint_variables(latest_checkpoint(str(folder))).items() if k.startswith("model")}


def checkpoint(process, folder, step):
    """Wait until a training has the checkpoint of this step."""
    deadline = time.monotonic() + 600
    while not list(folder.glob(f"run-*/ckpt-{step}.index")):
        assert process.running() and time.monotonic() < deadline
        time.sleep(0.01)


def left_by_kills(command, folder, *steps):
    """Run a training to its end. Returns the folders that kills at the checkpoints of these steps would leave.

    A stopped process leaves the same files as a killed one, and need not start again.
    """
    process, left = forked.Command(*command), []
    for step in steps:
        checkpoint(process, folder, step)
        process.kill(signal.SIGSTOP)
        assert not (folder / "averaged").exists()
        left.append(shutil.copytree(folder, folder.with_name(f"{folder.name}-{step}")))
        process.kill(signal.SIGCONT)
    done = process.wait()
    assert done.returncode == 0, done.stderr[-3000:]
    return left


@pytest.mark.usefixtures("optimised_graphs")
def test_a_killed_training_ends_with_the_weights_of_one_that_was_not(data, tmp_path):
    """Killed in each phase, or ended at the first checkpoint: same batches, same dropout, same schedule."""
    first, second = left_by_kills(training(data, tmp_path / "finished"), tmp_path / "finished", 12, 24)
    process = forked.Command(*training(data, early := tmp_path / "early"))
    checkpoint(process, early, 1)
    process.kill(signal.SIGTERM)
    ended = process.wait().stderr
    assert re.search(r"ended at step (1|6|12) \(SIGTERM\); the same command goes on from there", ended)
    assert "Traceback" not in ended and not (early / "averaged").exists()
    for folder in (early, first, second):
        finish(data, folder)
        same_training(tmp_path / "finished", folder)
    learning = read_json(tmp_path / "finished/learning.json")
    assert learning["phases"] == [{"end": 24, "accumulate": 1}, {"end": 28, "accumulate": 3}]
    assert learning["steps"] == 28 and learning["seen"]["passes"] > 2
    assert [row["checkpoints"] for row in learning["averages"]] == [1, 2]


def same_training(finished, killed):
    """Both have the same weights, and their records the same data, scores and losses."""
    assert same(*(weights(folder / "averaged") for folder in (finished, killed)))
    records = [read_json(folder / "learning.json") for folder in (finished, killed)]
    for key in ("validation", "phases", "steps", "averages", "seen"):
        assert records[0][key] == records[1][key]
    first, second = ({row["step"]: row["loss"] for row in record["training"]} for record in records)
    assert first == second


def test_a_training_starts_from_the_weights_of_another(data, trained, tmp_path):
    """With a tiny learning rate they stay the same, whatever the seed; killed or not, a training ends alike."""
    still = SHORT | {"steps": 2, "optimizer": "sgd", "learning_rate": 1e-30}
    start = ["--start-from", trained / "averaged"]
    finish(data, tmp_path / "still", None, still, *start, seed=7)
    parent = weights(trained / "averaged")
    assert same(parent, weights(tmp_path / "still/averaged"))

    longer = SHORT | {"steps": 12, "checkpoint_steps": 6}
    (left,) = left_by_kills(
        training(data, tmp_path / "finished", None, longer, *start, seed=7), tmp_path / "finished", 6
    )
    finish(data, left, None, longer, *start, seed=7)
    same_training(tmp_path / "finished", left)
    finished = weights(tmp_path / "finished/averaged")
    assert not all((finished[key] == parent[key]).all() for key in finished)
    learning = read_json(tmp_path / "finished/learning.json")
    assert learning["steps"] == 12 and learning["start_from"] == str(trained / "averaged")  # its own schedule


def test_a_training_that_starts_from_layers_survives_a_kill(data, trained, tmp_path):
    layers, deep = {"encoder": [0, 0], "decoder": [0]}, VALUES | {"encoder_layers": 2}
    start = ["--start-from", trained / "averaged"]
    still = SHORT | {"steps": 0, "decay": "cosine"}
    finish(data, tmp_path / "still", deep, still, *start, start_layers=layers)
    first, again = (
        {
            key: value
            for key, value in weights(tmp_path / "still/averaged").items()
            if f"encoder/layers/{number}/" in key
        }
        for number in (0, 1)
    )
    assert len(first) > 5 and all((first[key] == again[key.replace("layers/0/", "layers/1/")]).all() for key in first)

    (left,) = left_by_kills(
        training(data, tmp_path / "finished", deep, SHORT, *start, start_layers=layers), tmp_path / "finished", 3
    )
    finish(data, left, deep, SHORT, *start, start_layers=layers)
    same_training(tmp_path / "finished", left)
    assert read_json(left / "learning.json")["start_layers"] == layers


def test_without_updates_a_training_ends_with_the_weights_it_started_from(data, trained, tmp_path):
    finish(data, tmp_path, None, SHORT | {"steps": 0, "decay": "cosine"}, "--start-from", trained / "averaged")
    assert same(weights(trained / "averaged"), weights(tmp_path / "averaged"))
    learning = read_json(tmp_path / "learning.json")
    assert (learning["steps"], learning["seconds"], learning["training"]) == (0, 0, [])
    assert learning["seen"]["pairs"] == 0 and not any(learning["seen"]["shares"].values())
    assert learning["averages"][0]["bleu"] == read_json(trained / "learning.json")["averages"][0]["bleu"]


def test_a_moving_average_changes_no_update_and_survives_a_kill(data, trained, tmp_path):
    """Checkpoints and BLEU have the averages; losses are those of a training without."""
    averaging = SHORT | {"moving_average": 0.5}
    (left,) = left_by_kills(training(data, tmp_path / "finished", None, averaging), tmp_path / "finished", 3)
    finish(data, left, None, averaging)
    same_training(tmp_path / "finished", left)
    plain, averaged = (read_json(folder / "learning.json") for folder in (trained, tmp_path / "finished"))
    losses = [[row["loss"] for row in learning["training"]] for learning in (plain, averaged)]
    assert losses[0] == losses[1] and losses[0]
    assert not same(weights(trained / "averaged"), weights(tmp_path / "finished/averaged"))


def test_a_guided_alignment_changes_updates_and_survives_a_kill(data, trained, tmp_path):
    guided, links = SHORT | {"alignment": "guided"}, []
    for epoch in (1, 2):
        pieces = [(data / f"{epoch}.{side}").read_text().split("\n")[:-1] for side in ("source", "target")]
        lengths = [[len(line.split(" ")) for line in side] for side in pieces]
        links.append(tmp_path / f"{epoch}.links")
        links[-1].write_text("".join(f"{s - 1}-{t - 1} 0-0\n" for s, t in zip(*lengths, strict=True)))
    refused("--links are for training.alignment: guided", data, tmp_path / "none", None, guided)
    refused("--links are for training.alignment: guided", data, tmp_path / "none", None, SHORT, "--links", *links)
    finished = tmp_path / "finished"
    (left,) = left_by_kills(training(data, finished, None, guided, "--links", *links), finished, 3)
    finish(data, left, None, guided, "--links", *links)
    same_training(finished, left)
    assert not same(weights(trained / "averaged"), weights(finished / "averaged"))


def test_sampled_segmentations_and_rounded_weights_survive_a_kill(data, trained, tmp_path):
    """A killed training reads the segmentations of its pass again, and its checkpoints have the exact weights."""
    both = SHORT | {"sampling": {"alpha": 0.2}, "steps": 3, "then": [phase(steps=5) | {"quantization": "int8"}]}
    finished = tmp_path / "finished"
    first, left = left_by_kills(training(data, finished, None, both), finished, 3, 6)
    for folder in (first, left):
        finish(data, folder, None, both)
        same_training(finished, folder)
    assert not same(weights(trained / "averaged"), weights(finished / "averaged"))


def test_a_damaged_checkpoint_is_an_error_of_one_line(data, copied):
    for path in copied.glob("run-*/ckpt-8.data-*"):
        path.write_bytes(path.read_bytes()[:100])
    message = r"its last checkpoint is damaged \(Read less bytes than requested\); name an earlier one"
    refused(message, data, copied, None, SHORT)


def test_an_average_of_one_is_the_last_checkpoint(trained):
    from opennmt.utils.checkpoint import get_checkpoint_variables

    (run,) = trained.glob("run-*")
    last, averaged = get_checkpoint_variables(str(run / "ckpt-8")), weights(trained / "averaged")
    assert all((value == last[key]).all() for key, value in averaged.items())


def test_an_average_is_the_mean_of_the_last_checkpoints(data, copied):
    from opennmt.utils.checkpoint import get_checkpoint_variables

    finish(data, copied, None, SHORT | {"average_last": 2})
    (folder,) = copied.glob("run-*")
    before, last = (get_checkpoint_variables(str(folder / f"ckpt-{step}")) for step in (6, 8))
    averaged = weights(copied / "averaged")
    assert all(np.allclose(value, (before[key] + last[key]) / 2, atol=1e-6) for key, value in averaged.items())
    assert not all((value == last[key]).all() for key, value in averaged.items())


def test_a_recurrent_student_is_trained_and_watched(data, tmp_path):
    """CTranslate2 has no GRU: OpenNMT-tf decodes the dev set. Each phase ends when dev BLEU stalls."""
    values = {"cell": "gru", "encoder_layers": 2, "decoder_layers": 1, "units": 16, "embedding_units": 16}
    settings = STUDY | {"batch_tokens": None, "batch_sentences": 16, "max_length": 6, "label_smoothing": 0}
    settings |= {"patience": 1, "validation_steps": 2, "optimizer": "sgd", "learning_rate": 1e-9, "decay": "constant"}
    finish(data, tmp_path, values, settings)
    learning = read_json(tmp_path / "learning.json")
    assert learning["shape"] == "GRU 2:1 d16 e16"
    assert [row["step"] for row in learning["validation"]] == [2, 4, 6, 8]
    assert [phase["end"] for phase in learning["phases"]] == [4, 8]
    missed = [left_out(data / f"{epoch}.source", data / f"{epoch}.target", 6) for epoch in (1, 2)]
    assert 0 < sum(missed) < 100 and learning["left_out"] == {"pairs": sum(missed), "of": 120}
    assert learning["seen"]["pairs"] == pytest.approx(learning["seen"]["passes"] * (120 - sum(missed)) / 2, rel=0.1)
    read = read_opennmt_tf.read(tmp_path / "averaged")
    assert read.metadata["cell"] == "gru" and read.tensors("int8")


def trained_and_read(data, folder, decoder, settings):
    """CTranslate2 has no such layers: OpenNMT-tf decodes the dev set, and the native engine reads the checkpoint."""
    finish(data, folder, VALUES | {"decoder": decoder}, settings)
    learning, read = read_json(folder / "learning.json"), read_opennmt_tf.read(folder / "averaged")
    assert decoder in learning["shape"] and learning["validation"]
    assert read.metadata["decoder"] == decoder and read.tensors("int8")


def test_a_student_with_averaging_attention_is_trained(data, tmp_path):
    trained_and_read(data, tmp_path, "averaging", SHORT | {"validation_steps": 8})


def test_a_student_without_self_attention_continues_after_a_kill(data, tmp_path):
    precision, finished = "bfloat16" if "avx512f" in cpu.flags() else "float32", tmp_path / "finished"
    settings = SHORT | {"validation_steps": 8, "precision": precision}
    (left,) = left_by_kills(training(data, finished, VALUES | {"decoder": "ssru"}, settings), finished, 3)
    trained_and_read(data, left, "ssru", settings)
    same_training(finished, left)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("TransformerTinny",
         "^error: shape TransformerTinny: The model 'TransformerTinny' does not exist in the model catalog$"),
        ("none.py", "^error: none.py: No such file or directory$"),
        ("NMTSmallV1", "CTranslate2 has no such model"),
    ],
)  # fmt: skip
def test_models_that_cannot_be_trained(model, message, data, tmp_path):
    refused(message, data, tmp_path, {"model": model})
    assert not list(tmp_path.glob("run-*/ckpt-*"))


def test_a_diverged_training_is_not_continued(data, tmp_path):
    settings = STUDY | {"learning_rate": 1e9, "optimizer": "sgd", "decay": "constant", "steps": 400}
    refused("diverged.*a lower learning_rate", data, tmp_path, None, settings)
    refused("diverged.*in an earlier start", data, tmp_path, None, settings)
    assert not (tmp_path / "averaged").exists()


@pytest.mark.skipif(tf.config.list_physical_devices("GPU"), reason="TensorFlow finds a GPU here")
def test_a_missing_gpu_is_an_error(data, tmp_path):
    message = "TensorFlow finds no GPU; install requirements-gpu.lock"
    refused(message, data, tmp_path, None, STUDY | {"device": "cuda"})


def test_fewer_steps_than_were_made_are_refused(data, trained):
    refused("has 8 steps, more than asked for; delete the folder", data, trained, None, SHORT | {"steps": 4})


def test_averages_leave_out_the_first_step(trained):
    """OpenNMT-tf always saves it, although it is hardly better than random weights."""
    assert list(trained.glob("run-*/ckpt-1.index"))
    assert [row["checkpoints"] for row in read_json(trained / "learning.json")["averages"]] == [1, 2, 3]
