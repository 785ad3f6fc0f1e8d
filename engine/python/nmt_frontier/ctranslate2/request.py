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
    "return_alternatives": False, "callback": None, "flash_attention": False,
    "tensor_parallel": False, "files": None,
}  # fmt: skip
OF_OPENING = ("flash_attention", "tensor_parallel", "files")  # those of the constructor
UNUSED = ("min_alternative_expansion_prob",)  # without alternatives

_random = {"seed": 0}


def set_random_seed(seed: int) -> None:
    """Of all samples from now on. Until another one is set, each call draws the same ones of a sentence."""
    _random["seed"] = seed % 2**31


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
    sampling_topk: int = 1  # 1: search; 0: draw from all pieces
    sampling_topp: float = 1
    sampling_temperature: float = 1

    def __post_init__(self) -> None:
        if self.beam_size < 1:
            raise ValueError("The beam size must be > 0")
        if self.draws and self.beam_size > 1:
            raise NotImplementedError(
                f"sampling_topk={self.sampling_topk} with a beam: the native engine draws without"
            )
        if self.num_hypotheses > self.beam_size and not self.draws:
            raise ValueError("The number of hypotheses cannot be greater than beam_size")
        if self.min_decoding_length > self.max_decoding_length:
            raise ValueError("The minimum decoding length is greater than the maximum decoding length")

    @property
    def draws(self) -> bool:
        return self.sampling_topk != 1

    def options(self, prefix: int, mapped: bool, positions: int) -> Options:
        """prefix: its length, which counts in the lengths of CTranslate2 but not in the engine's."""
        return Options(
            beam_size=self.beam_size,
            n_best=1 if self.draws else self.num_hypotheses,
            length_penalty=self.length_penalty,
            shortest=max(self.min_decoding_length - prefix, 0),
            longest=max(min(self.max_decoding_length, positions) - prefix, 1),
            blocked_ngram=self.no_repeat_ngram_size,
            vocabulary_map=self.use_vmap and mapped,
            scores=self.return_scores,
            **self._sampling(),
        )

    def _sampling(self) -> dict[str, Any]:
        """The engine's options of sampling, if it draws."""
        if not self.draws:
            return {}
        drawn_from = {
            "top_k": self.sampling_topk,
            "top_p": self.sampling_topp,
            "temperature": self.sampling_temperature,
        }
        return {"samples": self.num_hypotheses, **drawn_from, "seed": _random["seed"]}

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
