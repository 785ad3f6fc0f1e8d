"""What people send and what others' engines got wrong: each test is of a public report, named with its project."""

import io
import itertools
import random
from contextlib import suppress
from types import SimpleNamespace

import ctranslate2
import native
import numpy as np
import pytest
import sentencepiece
import yaml
from models import folders, sentences
from translation import run

from decode.engines.ctranslate2 import CTranslate2
from formats import marian, opennmt_tf
from nmt_frontier.command.translate import report, resumable_output, translate
from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.model.vocabulary_map import SPECIAL
from nmt_frontier.search.native import Native
from nmt_frontier.search.pipeline import Pipeline
from nmt_frontier.sentence import has_letters
from nmt_frontier.translator import LineTokenizer, Translator
from train.vocabulary import train

COPIED = ["-", "—", "...", "42", "18.10", "€ 18,10", "1,000,000", "12:30 - 14:00", "😀", "2 × 3 = 6", "²", "…", "?!"]
ODD = ['say "a"', "it's", "a\\b", "\\", ":", "a: b", "'", '"', "- #", "{a}", "[b, c]", "& *", "!x", "%y", "@z", "| >"]


@pytest.fixture(scope="module", params=["ctranslate2", "native"])
def model(request):
    return folders()["float32"] if request.param == "ctranslate2" else native.folders() / "int8"


@pytest.mark.parametrize("beam", [1, 4])
def test_a_sentence_of_one_character_does_not_depend_on_its_batch(model, beam):
    """OpenNMT-py 2039."""
    letters = [*"abcdefgh"]
    translator = Translator(model, beam, vocabulary_map=False, workers=1, batch_tokens=4000)
    alone = [next(translator.translate([letter])) for letter in letters]
    mixed = [text for pair in zip(sentences(len(letters)), letters, strict=True) for text in pair]
    assert [*translator.translate(mixed)][1::2] == alone
    assert len(set(alone)) > 2


@pytest.mark.parametrize("beam", [1, 4])
def test_what_has_no_letter_is_copied(model, beam):
    """transformers 14337."""
    translator = Translator(model, beam)
    lines = [text for pair in zip(COPIED, sentences(len(COPIED)), strict=True) for text in pair]
    found = [*translator.translate(lines)]
    assert found[::2] == COPIED and found[1::2] == [*translator.translate(lines[1::2])]
    assert [*translator.translate([" - ", "\ufeff7\u00a0", "\u200b", "\u3000"])][:2] == ["-", "7"]
    assert not any([*translator.translate(["", " ", "\u00a0", "\u3000", "\u200b", "\ufeff"])])
    assert has_letters("µ") and has_letters("三") and has_letters("5 m") and not has_letters("5 ㎡")


@pytest.mark.parametrize("hidden", ["\xad", "\u200b", "\u200d", "\u200e", "\u2060", "\ufeff", "\ufe0f", "\U000e0041"])
def test_an_invisible_character_changes_nothing(model, hidden):
    """Wherever it stands."""
    lines = sentences(4, seed=11)
    changed = [line.replace(" ", f"{hidden} ", 1).replace("a", f"a{hidden}") + hidden for line in lines]
    translator = Translator(model)
    assert [*translator.translate([*changed, hidden, f" {hidden}"])] == [*translator.translate(lines), "", ""]


@pytest.mark.parametrize("kind", ["float32", "int8"])
def test_a_map_causes_no_unknown_piece(kind):
    """CTranslate2 643. With bytes: test_byte_fallback."""
    lines = [*sentences(60), *(f"{word} xyz 北京" for word in sentences(20, seed=3))]
    for folder in (folders()[kind], native.folders() / kind):
        with_map, without = (Translator(folder, vocabulary_map=used, end_loops=False) for used in (True, False))
        pieces = [[*batch] for batch in with_map.pipeline.cut(lines)]
        unknown = [sum(output.count("<unk>") for batch in pieces for output in translator.engine.translate(batch))
                   for translator in (with_map, without)]  # fmt: skip
        assert unknown[0] <= unknown[1] and sum(map(len, pieces)) == len(lines)


def first_scores(engine, folder, kind, sources, targets):
    """The log probabilities of pieces that translations may begin with, without a map; the first one is the end's."""
    begun = [[[], *([piece] for piece in allowed)] for allowed in targets]
    pairs = [(source, target) for source, choice in zip(sources, begun, strict=True) for target in choice]
    sources, targets = zip(*pairs, strict=True)
    if engine is CTranslate2:
        model = ctranslate2.Translator(str(folder), compute_type=kind)
        results = model.score_batch([*sources], [*targets], max_batch_size=2000)
        found = iter([result.log_probs[0] for result in results])
    else:
        vocabulary = Vocabulary.read(folder)
        numbers = [[vocabulary.target_numbers[piece] for piece in target] for target in targets]
        found = (scores[0] for scores in native.worker(kind).score([*map(vocabulary.numbers, sources)], numbers))
    return [[*itertools.islice(found, len(choice))] for choice in begun]


