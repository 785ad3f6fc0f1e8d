"""Scores that a study computes: numbers of true pairs and of others, parts that are kept, servers and commands."""

import argparse
import json
import math
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import numpy as np
import pytest
import sentencepiece
import warm
from native import folders

from corpora import alignment, grammar
from corpora.alignment import FastAlign, encoded
from distill.http_teacher import server
from formats import records
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json
from nmt_frontier.importers import read_ctranslate2
from scores import embeddings, models, shards, text, translation
from scores.settings import EmbeddingsSection

PAIRS = list(grammar.generate("de", "train", 1500, 1))


def corpus(path, lines):
    _, checksum = records.write(path, lines)
    records.info(path).write_text(json.dumps({"name": records.name(path), "lines_out": len(lines), "sha256": checksum}))
    return path


def numbers(path):
    return [float(number) for (number,) in records.read(path)]


def run(module, *options):
    command = [warm.python(), "-m", f"scores.{module}", *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True)


# Parts


def arguments(folder, lines, shard=None):
    source = corpus(folder / "x.tsv.zst", lines)
    return argparse.Namespace(input=source, shard=shard, sides=2, output=folder / "scores/1-of-1.tsv.zst")


def test_a_killed_job_loses_at_most_one_part(tmp_path):
    args, seen = arguments(tmp_path, [(str(number), "x", "0.5") for number in range(250)]), []
    args.output.parent.mkdir()

    def score(pairs):
        seen.extend(pairs)
        if len(seen) == 250:  # all scored, and killed before the last part was written
            raise KeyboardInterrupt
        return [-float(source) for source, _ in pairs]

    with pytest.raises(KeyboardInterrupt):
        shards.write(args, [], score, "numbers", together=100)
    assert not args.output.exists()
    shards.write(args, [], score, "numbers", together=100)
    assert numbers(args.output) == [-float(number) for number in range(250)]
    assert len(seen) == 250 + 50  # the last part alone was scored again
    assert read_json(records.info(args.output))["lines_out"] == 250


def test_a_part_is_scored_in_steps_so_that_its_progress_shows(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "SHOWN", 100)
    args, steps = arguments(tmp_path, [(str(number), "x") for number in range(250)]), []

    def score(pairs):
        steps.append(len(pairs))
        return [float(source) for source, _ in pairs]

    shards.write(args, [], score, "numbers")
    assert steps == [100, 100, 50] and numbers(args.output) == [*range(250)]


def test_shards_have_the_numbers_of_the_whole(tmp_path):
    lines = [(f"{number} {'word ' * 90}", "x") for number in range(1000)]  # of several frames
    found = []
    for k in (1, 2, 3):
        args = arguments(tmp_path, lines, (k, 3))
        args.output = tmp_path / f"{k}-of-3.tsv.zst"
        shards.write(args, [], lambda pairs: [float(source.split()[0]) for source, _ in pairs], "numbers")
        found.append(numbers(args.output))
    assert [number for part in found for number in part] == list(range(1000)) and all(found)


# What models learn from


def test_text_of_models_has_the_columns_that_they_need(tmp_path):
    one = corpus(tmp_path / "one.tsv.zst", [(f"s{number}", f"t{number}", "0.5") for number in range(300)])
    two = corpus(tmp_path / "two.tsv.zst", [(f"S{number}", f"T{number}") for number in range(100)])
    drawn = {}
    for kind, columns in text.KINDS.items():
        output = tmp_path / f"{kind}.tsv.zst"
        text.text([one, two], columns, 200, 1, output)
        drawn[kind] = list(records.read(output))
        assert [each["drawn"] for each in read_json(records.info(output))["corpora"]] == [150, 50]
    assert len({*drawn["forward"]}) == 200 and drawn["forward"] != sorted(drawn["forward"])
    assert all(source[0] + source[1:] == source and target[1:] == source[1:] for source, target in drawn["forward"])
    assert drawn["backward"] == [pair[::-1] for pair in drawn["forward"]]
    assert drawn["source"] == [(".", source) for source, _ in drawn["forward"]]
    assert drawn["target"] == [(".", target) for _, target in drawn["forward"]]
    text.text([two], text.KINDS["forward"], 1000, 1, tmp_path / "all.tsv.zst")
    assert len(list(records.read(tmp_path / "all.tsv.zst"))) == 100


# Alignment


