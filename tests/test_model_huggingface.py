"""export.model reads MarianMT from safetensors and translates as transformers does, written down here in NumPy."""

import numpy as np
import pytest
import sentencepiece
from marian_weights import vocabulary
from models import cut, sentences

from common.errors import UserError
from common.files import read_json, write_json
from decode.translator import Translator
from export.model import export, find
from export.toolkits.found import Options
from formats import safetensors

pytest.importorskip("nmt_frontier_engine", reason="the native engine is not installed here")
LINES = sentences(20)
UNITS, INNER, HEADS, PIECES, PAD, END = 32, 48, 4, 91, 90, 0
CONFIG = {
    "model_type": "marian", "architectures": ["MarianMTModel"], "vocab_size": PIECES, "d_model": UNITS,
    "encoder_layers": 2, "decoder_layers": 1, "encoder_ffn_dim": INNER, "decoder_ffn_dim": INNER,
    "encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS, "activation_function": "swish",
    "scale_embedding": True, "eos_token_id": END, "pad_token_id": PAD, "decoder_start_token_id": PAD,
    "tie_word_embeddings": True, "share_encoder_decoder_embeddings": True,
}  # fmt: skip


def tensors():
    generator = np.random.default_rng(1)

    def matrix(*shape, wide):
        return (generator.standard_normal(shape) * wide).astype(np.float32)

    found = {"model.shared.weight": matrix(PIECES, UNITS, wide=0.3), "final_logits_bias": matrix(1, PIECES, wide=0.5)}
    found["final_logits_bias"][0, [END, PAD]] = 2.0, 50.0  # padding would always win
    for side, layers in (("encoder", 2), ("decoder", 1)):
        for layer in (f"model.{side}.layers.{number}" for number in range(layers)):
            attentions = ["self_attn", *(["encoder_attn"] if side == "decoder" else [])]
            dense = {f"{name}.{part}_proj": (UNITS, UNITS) for name in attentions for part in ("q", "k", "v", "out")}
            for name, shape in {**dense, "fc1": (INNER, UNITS), "fc2": (UNITS, INNER)}.items():
                found[f"{layer}.{name}.weight"] = matrix(*shape, wide=0.4)
                found[f"{layer}.{name}.bias"] = matrix(shape[0], wide=0.2)
            for name in (*(f"{name}_layer_norm" for name in attentions), "final_layer_norm"):
                found[f"{layer}.{name}.weight"] = 1 + matrix(UNITS, wide=0.1)
                found[f"{layer}.{name}.bias"] = matrix(UNITS, wide=0.1)
    return found


