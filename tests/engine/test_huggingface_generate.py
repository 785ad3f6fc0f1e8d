"""``nmt_frontier.huggingface.accelerate``: ``generate`` gives what transformers gives."""

import warnings

import optional
import pytest

pytestmark = pytest.mark.optional
torch, transformers = optional.modules("torch", "transformers")
engine = pytest.importorskip("nmt_frontier.huggingface", reason="the native engine is not installed here")

PIECES, PAD, END = 96, 95, 0
SHAPE = dict(
    vocab_size=PIECES, d_model=32, activation_function="swish", max_position_embeddings=128, init_std=0.6,
    pad_token_id=PAD, eos_token_id=END, decoder_start_token_id=PAD, forced_eos_token_id=END,
    **{f"{side}_{name}": size for side in ("encoder", "decoder")
       for name, size in (("layers", 2), ("attention_heads", 2), ("ffn_dim", 64))},
)  # fmt: skip


def made():
    """A model with random weights, wide enough to be sure, that ends translations and never says padding."""
    torch.manual_seed(1)
    model = transformers.MarianMTModel(transformers.MarianConfig(**SHAPE)).eval()
    model.final_logits_bias[0, PAD], model.final_logits_bias[0, END] = -30.0, 6.0
    return model


@pytest.fixture(scope="module")
def models():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return made(), engine.accelerate(made(), threads=1)


def batch(count=60):
    torch.manual_seed(2)
    lengths = torch.randint(1, 13, (count, 1))
    ids = torch.randint(2, PAD, (count, 14))
    places = torch.arange(14)[None]
    ids = ids.where(places < lengths, END).where(places <= lengths, PAD)
    return {"input_ids": ids, "attention_mask": (ids != PAD).long()}


BEAM = {"num_beams": 4, "max_length": 30}
OPTIONS = {
    "greedy": {"max_length": 30},
    "two beams": {"num_beams": 2, "max_length": 20},
    "greedy with limits": {"max_length": 30, "min_length": 9, "no_repeat_ngram_size": 2},
    "no piece twice": {"max_length": 30, "no_repeat_ngram_size": 1},
    "a forced piece": {"max_new_tokens": 8, "forced_bos_token_id": 17},
    "beams with limits": {"num_beams": 5, "max_length": 20, "min_new_tokens": 6, "no_repeat_ngram_size": 2},
    "beams and a forced piece": {**BEAM, "max_length": 12, "forced_bos_token_id": 5},
    **{f"early_stopping {early}, length_penalty {penalty}": {**BEAM, "early_stopping": early, "length_penalty": penalty}
       for early in (True, False, "never") for penalty in (0.0, 0.6, 2.0)},
}  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_it_generates_what_transformers_does(models, options):
    beams = options.get("num_beams", 1)
    more = {"return_dict_in_generate": True, "output_scores": True, "num_return_sequences": beams} if beams > 1 else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected, found = (model.generate(**batch(), **options, **more) for model in models)
    if beams == 1:
        assert torch.equal(found, expected)
        return
    torch.testing.assert_close(found.sequences_scores, expected.sequences_scores, rtol=0, atol=1e-4)
    same = (found.sequences == expected.sequences).all(dim=1)
    assert same.float().mean() >= 0.97  # hypotheses of almost equal scores may change places


REFUSED = {
    "do_sample": {"do_sample": True},
    "repetition_penalty": {"repetition_penalty": 1.2},
    "output_scores": {"output_scores": True, "return_dict_in_generate": True},
    "output_attentions": {"output_attentions": True, "return_dict_in_generate": True},
    "decoder_input_ids": {"decoder_input_ids": torch.full((60, 1), PAD)},
    "logits_processor": {"logits_processor": transformers.LogitsProcessorList([lambda ids, scores: scores])},
    "eos_token_id": {"eos_token_id": [END, 3]},
    "bad_words_ids": {"bad_words_ids": [[7]]},
    "positions": {"max_length": 100_000, "max_time": None},
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_calls_run_in_transformers_and_say_why_once(models, name, monkeypatch):
    called = []
    monkeypatch.setattr(models[1].generate, "_original", lambda *given, **options: called.append(options))
    with pytest.warns(UserWarning, match=f"generate runs in transformers: .*{name}"):
        models[1].generate(**batch(), **REFUSED[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        models[1].generate(**batch(), **REFUSED[name])
    assert len(called) == 2


def test_a_model_that_the_engine_lacks_stays_as_it_is():
    model = transformers.MarianMTModel(transformers.MarianConfig(**{**SHAPE, "activation_function": "tanh"}))
    with pytest.warns(UserWarning, match="generate runs in transformers: the native engine has no tanh"):
        assert engine.accelerate(model) is model
    assert "generate" not in vars(model)
