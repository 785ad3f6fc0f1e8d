"""The arguments of a call, with CTranslate2's defaults, and those that the engine does not have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nmt_frontier.bindings import Options
from nmt_frontier.ctranslate2.results import TranslationResult

# Arguments of CTranslate2 that the engine does not have, and the values without effect.
UNSUPPORTED = {
    "patience": 1, "coverage_penalty": 0, "repetition_penalty": 1, "disable_unk": False, "suppress_sequences": None,
    "end_token": None, "return_end_token": False, "prefix_bias_beta": 0, "return_logits_vocab": False,
    "return_alternatives": False, "sampling_topk": 1, "callback": None, "flash_attention": False,
    "tensor_parallel": False, "files": None,
}  # fmt: skip
OF_OPENING = ("flash_attention", "tensor_parallel", "files")  # those of the constructor
UNUSED = ("sampling_topp", "sampling_temperature", "min_alternative_expansion_prob")  # without sampling, alternatives


@dataclass(frozen=True)
class Request:
    """What a call of ``translate_batch`` asks for, with CTranslate2's defaults."""

    beam_size: int = 2
    num_hypotheses: int = 1
    length_penalty: float = 1
    no_repeat_ngram_size: int = 0
    max_input_length: int = 1024
    max_decoding_length: int = 256
    min_decoding_length: int = 1
    use_vmap: bool = False
    return_scores: bool = False
    return_attention: bool = False
    replace_unknowns: bool = False

    def __post_init__(self) -> None:
        if self.beam_size < 1:
            raise ValueError("The beam size must be > 0")
        if self.num_hypotheses > self.beam_size:
            raise ValueError("The number of hypotheses cannot be greater than beam_size")
        if self.min_decoding_length > self.max_decoding_length:
            raise ValueError("The minimum decoding length is greater than the maximum decoding length")

    def options(self, prefix: int, mapped: bool, positions: int) -> Options:
        """prefix: its length, which counts in the lengths of CTranslate2 but not in the engine's."""
        return Options(
            beam_size=self.beam_size,
            n_best=self.num_hypotheses,
            length_penalty=self.length_penalty,
            shortest=max(self.min_decoding_length - prefix, 0),
            longest=max(min(self.max_decoding_length, positions) - prefix, 1),
            blocked_ngram=self.no_repeat_ngram_size,
            vocabulary_map=self.use_vmap and mapped,
            scores=self.return_scores,
        )

    def empty(self) -> TranslationResult:
        """The result of a sentence without pieces."""
        every = range(self.num_hypotheses)
        scores = [0.0 for _ in every] if self.return_scores else []
        return TranslationResult([[] for _ in every], scores, [[] for _ in every] if self.return_attention else [])


def supported(options: dict[str, Any]) -> dict[str, Any]:
    """The options that the engine has. Raises NotImplementedError for others that would have an effect."""
    known = Request.__dataclass_fields__
    refuse({name: value for name, value in options.items() if name not in known and name not in UNUSED})
    return {name: value for name, value in options.items() if name in known}


def refuse(others: dict[str, object]) -> None:
    for name, value in others.items():
        if name not in UNSUPPORTED:
            raise TypeError(f"CTranslate2's Translator has no argument {name!r}")
        if value != UNSUPPORTED[name]:
            raise NotImplementedError(f"{name}={value!r}: the native engine does not have it")
