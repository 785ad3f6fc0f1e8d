"""The training driver: schedules as the papers write them, runs that are never mixed up."""

import math
from dataclasses import replace

import pytest

from distill import sample
from distill.estimate import parameters
from distill.train import dataset, mixture, opennmt_parameters, pairs_a_batch, run_folder
from formats import records
from formats.files import read_json
from formats.shape import Shape

SHAPE = Shape(encoder_layers=2, decoder_layers=1, units=16, ffn_units=32, heads=2)
TRAINING = {"steps": 100, "learning_rate": 0.002, "warmup_steps": 20, "label_smoothing": 0.1, "decay": "inverse_sqrt"}


@pytest.mark.parametrize("decay", ["inverse_sqrt", "cosine"])
def test_the_learning_rate_peaks_after_the_warm_up(decay):
    from opennmt.schedules.lr_schedules import make_learning_rate_schedule

    made = opennmt_parameters(SHAPE, {**TRAINING, "decay": decay})
    schedule = make_learning_rate_schedule(made["learning_rate"], made["decay_type"], made["decay_params"])
    rates = [float(schedule(step)) for step in range(1, 101)]
    assert max(rates) == pytest.approx(0.002, rel=0.11)  # OpenNMT-tf's cosine starts at step 0, not after the warm-up
    assert abs(rates.index(max(rates)) - 19) <= 1
    if decay == "inverse_sqrt":
        assert rates[79] == pytest.approx(0.002 * math.sqrt(20 / 80), rel=0.02)
    else:
        assert rates[-1] < 1e-5


def test_a_run_is_continued_only_under_the_same_settings(tmp_path):
    settings = {"shape": {"units": 16}, "training": {"steps": 10, "dropout": 0.1}, "seed": 1, "data": ["a"]}
    folder = run_folder(tmp_path, settings)
    assert run_folder(tmp_path, {**settings, "training": {"steps": 20, "dropout": 0.1}}) == folder  # prolonged
    for key, value in {"seed": 2, "data": ["b"], "shape": {"units": 8}, "training": {"steps": 10}}.items():
        assert run_folder(tmp_path, {**settings, key: value}) != folder


@pytest.mark.parametrize("shared", [True, False])
def test_the_estimate_of_parameters_is_close_to_the_model_that_is_built(shared, tmp_path):
    import opennmt

    shape = replace(SHAPE, units=64, ffn_units=256, share_embeddings=shared)
    (tmp_path / "model_description.py").write_text(shape.model_description(0.1))
    (tmp_path / "vocabulary.txt").write_text("".join(f"{word}\n" for word in ["<blank>", "<s>", "</s>", *range(497)]))
    model = opennmt.load_model(str(tmp_path))
    vocabulary = str(tmp_path / "vocabulary.txt")
    model.initialize({"source_vocabulary": vocabulary, "target_vocabulary": vocabulary})
    model.create_variables()
    built = sum(variable.numpy().size for variable in model.trainable_variables)
    assert parameters(shape, 500) == pytest.approx(built, rel=0.04)


def test_what_the_trainer_sees_has_the_weights(tmp_path):
    """Batches that OpenNMT-tf makes of two epochs: shares of the corpora at any moment, and pairs a batch."""
    import opennmt

    words = ["<blank>", "<s>", "</s>", "a", "b", "x"]
    (tmp_path / "vocabulary.txt").write_text("".join(f"{word}\n" for word in words))
    for name, size in (("a", 3000), ("b", 500)):  # b is smaller than its share and comes again and again
        records.write(tmp_path / f"{name}.tsv.zst", ((f"{name}{' x' * (n % 9)}", "x") for n in range(size)))
    corpora, epochs = [tmp_path / "a.tsv.zst", tmp_path / "b.tsv.zst"], []
    with open(tmp_path / "source", "w") as source, open(tmp_path / "target", "w") as target:
        for number in (1, 2):
            path = tmp_path / f"epoch.{number}.tsv.zst"
            sample.draw(corpora, [5, 2], 2100, 1, number, path)
            epochs.append(read_json(records.info(path)))
            for record in records.read(path):
                print(record[0], file=source)
                print(record[1], file=target)

    (tmp_path / "model_description.py").write_text(SHAPE.model_description(0.1))
    model = opennmt.load_model(str(tmp_path))
    vocabulary = str(tmp_path / "vocabulary.txt")
    model.initialize({"source_vocabulary": vocabulary, "target_vocabulary": vocabulary})
    batches = dataset(model, {"batch_tokens": 60}, tmp_path / "source", tmp_path / "target")
    seen, of_a = 0, 0
    for count, (features, _) in enumerate(batches.take(1000), 1):
        first = features["ids"].numpy()[:, 0]
        seen, of_a = seen + len(first), of_a + int((first == words.index("a")).sum())
        if count % 100 == 0:
            share = 5 / 7
            assert abs(of_a - share * seen) < 5 * (share * (1 - share) * seen) ** 0.5
    assert pairs_a_batch(batches) == pytest.approx(seen / 1000, rel=0.02)
    about = mixture(epochs, seen)
    assert about["shares"] == {"a": round(5 / 7, 6), "b": round(2 / 7, 6)}
    assert about["passes"] == round(seen / 4200, 3) > 1
