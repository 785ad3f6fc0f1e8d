"""Imported models translate as in transformers: random weights of every architecture, greedy and beam search."""

import optional
import pytest
from huggingface_models import CONFIGS, LANGUAGES, PAD, write
from models import sentences

from nmt_frontier.importers.found import ImportOptions
from nmt_frontier.importers.model import export
from nmt_frontier.model import native_weights, safetensors
from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.translator import LineTokenizer

pytestmark = pytest.mark.optional
torch, transformers = optional.modules("torch", "transformers")
engine = pytest.importorskip("nmt_frontier.bindings", reason="the native engine is not installed here")
torch.set_num_threads(1)
LINES = sentences(12)
LONGEST = 20
# Beams stop as the engine's: transformers' own rule goes on while a longer translation might be better.
SEARCHES = {
    "greedy": ({"num_beams": 1}, {"beam_size": 1}),
    "beam 4": ({"num_beams": 4, "early_stopping": True}, {"beam_size": 4}),
    "beam 5": (
        {"num_beams": 5, "early_stopping": True, "length_penalty": 0.5},
        {"beam_size": 5, "length_penalty": 0.5},
    ),
    **{
        f"no {size}-gram twice": ({"num_beams": 1, "no_repeat_ngram_size": size}, {"blocked_ngram": size})
        for size in (1, 2, 3)
    },
}  # fmt: skip
MODELS = {
    **{kind: (kind, {}) for kind in CONFIGS},
    "gelu by tanh": ("m2m_100", {"activation_function": "gelu_new"}),
    "swish": ("mbart", {"activation_function": "swish"}),
    "two heads of 16": ("bart", {"encoder_attention_heads": 2, "decoder_attention_heads": 2}),
    "heads of a side": ("m2m_100", {"encoder_attention_heads": 2, "decoder_attention_heads": 8}),
    "feed-forward units not of 16": ("bart", {"encoder_ffn_dim": 41, "decoder_ffn_dim": 50}),
    "embeddings as they are": ("mbart", {"scale_embedding": False}),
    "layers of a side": ("bart", {"encoder_layers": 1, "decoder_layers": 3}),
    "tied, but not scaled": ("mt5", {"tie_word_embeddings": True}),  # as transformers 5 saves mT5
    "relu, gated": ("mt5", {"feed_forward_proj": "gated-relu"}),
    "silu, gated": ("t5", {"feed_forward_proj": "gated-silu"}),
    "gelu": ("t5", {"feed_forward_proj": "gelu"}),
    "heads of 12": ("t5", {"d_kv": 12}),
    "other buckets": ("t5", {"relative_attention_num_buckets": 16, "relative_attention_max_distance": 40}),
}


@pytest.fixture(params=MODELS.values(), ids=MODELS, scope="module")
def both(request, tmp_path_factory):
    """The model in transformers, a worker of the engine, sources in numbers, and how translations begin."""
    kind, config = request.param
    folder = tmp_path_factory.mktemp("models") / "model"
    write(folder, kind, **config)
    if kind == "marian":  # transformers blocks it after the softmax, so its probability would count in beam search
        tensors = {name: value.copy() for name, value in safetensors.read(folder / "model.safetensors").items()}
        tensors["final_logits_bias"][0, PAD] = -30
        safetensors.write(folder / "model.safetensors", tensors, {"format": "pt"})
    export(folder, folder / "out", ["float32"], ImportOptions(languages=LANGUAGES.get(kind)))
    made = folder / "out/native-float32"
    vocabulary = Vocabulary.read(made)
    sources = [vocabulary.numbers(LineTokenizer(made).encode(line)) for line in LINES]
    prefix = [vocabulary.target_numbers[piece] for piece in vocabulary.target_prefix]
    worker = engine.Worker(engine.Model(made / native_weights.NAME))
    return transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval(), worker, sources, prefix


@pytest.mark.parametrize(("theirs", "ours"), SEARCHES.values(), ids=SEARCHES)
def test_it_translates_as_transformers(both, theirs, ours):
    model, worker, sources, prefix = both
    end = model.config.eos_token_id
    forced = {"forced_bos_token_id": prefix[0] if prefix else None, "forced_eos_token_id": None, "do_sample": False}
    length = {"max_length": LONGEST + 1 + len(prefix)}  # with the first input
    options = engine.Options(longest=LONGEST, scores=True, as_transformers=True, **ours)
    found = worker.translate(sources, options, [prefix] * len(sources) if prefix else None)
    for source, (best, *_) in zip(sources, found, strict=True):
        with torch.no_grad():
            expected = model.generate(
                torch.tensor([source]), return_dict_in_generate=True, output_scores=True, **theirs, **forced, **length
            )
        pieces = expected.sequences[0].tolist()[1:]
        assert best.pieces == (pieces[:-1] if pieces[-1] == end else pieces)
        if theirs["num_beams"] > 1:
            assert best.score == pytest.approx(expected.sequences_scores.item(), abs=1e-4)
    assert len({tuple(best.pieces) for best, *_ in found}) > 2