@pytest.mark.slow
def test_the_aligner_tells_true_pairs_from_others(tmp_path):
    trusted = corpus(tmp_path / "trusted.tsv.zst", PAIRS)
    lines, prefix = (word for pair in PAIRS for word in pair), tmp_path / "spm"
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=lines, model_prefix=str(prefix), vocab_size=400)
    alignment.train(FastAlign, encoded(trusted, tmp_path / "spm.model"), tmp_path / "aligner")
    true = PAIRS[:100]
    shifted = [(source, PAIRS[number + 200][1]) for number, (source, _) in enumerate(true)]
    halves = [(source, " ".join(target.split()[: len(target.split()) // 2])) for source, target in true[:20]]
    scored = corpus(tmp_path / "x.tsv.zst", [*true, *shifted, *halves, ("", "x")])
    options = ("--sentencepiece", tmp_path / "spm.model", "--probabilities", tmp_path / "aligner")
    done = run("alignment", "--input", scored, *options, "--output", tmp_path / "out.tsv.zst")
    assert done.returncode == 0, done.stderr
    assert "pairs a second and core" in done.stderr
    found = np.array(numbers(tmp_path / "out.tsv.zst"))
    assert (found[:100, None] > found[None, 100:200]).mean() > 0.98
    assert (found[:20] > found[200:220]).mean() > 0.8
    assert found[-1] == -100
    known, unknown = FastAlign(tmp_path / "aligner"), ["none", "of", "its", "pieces"] * 4
    scores = [known.score(unknown[:number], unknown[:number]) for number in (1, 2, 4, 16)]
    assert scores == sorted(scores, reverse=True) and scores[0] > -10 > scores[-1]  # few pieces say little


# Translation and domain


def test_dual_cross_entropy_is_that_of_the_paper():
    assert translation.dual(1.0, 1.0) == pytest.approx(math.exp(-1))
    assert translation.dual(1.0, 3.0) == translation.dual(3.0, 1.0) == pytest.approx(math.exp(-4))
    assert translation.dual(0.0, 0.0) == 1


@pytest.mark.slow
def test_a_side_without_pieces_is_no_translation(tmp_path):
    """Forced decoding has nothing to say of it, and 0 would be the best of all cross-entropies."""
    model, shared = tmp_path / "native-float32", folders() / "float32" / "sentencepiece.model"
    read_ctranslate2.read(folders() / "ctranslate2").write("float32", model)
    scored = corpus(tmp_path / "x.tsv.zst", [("▁", "▁"), ("▁", "a"), ("a", "▁")])
    two = ("--models", model, model, "--threads", 1, "--sentencepiece", shared)
    done = run("translation", "--input", scored, *two, "--output", tmp_path / "t.tsv.zst")
    assert done.returncode == 0, done.stderr
    assert numbers(tmp_path / "t.tsv.zst") == [0, 0, 0]


@pytest.mark.slow
def test_models_score_by_forced_decoding_with_their_own_pieces_or_those_of_the_study(tmp_path):
    model, shared = tmp_path / "native-float32", folders() / "float32" / "sentencepiece.model"
    read_ctranslate2.read(folders() / "ctranslate2").write("float32", model)
    shutil.copy(shared, model)
    scored = corpus(tmp_path / "x.tsv.zst", PAIRS[:30])
    two = ("--models", model, model, "--threads", 1, "--sentencepiece", shared)
    done = run("translation", "--input", scored, *two, "--output", tmp_path / "t.tsv.zst")
    assert done.returncode == 0, done.stderr
    own = models.Teacher(model, models.tokenizers(model, None), 1)
    studies = models.Teacher(model, models.tokenizers(model, shared), 1)
    forward = [*studies.score(PAIRS[:30])]
    assert [*own.score(PAIRS[:30])] == forward
    backward = [*studies.score(pair[::-1] for pair in PAIRS[:30])]
    expected = [translation.dual(-one, -other) for one, other in zip(forward, backward, strict=True)]
    assert numbers(tmp_path / "t.tsv.zst") == pytest.approx(expected, abs=1e-6)
    done = run("domain", "--input", scored, *two, "--side", "target", "--output", tmp_path / "d.tsv.zst")
    assert done.returncode == 0, done.stderr
    assert numbers(tmp_path / "d.tsv.zst") == [0.0] * 30  # one model is as surprised as itself


# Embeddings


class Words(BaseHTTPRequestHandler):
    """A server whose vectors are of the words' first letters. seen: bodies; broken: answers before the right ones."""

    seen: ClassVar[list] = []
    broken: ClassVar[list] = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).seen.append((self.path, self.headers.get("Authorization"), body))
        status, answer = type(self).broken.pop(0) if type(self).broken else (200, None)
        data = [{"index": place, "embedding": vector(line)} for place, line in enumerate(body["input"])]
        text = json.dumps({"data": data[::-1]} if answer is None else answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def vector(line):
    found = [1.0] * 26
    for word in line.lower().split():
        found[ord(word[0]) % 26] += 3
    return found


@pytest.fixture
def address():
    Words.seen, Words.broken = [], []
    http = ThreadingHTTPServer(("127.0.0.1", 0), Words)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{http.server_address[1]}/v1"
    http.shutdown()


SENTENCES = ["a b c", "d e f", "g h i", "j k l", "m n o"]


def test_vectors_of_a_server_are_in_the_order_of_the_sentences(address, monkeypatch):
    monkeypatch.setenv("A_KEY", "secret")
    monkeypatch.setattr(server, "BACKOFF_SECONDS", 0.01)
    Words.broken = [(503, {"error": "busy"})]
    settings = EmbeddingsSection(address=address, model="m", key="A_KEY", batch=2, concurrency=2)
    found = embeddings.of_server(settings)(SENTENCES)
    assert found == pytest.approx(embeddings.unit([*map(vector, SENTENCES)], "x"))
    assert {path for path, _, _ in Words.seen} == {"/v1/embeddings"} and {key for _, key, _ in Words.seen} == {
        "Bearer secret"
    }
    assert len(Words.seen) == 4 and all(body["model"] == "m" for *_, body in Words.seen)


def test_a_server_that_is_down_is_asked_by_each_worker_once_and_a_line_says_so(address, monkeypatch, capsys):
    monkeypatch.setattr(server, "BACKOFF_SECONDS", 0.01)
    monkeypatch.setattr(server, "ATTEMPTS", 3)
    Words.broken = [(503, {"error": "down"})] * 1000
    settings = EmbeddingsSection(address=address, model="m", batch=1, concurrency=2)
    with pytest.raises(UserError, match="HTTP 503: down; answers so far are kept"):
        embeddings.of_server(settings)(SENTENCES * 20)
    assert len(Words.seen) <= 2 * (1 + 3) + 4  # the second one may have begun another
    assert "127.0.0.1: HTTP 503, 3 times; goes on trying" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ([(200, {"data": [{"index": 0, "embedding": [1.0]}] * 5})], "or not one `index` for each"),
        ([(200, {"data": []})], "0 embeddings of 5 sentences"),
        ([(200, {"no": 1})], "no embeddings"),
        ([(400, {"error": {"message": "too long"}})], "HTTP 400: too long"),
        ([(401, {"error": "who?"})], "HTTP 401: who?"),
        ([(200, {"data": [{"index": n, "embedding": [0.0]} for n in range(5)]})], "a vector that is zero"),
        ([(200, {"data": [{"index": n, "embedding": [1.0] * (n + 1)} for n in range(5)]})], "of different lengths"),
        *[
            ([(200, {"data": [{"index": n, "embedding": vector} for n in range(5)]})], "no numbers")
            for vector in (["a"], 5, [[1]], [None], "AAAA", [10**400])
        ],
    ],
)
def test_an_answer_that_is_none_is_one_line(address, answers, problem):
    Words.broken = answers
    with pytest.raises(UserError, match=problem) as error:
        embeddings.of_server(EmbeddingsSection(address=address, model="m"))(SENTENCES)
    assert "\n" not in str(error.value)


def test_margin_is_the_ratio_to_the_nearest_neighbours():
    random = np.random.default_rng(1)
    sources, targets = (embeddings.unit(random.normal(size=(9, 4)).tolist(), "x") for _ in range(2))
    found = embeddings.margin(sources, targets, 3)
    for place in range(9):
        of_source = sorted((float(sources[place] @ target) for target in targets), reverse=True)[:3]
        of_target = sorted((float(targets[place] @ source) for source in sources), reverse=True)[:3]
        expected = float(sources[place] @ targets[place]) / max((sum(of_source) + sum(of_target)) / 6, 1e-6)
        assert found[place] == pytest.approx(expected, rel=1e-4)
    assert embeddings.margin(sources[:1], sources[:1], 4) == pytest.approx([1])


COMMAND = "import sys\nfor line in sys.stdin: print(*(1 + 3 * line.count(letter) for letter in 'abcdefghijklmno'))"


@pytest.mark.slow
def test_a_command_scores_a_shard(tmp_path):
    (tmp_path / "embed.py").write_text(COMMAND)
    lines = [(sentence, sentence.upper().lower()) for sentence in SENTENCES] + [("a b c", "m n o")]
    scored = corpus(tmp_path / "x.tsv.zst", lines)
    settings = {"command": f"{sys.executable} {tmp_path / 'embed.py'}", "measure": "cosine"}
    options = ("--input", scored, "--output", tmp_path / "out.tsv.zst")
    done = run("embeddings", json.dumps(settings), *options)
    assert done.returncode == 0, done.stderr
    found = numbers(tmp_path / "out.tsv.zst")
    assert found[:5] == pytest.approx([1] * 5) and found[5] < 0.9


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("/no/such", "/no/such: No such file or directory"),
        ("sh -c 'echo why >&2; exit 3'", r"sh failed \(3\): why"),
        ("echo 1 2", "echo wrote 1 lines for 5 sentences"),
        ("cat", "cat wrote no numbers"),
    ],
)
def test_a_command_that_fails_is_one_line(command, problem):
    with pytest.raises(UserError, match=problem) as error:
        embeddings.of_command(EmbeddingsSection(command=command))(SENTENCES)
    assert "\n" not in str(error.value)