class Reference:
    """Greedy search of MarianMT, one sentence at a time, without a cache."""

    def __init__(self, found):
        self.tensors = {name: value.astype(np.float64) for name, value in found.items()}

    def dense(self, name, inputs):
        return inputs @ self.tensors[f"{name}.weight"].T + self.tensors[f"{name}.bias"]

    def norm(self, name, inputs):
        centred = inputs - inputs.mean(1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
        return scaled * self.tensors[f"{name}.weight"] + self.tensors[f"{name}.bias"]

    def attention(self, name, inputs, memory, causal=False):
        parts = zip("qkv", (inputs, memory, memory), strict=True)
        heads = [self.dense(f"{name}.{part}_proj", rows).reshape(len(rows), HEADS, -1) for part, rows in parts]
        scores = np.einsum("qhd,khd->hqk", *heads[:2]) / np.sqrt(UNITS / HEADS)
        if causal:
            scores[:, np.triu(np.ones(scores.shape[1:], bool), 1)] = -np.inf
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = np.einsum("hqk,khd->qhd", shares / shares.sum(-1, keepdims=True), heads[2]).reshape(len(inputs), -1)
        return self.norm(f"{name}_layer_norm", inputs + self.dense(f"{name}.out_proj", mixed))

    def embedded(self, numbers):
        waves = np.arange(len(numbers))[:, None] / 10_000 ** (2 * np.arange(UNITS // 2) / UNITS)
        places = np.concatenate([np.sin(waves), np.cos(waves)], 1)
        return self.tensors["model.shared.weight"][numbers] * np.sqrt(UNITS) + places

    def layers(self, side, states, memory=None):
        for number in range(CONFIG[f"{side}_layers"]):
            layer = f"model.{side}.layers.{number}"
            states = self.attention(f"{layer}.self_attn", states, states, causal=memory is not None)
            if memory is not None:
                states = self.attention(f"{layer}.encoder_attn", states, memory)
            inner = self.dense(f"{layer}.fc1", states)
            outer = self.dense(f"{layer}.fc2", inner / (1 + np.exp(-inner)))
            states = self.norm(f"{layer}.final_layer_norm", states + outer)
        return states

    def translate(self, source, longest=39):
        memory, output = self.layers("encoder", self.embedded([*source, END])), [PAD]
        while len(output) <= longest:
            states = self.layers("decoder", self.embedded(output), memory)
            scores = states[-1] @ self.tensors["model.shared.weight"].T + self.tensors["final_logits_bias"][0]
            scores[PAD] = -np.inf
            if (best := int(scores.argmax())) == END:
                break
            output.append(best)
        return output[1:]


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "opus-mt-en-de"
    folder.mkdir()
    for side in ("source", "target"):
        (folder / f"{side}.spm").write_bytes(vocabulary())
    processor = sentencepiece.SentencePieceProcessor(model_proto=vocabulary())
    write_json(folder / "vocab.json", {**{processor.id_to_piece(n): n for n in range(PAD)}, "<pad>": PAD})
    write_json(folder / "config.json", CONFIG)
    write_json(folder / "generation_config.json", {"bad_words_ids": [[PAD]], "max_length": 40})
    safetensors.write(folder / "model.safetensors", tensors(), {"format": "pt"})
    return folder


def test_it_translates_as_the_reference(folder, tmp_path, capsys):
    export(folder, tmp_path / "out", ["float32"], Options())
    told = capsys.readouterr().out
    count = sum(value.size for value in tensors().values())
    assert "2:1 d32 ff48 h4 shared" in told and "en to de" in told and f"{count:,}" in told
    processor, reference = sentencepiece.SentencePieceProcessor(model_proto=vocabulary()), Reference(tensors())
    expected = [processor.decode(reference.translate(processor.encode(line))) for line in LINES]
    assert [*Translator(tmp_path / "out/native-float32").translate(LINES)] == expected
    assert len({*expected}) > 10


def test_shards_and_half_precision(folder, tmp_path):
    found = tensors()
    names = sorted(found)
    for number, part in enumerate((names[::2], names[1::2])):
        safetensors.write(folder / f"model-{number}.safetensors", {name: found[name] for name in part}, {})
    where = {name: f"model-{number % 2}.safetensors" for number, name in enumerate(names)}
    write_json(folder / "model.safetensors.index.json", {"weight_map": where})
    whole = find(folder, Options()).model.tensors("float32")[0]
    (folder / "model.safetensors").unlink()
    parts = find(folder, Options()).model.tensors("float32")[0]
    assert whole.keys() == parts.keys() and all((whole[name] == parts[name]).all() for name in whole)
    (folder / "model-1.safetensors").unlink()
    with pytest.raises(UserError, match=r"its shard model-1\.safetensors is missing; get the model again"):
        find(folder, Options())


def test_a_language_begins_a_source(folder, tmp_path):
    numbers = {**read_json(folder / "vocab.json"), "<pad>": PAD}
    piece = next(piece for piece, number in numbers.items() if number == 50)
    write_json(folder / "vocab.json", {(">>deu<<" if name == piece else name): n for name, n in numbers.items()})
    export(folder, tmp_path / "out", ["float32"], Options())
    encode = Translator(tmp_path / "out/native-float32")._tokenizer.encode
    assert encode(f">>deu<< {LINES[0]}") == [">>deu<<", *encode(LINES[0])]


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("model.safetensors", lambda path: cut(path, 0.5), "not a safetensors file, cut off or damaged"),
        ("model.safetensors", lambda path: path.write_bytes(b"PK\3\4" * 9), "not a safetensors file, cut off or dam"),
        ("model.safetensors", lambda path: path.rename(path.with_name("pytorch_model.bin")), "is a pickle, which can"),
        ("source.spm", lambda path: path.unlink(), "no tokenizer in it; MarianMT has"),
        ("vocab.json", lambda path: write_json(path, {"</s>": 0, "<unk>": 1}), "have 91 rows for 2 pieces"),
        ("vocab.json", lambda path: write_json(path, {"</s>": 0, "<unk>": 2}), "its numbers have gaps"),
        ("config.json", lambda path: write_json(path, CONFIG | {"model_type": "bart"}), "is a model of type bart; of"),
        ("config.json", lambda path: write_json(path, CONFIG | {"activation_function": "gelu"}), "has no gelu, only"),
        ("config.json", lambda path: write_json(path, CONFIG | {"d_model": None}), "lacks d_model"),
        ("config.json", lambda path: write_json(path, CONFIG | {"encoder_layers": 1}), "does not know model.encoder.l"),
    ],
)  # fmt: skip
def test_faults_in_one_line(folder, file, change, message):
    change(folder / file)
    with pytest.raises(UserError, match=message) as caught:
        find(folder, Options())
    assert "\n" not in str(caught.value)
