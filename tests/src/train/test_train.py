"""The parts of a training: schedules as in the papers, run folders, batches, validation."""

import functools
import math
import operator
import random
from contextlib import nullcontext

import cpus
import numpy as np
import pytest
import tensorflow as tf
from training_settings import TOKENS, VALUES, entry, model, phase, typed

from formats import records
from formats.shape import registry
from nmt_frontier import cpu
from nmt_frontier.errors import UserError
from nmt_frontier.files import write_json
from nmt_frontier.text import tokenizers
from train import sample, vocabulary
from train.dataset import dataset, groups, longest, rows, shuffle_buffer
from train.guided_alignment import cost
from train.moving_average import MovingAverage
from train.optimizer import opennmt_parameters
from train.schedule import Journal, Passes, Phase, phases
from train.settings import StartLayers, TrainingSettings
from train.train import average, begun, definition, learned, run_folder
from train.trainer import until_divergence
from train.training import check_precision, compute_in, start_from
from train.training_record import left_out, mixture, read_epochs, reads
from train.validation import Validation, stalled

SENTENCES = {"batch_tokens": None, "batch_sentences": 16, "max_length": 150}


@pytest.mark.parametrize("decay", ["inverse_sqrt", "cosine"])
def test_the_learning_rate_peaks_after_the_warm_up(decay):
    from opennmt.schedules.lr_schedules import make_learning_rate_schedule

    params = opennmt_parameters(typed({"decay": decay}), 100)
    schedule = make_learning_rate_schedule(params["learning_rate"], params["decay_type"], params["decay_params"])
    rates = [float(schedule(step)) for step in range(1, 101)]
    assert max(rates) == pytest.approx(0.002, rel=0.11)  # OpenNMT-tf's cosine starts at step 0, not after the warm-up
    assert abs(rates.index(max(rates)) - 19) <= 1
    if decay == "inverse_sqrt":
        assert rates[79] == pytest.approx(0.002 * math.sqrt(20 / 80), rel=0.02)
    else:
        assert rates[-1] < 1e-5


def test_an_average_of_more_checkpoints_than_there_are_takes_those_and_says_so(tmp_path, caplog):
    """OpenNMT-tf 839."""
    (run := tmp_path / "run").mkdir()
    (run / "model_description.py").touch()
    (vocabulary_file := tmp_path / "vocabulary.txt").touch()
    weights = tf.keras.layers.Layer()
    weights.value, weights.built = tf.Variable(0.0), True
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=weights), str(run), 5)
    for step, value in ((10, 1.0), (20, 4.0)):
        weights.value.assign(value)
        manager.save(step)
    for count, kept in ((2, 2.5), (9, 2.5), (1, 4.0)):
        caplog.clear()
        average(run, weights, count, tmp_path / f"average-{count}", vocabulary_file)
        assert f"averages 2 checkpoints, not {count}" in caplog.text if count > 2 else not caplog.text
        path = tf.train.latest_checkpoint(str(tmp_path / f"average-{count}"))
        assert tf.train.load_variable(path, "model/value/.ATTRIBUTES/VARIABLE_VALUE") == kept


