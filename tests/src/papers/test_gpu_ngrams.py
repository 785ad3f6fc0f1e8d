"""Three ways to block repeated n-grams, without a GPU: Triton's kernel runs piece by piece in NumPy."""

import importlib
import sys
from types import SimpleNamespace

import numpy as np
import optional
import pytest

from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json

pytestmark = [pytest.mark.slow, pytest.mark.optional]
torch, transformers = optional.modules("torch", "transformers")
assert transformers.BartForConditionalGeneration  # loaded while nothing stands for Triton
NAME = "papers.fastseq2021.gpu_ngrams"
ROWS, LENGTH = 4, 40


class Pointer:
    """A place in a tensor, or many."""

    def __init__(self, memory, places=0):
        self.memory, self.places = memory, places

    def __add__(self, further):
        return Pointer(self.memory, self.places + further)

    def __sub__(self, less):
        return self + -less


class Language:
    """The operations of triton.language that the kernel has, for one program after the other."""

    constexpr = int
    arange, static_range = staticmethod(np.arange), range

    def program_id(self, _axis):
        return self.row

    def load(self, pointer, mask=True, other=0):
        places = np.where(mask, pointer.places, 0)
        return np.where(mask, pointer.memory[places], other)

    def store(self, pointer, value, mask):
        pointer.memory[pointer.places[mask]] = value


@pytest.fixture
def program(monkeypatch):
    language = Language()

    class Kernel:
        def __init__(self, function):
            self.function = function

        def __getitem__(self, grid):
            return lambda *arguments: [self.run(row, *arguments) for row in range(*grid)]

        def run(self, row, pieces, scores, *others):
            language.row = row
            flat = (torch.as_strided(tensor, (tensor.untyped_storage().nbytes() // tensor.itemsize,), (1,)).numpy()
                    for tensor in (pieces, scores))  # fmt: skip
            self.function(*map(Pointer, flat), *others)

    triton = SimpleNamespace(jit=Kernel, next_power_of_2=lambda size: 1 << (size - 1).bit_length(), language=language)
    with monkeypatch.context() as patch:  # PyTorch looks for it, too, later
        patch.setitem(sys.modules, "triton", triton)
        patch.setitem(sys.modules, "triton.language", language)
        importlib.import_module(NAME)
    return sys.modules.pop(NAME)


@pytest.fixture
def on_cpu(program, monkeypatch):
    for name, result in {"is_available": True, "synchronize": None, "get_device_name": "none"}.items():
        monkeypatch.setattr(torch.cuda, name, lambda result=result: result)
    monkeypatch.setattr(program, "version", lambda name: "1")
    monkeypatch.setattr(program, "DEVICE", "cpu")
    monkeypatch.setattr(program, "DRAWN", 9)  # so that n-grams repeat
    return program


def test_all_ways_ban_the_pieces_that_would_repeat_an_n_gram(program):
    assert program.banned([1, 2, 3, 1, 2]) == [3] and program.banned([1, 2]) == program.banned([1, 2, 3]) == []
    assert program.banned([1, 1, 1, 1]) == [1, 1] and program.banned([5, 1, 2, 7, 1, 2, 9, 1, 2]) == [7, 9]
    pieces = torch.randint(5, (ROWS, LENGTH), generator=torch.Generator().manual_seed(1))
    for length in range(1, LENGTH + 1):
        found = {way: torch.zeros(ROWS, 10) for way in program.WAYS}
        for way, block in program.WAYS.items():
            block(pieces[:, :length], found[way])
        for row, hypothesis in enumerate(pieces[:, :length].tolist()):
            marked = found["scan"][row].isinf().nonzero().flatten().tolist()
            assert marked == sorted({*program.banned(hypothesis)})
        assert all(torch.equal(scores, found["scan"]) for scores in found.values()), length


def test_blocking_is_timed_in_all_ways(on_cpu, tmp_path, monkeypatch):
    call = [
        "x",
        "--rows",
        ROWS,
        "--length",
        LENGTH,
        "--runs",
        2,
        "--batches",
        "--output",
        output := tmp_path / "x.json",
    ]
    monkeypatch.setattr(sys, "argv", [*map(str, call)])
    on_cpu.main()
    found = read_json(output)
    assert {*found["blocking_milliseconds"]} == {*on_cpu.WAYS} and found["rows"] == ROWS
    for spread in (*found["blocking_milliseconds"].values(), *found["times_faster"].values()):
        assert 0 < spread["lowest"] <= spread["median"] <= spread["highest"]
    monkeypatch.setitem(on_cpu.WAYS, "kernel", lambda pieces, scores: None)
    with pytest.raises(UserError, match="the ways do not ban the same pieces"):
        on_cpu.main()


def test_transformers_searches_with_each_way(program):
    """No n-gram comes twice, as with transformers' own blocking."""
    torch.manual_seed(1)
    sizes = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "vocab_size": 20}
    sizes |= {f"{side}_{name}": 2 for side in ("encoder", "decoder") for name in ("attention_heads", "ffn_dim")}
    model = program.BartForConditionalGeneration(program.BartConfig(**sizes, forced_eos_token_id=None)).eval()
    sources = torch.randint(4, 20, (2, 6))

    def generate(**options):
        return model.generate(input_ids=sources, num_beams=2, min_new_tokens=12, max_new_tokens=12, **options).tolist()

    own = generate(no_repeat_ngram_size=program.SIZE)
    assert own != generate()
    for way in program.WAYS.values():
        assert generate(logits_processor=program.LogitsProcessorList([program.Blocking(way)])) == own


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_there_is_one_line(program, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["x", "--output", "x.json"])
    with pytest.raises(UserError, match="PyTorch finds no GPU here"):
        program.main()