@pytest.mark.parametrize("engine", [CTranslate2, Native])
def test_8_bits_with_a_map_leave_lines_empty_for_their_rounding_only(engine):
    """sockeye 838.

    A translation is empty if its end has a higher score than every piece that the map allows. With 8 bits and a map, a
    line is empty if and only if that holds of the scores which the model in 8 bits has without a map: the map adds
    nothing. More lines are empty than in float32, as scores are rounded: each of these is a near tie, where rounding
    moves the scores of lines that stay as they are by more than the two are apart.
    """
    lines = sentences(200, seed=5)
    ahead, empty = {}, {}  # how far the best piece is ahead of the end
    for kind in ("float32", "int8"):
        folder = folders()[kind] if engine is CTranslate2 else native.folders() / kind
        pieces = [*map(LineTokenizer(folder).encode, lines)]
        allowed = [engine.read_map(folder, pieces).candidates([line]) - {*SPECIAL} for line in pieces]
        scores = first_scores(engine, folder, kind, pieces, allowed)
        ahead[kind] = np.array([max(others) - end for end, *others in scores])
        empty[kind] = np.array([not text for text in Translator(folder).translate(lines)])
        assert np.array_equal(empty[kind], ahead[kind] < 0) and 0 < empty[kind].sum() < 190
    moved = np.abs(ahead["int8"] - ahead["float32"])
    more = empty["int8"] & ~empty["float32"]
    assert more.sum() >= (engine is Native)  # whose arithmetic is that of every CPU
    assert np.all(ahead["float32"][more] < moved[empty["int8"] == empty["float32"]].max())


def test_copying_is_switched_off(model):
    translated = [*Translator(model, copying=False).translate(COPIED)]
    assert translated != COPIED
    text = "".join(f"{line}\n" for line in COPIED).encode()
    assert run("--model", model, text=text).stdout == text
    assert run("--model", model, "--no-copying", text=text).stdout.decode().splitlines() == translated


def test_a_limit_names_the_lines_that_it_cuts(model, tmp_path):
    """CTranslate2 533."""
    lines = [b"ab" if number % 3 else b"ab " * 1001 for number in range(40)]
    done = run("--model", model, "--no-copying", text=b"\n".join(lines))
    cut = "14 lines longer than 1000 pieces cut there: lines 1, 4, 7, 10, 13, 16, 19, 22, 25, 28, ...\n"
    assert cut in done.stderr.decode()


def alone(pipeline):
    """A translator of this pipeline without stages."""
    search = SimpleNamespace(samples=1)
    return SimpleNamespace(pipeline=pipeline, search=search, counts=pipeline.counts, windows=pipeline.windows)


def test_a_limit_names_the_translations_that_it_cuts(capsys):
    words = SimpleNamespace(encode=str.split, decode=" ".join, text=str)
    pipeline = Pipeline(words, lambda batch: [["x"] * min(len(sentence), 3) for sentence in batch], 4, longest_output=3)
    source = io.BytesIO(b"a b\na b c\n\na b c d e\na\n")
    report(translate(alone(pipeline), source, io.BytesIO()), 1000, 3)
    assert capsys.readouterr().err == "2 translations cut off at 3 pieces: lines 2, 4\n"


def test_lines_are_named_over_all_runs(tmp_path, capsys):
    words = SimpleNamespace(encode=str.split, decode=" ".join, text=str)
    text = "".join(f"{'a ' * count}\n" for count in (8, 9, 8, 10)).encode()  # a window each

    def killed(batch):
        assert len(batch[0]) < 10
        return [sentence[:9] for sentence in batch]

    for decode in (killed, lambda batch: [sentence[:9] for sentence in batch]):
        source = io.BytesIO(text)
        with (
            suppress(AssertionError),
            resumable_output(tmp_path / "out", {}, decode is not killed, source) as target,
        ):
            counts = translate(alone(Pipeline(words, decode, 1, longest_output=9)), source, target)
    assert (tmp_path / "out").read_text().count("\n") == 4
    report(counts, 1000, 9)
    assert capsys.readouterr().err == "2 translations cut off at 9 pieces: lines 2, 4\n"


@pytest.mark.parametrize(("kind", "threads"), [("float32", 1), ("int8", 2)])
def test_scores_of_many_pairs_are_those_of_each_alone(kind, threads):
    """CTranslate2 1497."""
    worker, count = native.worker(kind, threads), 997
    sources, targets = native.sentences(count, seed=7, longest=6), native.sentences(count, seed=8, longest=6)
    order = random.Random(1).sample(range(count), count)
    shuffled = worker.score([sources[place] for place in order], [targets[place] for place in order])
    scores = worker.score(sources, targets)
    assert all(np.array_equal(scores[place], found) for place, found in zip(order, shuffled, strict=True))
    one_by_one = [worker.score([source], [target])[0] for source, target in zip(sources, targets, strict=True)]
    assert all(map(np.array_equal, scores, one_by_one))


def test_pieces_of_any_marks_are_in_every_vocabulary_file(tmp_path):
    """marian-dev 445."""
    pieces = [f"▁{text}" for text in ODD] + [*"\"\\:'#-[]{}&*!%@|>,?`"]
    lines = [f"{piece}\n" for piece in (*opennmt_tf.CONTROL, *pieces)]
    (tmp_path / "vocabulary.txt").write_text("".join(lines), encoding="utf-8")
    assert opennmt_tf.read_vocabulary(tmp_path / "vocabulary.txt")[3:] == pieces
    found = marian.entries(tmp_path / "vocabulary.txt")
    marian.write_vocabulary(found, tmp_path / "vocab.yml")
    assert yaml.safe_load((tmp_path / "vocab.yml").read_text(encoding="utf-8")) == dict(zip(found, itertools.count()))
    Vocabulary(pieces, pieces[::-1], pieces[0]).write(tmp_path)
    read = Vocabulary.read(tmp_path)
    assert (read.source, read.target, read.unknown) == (pieces, pieces[::-1], pieces[0])


@pytest.mark.parametrize(("normalization", "expected"), [("nmt_nfkc", "aTM 2 abc 1"), ("identity", "a™ ² ａｂｃ １")])
def test_characters_come_back_as_the_configuration_says(normalization, expected):
    tokenizer = train(
        [*sentences(100), "a™ ² ａｂｃ １"] * 3, "unigram", 330, 1.0, 1, normalization, byte_fallback=True
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer)
    assert processor.decode(processor.encode("a™ ² ａｂｃ １", out_type=str)) == expected
