"""Whole models with random weights: their vocabularies, and a tiny one that both programs decode."""

import gzip
import sys

import pytest
import sentencepiece
from models import sentencepiece_model, sentences

from nmt_frontier.files import read_json, write_json
from papers.fastseq2021 import random_models, same_outputs
from papers.fastseq2021.random_models import MODELS

LENGTH, COUNT = 5, 6  # pieces of a translation, sentences


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("tokenizer") / "x.model"
    path.write_bytes(sentencepiece_model())
    return path


@pytest.mark.parametrize("name", MODELS)
def test_every_piece_has_a_number_of_the_vocabulary(name, tokenizer):
    shape = MODELS[name]
    fields, files = random_models._vocabulary(shape, tokenizer)
    size = shape.config["vocab_size"]
    assert all(number < size for number in fields.values())
    if shape.kind == "t5":
        return
    numbers, processor = files["vocab.json"], sentencepiece.SentencePieceProcessor(model_file=str(tokenizer))
    assert {processor.id_to_piece(number) for number in range(processor.get_piece_size())} - {"<s>"} <= {*numbers}
    assert sorted(numbers.values())[-1] < size and len({*numbers.values()}) == len(numbers) > size - 20
    ends = {"</s>": shape.config["eos_token_id"]} | ({"<pad>": size - 1} if shape.kind == "marian" else {})
    assert ends.items() <= numbers.items()


def test_a_difference_is_where_the_first_piece_is_another():
    found = same_outputs.difference([1, 2], [5, 6, 7], [5, 8, 9], lambda source, output: [-1.0, -output[1], -0.5])
    assert found == {
        "source_pieces": 2,
        "place": 1,
        "log_probability": {"transformers": -7.5, "native": -9.5},
        "of_the_piece": {"transformers": -6.0, "native": -8.0},
    }


@pytest.mark.slow
@pytest.mark.optional("torch", "transformers")
def test_both_decode_a_tiny_model_alike_and_go_on_where_the_file_ends(tokenizer, tmp_path, monkeypatch, capsys):
    with gzip.open(text := tmp_path / "text.gz", "wt", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in sentences(30)))

    def compared(output, *beams):
        call = ["x", "tiny", "--text", text, "--tokenizer", tokenizer, "--folder", tmp_path, "--output", output]
        call += ["--sentences", COUNT, "--length", LENGTH, "--batch", 2, "--beams", *beams]
        monkeypatch.setattr(sys, "argv", [*map(str, call)])
        same_outputs.main()
        return read_json(output)["runs"]

    greedy, beam = compared(tmp_path / "a.json", 1, 2)
    for run in (greedy, beam):
        assert (run["model"], run["batches"], run["compared"]) == ("tiny", COUNT / 2, COUNT)
        for one in run["different"]:  # two pieces that are as likely
            assert abs(one["log_probability"]["native"] - one["log_probability"]["transformers"]) < 1e-3
    result = read_json(tmp_path / "a.json")
    result["runs"][0] |= {"batches": 2, "compared": 4, "different": []}
    write_json(tmp_path / "a.json", result)
    capsys.readouterr()
    again, _ = compared(tmp_path / "a.json", 1, 2)
    assert capsys.readouterr().out.splitlines() == [f"tiny, beam 1: {COUNT - len(again['different'])} of {COUNT}"]

    def with_another_end(*arguments, real=same_outputs.in_native):
        translate = real(*arguments)
        return lambda batch: [[*output[:-1], output[-1] ^ 1] for output in translate(batch)]

    monkeypatch.setattr(same_outputs, "in_native", with_another_end)
    (run,) = compared(tmp_path / "b.json", 1)
    places = [one["place"] for one in run["different"]]
    assert len(places) == COUNT and places.count(LENGTH - 1) >= COUNT - len(greedy["different"])
    for one in run["different"]:  # greedy search takes the likeliest piece
        assert one["of_the_piece"]["transformers"] > one["of_the_piece"]["native"] - 1e-4