def test_a_moving_average_is_that_of_its_definition():
    """With the warm-up of TensorFlow's ExponentialMovingAverage; inside ``averaged`` the model has it, not after."""
    weight = tf.Variable([1.0, 2.0])
    average, expected = MovingAverage([weight], 0.25), np.array([1.0, 2.0])
    for step in range(1, 9):
        weight.assign_add([1.0, float(step)])
        average.update(step)
        decay = min(0.25, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * weight.numpy()
    last = weight.numpy()
    with average.averaged():
        assert weight.numpy() == pytest.approx(expected)
    assert (weight.numpy() == last).all() and average.others[0].numpy() == pytest.approx(expected)


def test_a_guided_alignment_costs_as_defined():
    """Links of a piece count alike; a piece without a link, as padding, costs nothing."""
    attention = tf.constant([[[0.5, 0.25, 0.25], [0.1, 0.2, 0.7], [1.0, 0, 0]]])
    links = tf.constant([[[1.0, 1.0, 0], [0, 0, 1.0], [0, 0, 0]]])
    expected = -((math.log(0.5) + math.log(0.25)) / 2 + math.log(0.7))
    assert float(cost(attention, links, 0.1, cost_type="ce")) == pytest.approx(0.1 * expected)


def test_links_stay_with_their_pairs_in_batches(tmp_path):
    """Source and target are the same words in another order, so that a link can be checked by its words."""
    generator = random.Random(1)
    lines = []
    for size in (1 + n % 7 for n in range(60)):
        order = generator.sample(range(size), size)
        words = [f"w{generator.randrange(50)}" for _ in range(size)]
        lines.append((words, [words[i] for i in order], [f"{i}-{j}" for j, i in enumerate(order)] if size > 1 else []))
    for number, name in enumerate(("source", "target", "links")):
        (tmp_path / name).write_text("".join(f"{' '.join(line[number])}\n" for line in lines))
    made = model(tmp_path, [f"w{n}" for n in range(50)])
    files = [tmp_path / name for name in ("source", "target")]
    seen = 0
    for source, target in dataset(made, typed(TOKENS), *files, 60, {"train_alignments": tmp_path / "links"}):
        for row, links in enumerate(target["alignment"].numpy()):
            size = int(source["length"][row])
            assert links.sum() == (size if size > 1 else 0)
            for j, i in zip(*np.nonzero(links), strict=True):
                assert source["ids"][row, i] == target["ids_out"][row, j]
            seen += 1
    assert seen == 60


def test_a_run_is_continued_only_under_the_same_settings(tmp_path):
    basic = entry(steps=10) | {"decay": "constant", "average_last": 2, "averages": [1, 4]}
    settings = {"shape": {"units": 16}, "seed": 1, "data": ["a"]}

    def folder(defined=settings, **changes):
        asked = TrainingSettings("x", "student", VALUES, typed(basic | changes))
        return run_folder(tmp_path, {**defined, "training": learned(asked)})

    assert folder(steps=20) == folder(average_last=4) == folder(threads=2) == folder()  # prolonged, averaged otherwise
    assert folder(steps=None, epochs=10) == folder(steps=None, epochs=20)
    assert folder(device="cuda") == folder()  # and continued on a GPU
    other = {"gpus": 2, "precision": "bfloat16", "moving_average": 0.9999, "alignment": "guided"}
    other |= {"sampling": {"alpha": 0.5}, "average_last": 8, "dropout": 0}  # 8: so many checkpoints were not kept
    assert folder() not in [folder(**{key: value}) for key, value in other.items()]
    assert folder(then=[phase(5) | {"quantization": "int8"}]) != folder(then=[phase(5)]) == folder(then=[{"steps": 5}])
    # Other steps: another rate at every step, or a second phase that begins elsewhere
    assert folder(decay="cosine", steps=20) != folder(decay="cosine")
    assert folder(then=[{"steps": 5}], steps=20) != folder(then=[{"steps": 5}])
    assert folder() not in [folder(settings | each) for each in ({"seed": 2}, {"data": ["b"]}, {"shape": {"units": 8}})]


def test_no_key_at_its_default_names_a_training(tmp_path):
    """So that a later version, which has more keys, continues what an earlier one began."""
    training = typed({"steps": 10, "decay": "cosine"})
    vocabulary = tmp_path / "vocabulary"
    vocabulary.touch()
    defined = definition(TrainingSettings("x", "student", VALUES, training), [vocabulary], None)
    assert defined["shape"] == VALUES
    written = {"steps": 10, "decay": "cosine", "learning_rate": 0.002, "warmup_steps": 20, "precision": "float32"}
    assert defined["training"] == written | {"kept": 1}


def test_a_training_is_defined_by_the_bytes_that_it_reads(tmp_path):
    (tmp_path / "start").mkdir()
    files = [tmp_path / name for name in ("epoch", "vocabulary", "start/ckpt-1")]
    folders, asked = [], TrainingSettings("x", "student", VALUES, typed(entry(steps=10)))
    for changed in (None, *files):
        for path in files:
            path.write_text("changed" if path == changed else path.name)
        defined = definition(asked, files[:2], tmp_path / "start")
        folders.append(run_folder(tmp_path, defined))
    folders.append(run_folder(tmp_path, definition(asked, files[:2], None)))
    asked.start_layers = StartLayers([0], [0])
    folders.append(run_folder(tmp_path, definition(asked, files[:2], tmp_path / "start")))
    assert "start_layers" not in defined and len(set(folders)) == 6


def test_an_open_precision_is_chosen_when_a_training_begins(tmp_path, monkeypatch):
    wide = VALUES | {"units": 512}

    def start(values=wide, asked=None, **changes):
        training = typed(entry(steps=10) | {"precision": asked} | changes)
        return begun(tmp_path, TrainingSettings("x", "student", values, training), {"training": {}})

    cpus.pretend("amx", tmp_path, monkeypatch)
    recurrent = registry()["wnmt2018-rnn-large"]
    assert recurrent["units"] >= 512
    others = start(VALUES | {"units": 256}), start(recurrent), start(device="cuda"), start(asked="float32")
    assert {name for name, _ in others} == {"float32"}
    name, run = start()
    assert name == "bfloat16" and run == start(asked="bfloat16")[1] != start(asked="float32")[1]
    cpus.pretend("avx512-vnni", tmp_path, monkeypatch)
    assert start() == start(asked="float32")
    run.mkdir()
    assert start() == (name, run) != start(asked="float32")  # goes on as it began
    start(asked="float32")[1].mkdir()
    cpus.pretend("amx", tmp_path, monkeypatch)
    assert start() == start(asked="float32")


@pytest.fixture
def float32():
    """Makes TensorFlow compute in float32 after the test."""
    yield
    compute_in("float32")


@pytest.mark.parametrize("precision", ["bfloat16", "float32"])
def test_products_have_the_precision_of_the_training_and_weights_float32(precision, float32, monkeypatch):
    cpus.real(monkeypatch)
    compute_in(precision)
    layer = tf.keras.layers.Dense(4)
    assert layer(tf.ones([2, 3])).dtype == precision and layer.kernel.dtype == "float32"
    refused = pytest.raises(UserError, match=r"precision bfloat16: .* set training.precision to float32")
    with nullcontext() if precision == "float32" or "avx512f" in cpu.flags() else refused:
        check_precision(precision)


@pytest.mark.parametrize("pairs", [1, 60, 500_000, 500_001, 605_848, 999_999, 1_000_001, 4_468_840])
def test_a_pass_reads_no_pair_twice(pairs):
    """OpenNMT-tf's random_shard spreads parts of the size of the buffer evenly over the file."""
    parts = -(-pairs // (buffer := shuffle_buffer(pairs)))
    begins = np.linspace(0, pairs, num=parts, endpoint=False, dtype=np.int64)
    read = sum(min(int(begin) + buffer, pairs) - int(begin) for begin in begins)
    assert pairs <= read <= pairs + parts and buffer <= 500_000


@pytest.mark.slow
def test_what_the_trainer_sees_has_the_weights(tmp_path):
    """Batches that OpenNMT-tf makes of two epochs: shares of the corpora at any moment, and pairs per batch."""
    for name, size in (("a", 3000), ("b", 500)):  # b is smaller than its share and comes again and again
        records.write(tmp_path / f"{name}.tsv.zst", ((f"{name}{' x' * (n % 9)}", "x") for n in range(size)))
    corpora, epochs = [tmp_path / "a.tsv.zst", tmp_path / "b.tsv.zst"], []
    for number in (1, 2):
        path = tmp_path / f"epoch.{number}.tsv.zst"
        sample.draw(corpora, [5, 2], 2100, 1, number, path)
        epochs += read_epochs([records.info(path)])
        for side, name in enumerate(("source", "target")):
            (tmp_path / f"{number}.{name}").write_text("".join(f"{record[side]}\n" for record in records.read(path)))

    made = model(tmp_path, "abx")

    def one_pass(number):
        files = [tmp_path / f"{number % 2 + 1}.{name}" for name in ("source", "target")]
        return dataset(made, typed(TOKENS | {"batch_tokens": 60}), *files, 120)

    journal = Journal(tmp_path / "journal.json")
    seen, of_a, share = 0, 0, 5 / 7
    for count, (features, _) in enumerate(Passes(one_pass, journal, (0, 0)), 1):
        first = features["ids"].numpy()[:, 0]
        seen, of_a = seen + len(first), of_a + int((first == 3).sum())  # <blank>, <s>, </s>, a
        if count % 100 == 0:
            assert abs(of_a - share * seen) < 5 * (share * (1 - share) * seen) ** 0.5
        if count == 1000:
            break
    number, batch = journal.position(1000)
    passes = number + batch / journal.epoch_batches()
    assert passes == pytest.approx(seen / 2100, rel=0.03) and number >= 2  # both epochs, and the first one again
    exposure = mixture(epochs, [0, 0], passes)
    assert exposure.shares == {"a": round(5 / 7, 6), "b": round(2 / 7, 6)}
    assert exposure.pairs == pytest.approx(seen, rel=0.03)


@pytest.mark.parametrize(("settings", "full"), [(TOKENS, 240), (SENTENCES, 16), (TOKENS | {"max_length": 9}, 240)])
@pytest.mark.slow
def test_undersized_batches_at_the_end_of_an_epoch_are_merged(settings, full, tmp_path):
    """Every sentence once, as without merging, in fewer batches; OpenNMT-tf ends a pass with a batch per length."""
    generator = random.Random(1)
    pairs = [" ".join(f"w{generator.randrange(400)}" for _ in range(1 + min(n % 23, n % 97))) for n in range(400)]
    (tmp_path / "text").write_text("".join(f"{pair}\n" for pair in pairs))
    made = model(tmp_path, [f"w{n}" for n in range(400)])
    one_pass = dataset(made, typed(settings), tmp_path / "text", tmp_path / "text", 400)

    batches = [*one_pass]
    for source, target in batches:
        for tokens, length, ids in zip(*(source[key].numpy() for key in ("tokens", "length", "ids")), strict=True):
            assert all(tokens[:length]) and not any(tokens[length:]) and not ids[length:].any()
        assert (target["length"].numpy() == source["length"].numpy() + 1).all()
    read = [b" ".join(filter(None, row)).decode() for source, _ in batches for row in source["tokens"].numpy()]
    assert sorted(read) == sorted(pair for pair in pairs if len(pair.split()) <= settings["max_length"])
    missed = left_out(tmp_path / "text", tmp_path / "text", settings["max_length"])
    assert missed == len(pairs) - len(read) and bool(missed) == (settings["max_length"] == 9)
    sizes = [rows(batch) * (longest(batch) if settings["batch_tokens"] else 1) for batch in batches]
    assert max(sizes) <= full and sum(size < full / 2 for size in sizes) <= 1
    assert len(batches) < sum(1 for _ in one_pass._batches)
    assert not one_pass._batches.options().autotune.enabled  # its thread can delay the end of a pass by a minute
    alone = groups(batches[:5], 1, "tokens" if settings["batch_tokens"] else "sentences")
    assert [longest(group[-1]) for group in alone] == [longest(batch) for batch in batches[:5]]


def test_what_is_too_long_or_empty_on_either_side_is_counted(tmp_path):
    (tmp_path / "source").write_text("a b c\na\n\na b\na b\n")
    (tmp_path / "target").write_text("a\na b c\na\n\na b\n")
    assert [left_out(tmp_path / "source", tmp_path / "target", longest) for longest in (1, 2, 3)] == [5, 4, 2]


@pytest.mark.parametrize("passes, times", [(0.5, [0.5, 0, 0]), (3, [1, 1, 1]), (4.25, [2, 1.25, 1])])
def test_epochs_are_read_in_turn(passes, times):
    assert [reads(passes, number, 3) for number in range(3)] == times


def test_phases_in_steps_and_in_epochs():
    then = [phase(epochs=2, accumulate=16, every=5), phase(steps=7)]
    schedule = phases(typed(entry(steps=100, then=then, every=50)), lambda: 160)
    assert schedule == [Phase(100, 1, 50, 50), Phase(20, 16, 5, 5), Phase(7, 1, 50, 50)]
    assert phases(typed(entry(epochs=0.001, every=9)), lambda: 10) == [Phase(1, 1, 9, 9)]
    # Four replicas read four times as much in a step, so an epoch has a quarter of the steps
    together = phases(typed(entry(steps=100, then=then[:1], every=50, gpus=4)), lambda: 160)
    assert together == [Phase(100, 1, 50, 50, 4), Phase(5, 16, 5, 5, 4)]
    assert [phase.batches for phase in together] == [4, 64]


def test_positions_after_a_phase_that_stopped_early(tmp_path):
    schedule = [Phase(100, 1, 50, 50), Phase(10, 16, 4, 4)]
    journal = Journal(tmp_path / "journal.json")
    journal.stop(0, 40)
    for number, batches in ((0, 30), (1, 33), (1, 99)):  # the last one is recorded already
        journal.finish_pass(number, batches)
    restored = Journal(tmp_path / "journal.json")  # after a kill
    assert restored.ends(schedule) == [40, 50]
    assert restored.batches(42, schedule) == 40 + 2 * 16
    assert restored.position(72) == (2, 72 - 63)
    assert restored.position(30) == (1, 0)
    assert restored.updates_left(10, 0, schedule) == 30 + 160
    pairs = [phase._replace(replicas=2) for phase in schedule]
    assert restored.batches(42, pairs) == 2 * 72 and restored.updates_left(10, 0, pairs) == 30 + 160
    due = [step for step in range(1, 51) if restored.validation_due(step, schedule)]
    assert due == [40, 44, 48, 50]


@pytest.mark.parametrize(
    "scores, over",
    [([1, 2, 3], False), ([3, 2, 3], True), ([3, 1, 2], True), ([3, 1, 3.1], False), ([3, 2], False), ([], False)],
)
def test_a_phase_ends_when_dev_bleu_stalls(scores, over):
    assert stalled(scores, 2) == over


@pytest.fixture
def validation(tmp_path):
    """Makes a Validation of one sentence. text: for its vocabulary."""

    def make(text, output, reference, language=""):
        (tmp_path / "model").write_bytes(vocabulary.train(text * 20, "unigram", 30, 1.0, 1))
        pieces = tokenizers.pieces(tmp_path / "model").encode(output, out_type=str)
        return Validation(lambda: [pieces], tmp_path / "model", [reference], tmp_path / "scores.json", None, language)

    return make


def test_scores_of_other_references_do_not_count(tmp_path, validation):
    validation = functools.partial(validation, ["a b c", "d e f"], "a")
    write_json(tmp_path / "scores.json", [{"step": 1, "bleu": 3.0}])  # as earlier versions wrote it
    first = validation("a b c")
    first.continue_from(1, due=True)
    first(2)
    assert [score.step for score in validation("a b c").scores()] == [1, 2]
    (changed := validation("d e f")).continue_from(2, due=True)
    assert [score.step for score in changed.scores()] == [2]


def test_dev_bleu_has_the_tokens_of_the_language(validation):
    """With 13a a Chinese sentence is one word, right or wrong, and no training would ever get better."""
    reference, output = "一只狗在草地上奔跑", "一只狗在草地上跑"
    chinese, words = (validation([reference, output], output, reference, code).bleu() for code in ("zh", ""))
    assert chinese > 50 > words == 0


def test_a_diverging_loss_stops_the_training():
    fine = [9 - number / 100 for number in range(500)]
    assert list(until_divergence(iter(fine))) == fine
    with pytest.raises(RuntimeError, match=r"diverged: loss .* after 4"):
        list(until_divergence(iter([*fine, *[8.0] * 200])))


@pytest.mark.parametrize("values", [VALUES | {"ffn_units": 64}, VALUES | {"encoder_layers": 2}])
@pytest.mark.slow
def test_weights_of_another_model_are_refused(values, tmp_path):
    from opennmt.utils.checkpoint import Checkpoint

    shapes = {"1": VALUES, "2": VALUES, "3": values}
    first, same, other = made = [model(tmp_path / name, "a", of) for name, of in shapes.items()]
    for each in made:
        each.create_variables()
    Checkpoint(first, model_dir=str(tmp_path / "averaged")).save(4)
    assert not all((a == b).numpy().all() for a, b in zip(first.weights, same.weights, strict=True))
    start_from(same, tmp_path / "averaged")
    assert all((a == b).numpy().all() for a, b in zip(first.weights, same.weights, strict=True))
    for each, folder in ((other, "averaged"), (same, "1")):
        with pytest.raises(UserError, match="not the weights of a model of this shape and vocabulary"):
            start_from(each, tmp_path / folder)


DEEP = VALUES | {"encoder_layers": 3, "decoder_layers": 2}


@pytest.fixture(scope="module")
def deep(tmp_path_factory):
    """Saved weights of a model of DEEP with the pieces a and b, and their folder."""
    from opennmt.utils.checkpoint import Checkpoint

    folder = tmp_path_factory.mktemp("deep")
    made = model(folder, "ab", DEEP)
    made.create_variables()
    Checkpoint(made, model_dir=str(folder)).save(4)
    return folder, made


def equal(first, other):
    return all((a == b).numpy().all() for a, b in zip(first.weights, other.weights, strict=True))


@pytest.mark.slow
def test_a_student_begins_with_the_layers_that_it_names(deep, tmp_path):
    folder, parent = deep
    student = model(tmp_path / "student", "ab", VALUES | {"encoder_layers": 3})
    student.create_variables()
    start_from(student, folder, StartLayers(encoder=[2, 0, 0], decoder=[1]))
    for part in ("examples_inputter", "decoder.output_layer", "encoder.layer_norm", "decoder.layer_norm"):
        assert equal(operator.attrgetter(part)(student), operator.attrgetter(part)(parent))
    own, theirs = student.encoder.layers, parent.encoder.layers
    assert equal(own[0], theirs[2]) and equal(own[1], theirs[0]) and equal(own[2], theirs[0])
    assert equal(student.decoder.layers[0], parent.decoder.layers[1])
    assert not equal(own[0], theirs[0])


@pytest.mark.slow
def test_all_layers_of_a_model_are_the_model(deep, tmp_path):
    folder, parent = deep
    student = model(tmp_path / "student", "ab", DEEP)
    student.create_variables()
    start_from(student, folder, StartLayers(encoder=[0, 1, 2], decoder=[0, 1]))
    assert equal(student, parent)


@pytest.mark.slow
def test_pieces_that_are_new_to_the_parent_begin_with_random_embeddings(deep, tmp_path):
    folder, parent = deep
    student = model(tmp_path / "student", "bca")
    student.create_variables()
    start_from(student, folder, StartLayers(encoder=[1], decoder=[0]))
    own, theirs = (each.features_inputter.embedding.numpy() for each in (student, parent))
    assert (own[[0, 1, 2, 3, 5, 6]] == theirs[[0, 1, 2, 4, 3, 5]]).all() and own[4].any()
    assert equal(student.encoder.layers[0], parent.encoder.layers[1])


@pytest.mark.slow
@pytest.mark.parametrize("layers", [([3], [0]), ([0, 1], [0])], ids=["absent", "too many"])
def test_layers_that_do_not_fit_are_one_line(layers, deep, tmp_path):
    student = model(tmp_path / "student", "ab")
    student.create_variables()
    with pytest.raises(UserError, match=r"its layers .* do not fit a model of this shape"):
        start_from(student, deep[0], StartLayers(*layers))


@pytest.mark.slow
def test_layers_of_another_width_are_one_line(deep, tmp_path):
    student = model(tmp_path / "student", "ab", VALUES | {"units": 8})
    student.create_variables()
    with pytest.raises(UserError, match=r"its layers .* do not fit a model of this shape"):
        start_from(student, deep[0], StartLayers([0], [0]))
