"""The benchmarks for a GPU, on the CPU with tiny models: what is sent to the GPU stays."""

import argparse
import gzip
import importlib
import itertools
import sys
from pathlib import Path

import ctranslate2
import numpy as np
import optional
import pytest
from models import PIECES, sentencepiece_model, sentences
from sentencepiece import SentencePieceProcessor

from formats import opennmt_tf, records
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json

pytestmark = [pytest.mark.slow, pytest.mark.optional]
torch, transformers = optional.modules("torch", "transformers")
torch.set_num_threads(1)
TINY = {"encoder_layers": 1, "decoder_layers": 1, "units": 32, "ffn_units": 32, "heads": 2}
LINES = sentences(12)


@pytest.fixture
def script(monkeypatch):
    """A function that imports a script of benchmarks/."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "benchmarks"))
    return importlib.import_module


@pytest.fixture
def texts(tmp_path):
    """The options that name a vocabulary and its tokenizer."""
    (tmp_path / "x.model").write_bytes(sentencepiece_model())
    pieces = SentencePieceProcessor(model_file=str(tmp_path / "x.model"))
    entries = [*opennmt_tf.CONTROL, *(pieces.id_to_piece(number) for number in range(3, PIECES))]
    (tmp_path / "vocabulary.txt").write_text("".join(f"{entry}\n" for entry in entries))
    return ["--sentencepiece", tmp_path / "x.model", "--vocabulary", tmp_path / "vocabulary.txt"]


@pytest.fixture
def gpu(script, monkeypatch):
    """The benchmark, on the CPU and with few small systems."""
    gpu = script("gpu")
    for kind in (torch.Tensor, torch.nn.Module):
        monkeypatch.setattr(kind, "cuda", lambda self: self)
    for name, result in {"is_available": True, "empty_cache": None, "get_device_name": "none"}.items():
        monkeypatch.setattr(torch.cuda, name, lambda result=result: result)
    real = ctranslate2.Translator
    here = lambda folder, device, compute_type: real(folder, "cpu", compute_type=compute_type, intra_threads=1)  # noqa: E731
    monkeypatch.setattr(gpu.ctranslate2, "Translator", here)
    shapes = dict.fromkeys(("wngt2020-4-3", "marian-big", "marian-base"), TINY)
    monkeypatch.setattr(gpu, "registry", lambda: shapes | {"marian-base": TINY | {"share_embeddings": True}})
    monkeypatch.setattr(gpu, "SYSTEMS", [each for each in gpu.SYSTEMS if each.shape in shapes])
    return gpu


def run(module, monkeypatch, *options):
    monkeypatch.setattr(sys, "argv", [*map(str, ["x", *options])])
    module.main()


def test_all_systems_take_turns_and_have_the_lengths_of_the_references(gpu, texts, tmp_path, monkeypatch):
    sets = {}
    for name, lines in {"newstest2019": LINES, "newstest2014": LINES[:8]}.items():
        sets[name] = [tmp_path / f"{name}.{side}.gz" for side in ("en", "de")]
        for path, side in zip(sets[name], (lines, lines[::-1]), strict=True):
            path.write_bytes(gzip.compress("".join(f"{line}\n" for line in side).encode()))
    options = ["--wngt2020", *sets["newstest2019"], "--marian2018", *sets["newstest2014"], "--types", "float32"]
    run(gpu, monkeypatch, *texts, *options, "--rounds", 2, "--output", tmp_path / "x.json")
    found = read_json(tmp_path / "x.json")
    assert found["test_sets"] == {"wngt2020": ["newstest2019", 12], "marian2018": ["newstest2014", 8]}
    systems = {(each["paper"], each["row"], each["beam"]): each for each in found["systems"]}
    beams = {"3": 8, "5": 4, "6": 2, "7": 1, "8": 4, "9": 2, "10": 1}
    rows = {("wngt2020", "20", 1), ("wngt2020", "20", 4), ("wngt2020", "16", 4)}
    assert systems.keys() == rows | {("marian2018", row, beam) for row, beam in beams.items()}
    for system in systems.values():
        assert [run["pieces"] for run in system["runs"]] == [system["pieces_of_references"]] * 2
        assert 0 < system["seconds"]["lowest"] <= system["seconds"]["highest"]
    over = [(ratio["system"].split()[1], ratio["over"].split()[1]) for ratio in found["ratios"]]
    expected = [("20", "16"), ("20", "16"), ("5", "3"), ("6", "5"), ("7", "6"), ("9", "8"), ("10", "7"), ("10", "9")]
    assert over == [(f"({one})", f"({other})") for one, other in expected]


def test_loading_counts_where_the_paper_counts_it(script):
    """The second run loads longer, the third one decodes longer."""
    gpu = script("gpu")
    steps = ("load_seconds", "first_seconds", "tokenise_seconds", "decode_seconds", "detokenise_seconds")
    runs = [dict(zip(steps, times, strict=True)) for times in ((1, 9, 1, 2, 1), (2, 9, 1, 2, 1), (1, 9, 1, 7, 1))]
    wngt, marian = (next(each for each in gpu.SYSTEMS if each.paper == paper) for paper in gpu.BATCH)
    assert [gpu.seconds(wngt, run) for run in runs] == [5, 6, 10]
    assert gpu.spread(gpu.seconds(marian, run) for run in runs) == {"median": 4, "lowest": 4, "highest": 9}


def test_batches_hold_so_many_tokens_with_padding(script):
    lengths = [3, 9, 1, 4, 4, 2]
    found = [*script("gpu").batches([[0] * length for length in lengths], 9)]
    assert found == [[1], [3, 4], [0, 5, 2]]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_there_is_one_line(script, texts, monkeypatch):
    options = ["--wngt2020", "a", "b", "--marian2018", "a", "b", "--output", "x.json"]
    with pytest.raises(UserError, match="PyTorch finds no GPU here"):
        run(script("gpu"), monkeypatch, *texts, *options)


def test_ctranslate2_scores_as_the_model_that_is_trained(script, tmp_path):
    written = script("train_on_gpu_model")
    torch.manual_seed(1)
    args = argparse.Namespace(**TINY, dropout=0.0)
    model = written.TorchTransformer(21, args).eval()
    for weights in model.parameters():  # no two layers are alike, and no bias is zero
        weights.data += 0.2 * torch.randn_like(weights)
    entries = [*opennmt_tf.CONTROL, *(f"w{number}" for number in range(17))]
    written.write(tmp_path / "model", model.state_dict(), 2, entries, np.float32)
    source, target = [5, 9, 4, 12], [7, 3, 3]
    logits = model(*(torch.tensor([side]) for side in (source, [1, *target])), torch.arange(4))
    expected = logits.log_softmax(-1)[range(4), [*target, 2]].tolist()
    words = ([[entries[number] for number in side]] for side in (source, target))
    (found,) = ctranslate2.Translator(str(tmp_path / "model"), "cpu", intra_threads=1).score_batch(*words)
    assert found.log_probs == pytest.approx(expected, abs=1e-4)


def test_an_epoch_draws_corpora_by_the_power_of_their_sizes(script):
    train = script("train_on_gpu")
    lengths = np.array([4] * 90 + [7] * 10 + [train.MAXIMUM + 1] * 5)
    pairs = train.Pairs(None, None, lengths, np.array([0, 90, 105]))
    found = train.epoch(pairs, 0.5, 20, np.random.default_rng(1))
    drawn = np.concatenate(found)
    counts = np.bincount(drawn, minlength=105)
    assert counts[:90].sum() == 75 and set(counts[90:100]) <= {2, 3} and not counts[100:].any()
    assert all(len(batch) * lengths[batch].max() <= 20 for batch in found)


def test_a_model_is_trained_for_a_moment_and_translates(script, texts, tmp_path, monkeypatch, capsys):
    records.write(tmp_path / "train.tsv.zst", [(line, line) for line in sentences(200, seed=2)])
    records.write(tmp_path / "dev.tsv.zst", [(line, line) for line in LINES])
    sizes = itertools.chain.from_iterable((f"--{name.replace('_', '-')}", size) for name, size in TINY.items())
    options = ["--train", tmp_path / "train.tsv.zst", "--dev", tmp_path / "dev.tsv.zst", "--output", tmp_path / "model"]
    options += ["--minutes", 0.05, "--batch-tokens", 500, "--warmup", 5, "--report", 5, "--learning-rate", 0.01]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    run(script("train_on_gpu"), monkeypatch, *texts, *options, *sizes)
    first, *steps, last = capsys.readouterr().out.splitlines()
    assert first == "train: 200 of 200 pairs" and "parameters on cpu" in steps[0] and "mean of" in last
    losses = [float(line.split()[3]) for line in steps[1:]]
    assert len(losses) > 1 and losses[-1] < losses[0]
    translator = ctranslate2.Translator(str(tmp_path / "model"), "cpu", compute_type="float32", intra_threads=1)
    tokenizer = SentencePieceProcessor(model_file=str(tmp_path / "x.model"))
    found = translator.translate_batch(tokenizer.encode(LINES, out_type=str), max_decoding_length=20)
    assert all(0 < len(one.hypotheses[0]) <= 20 for one in found)
