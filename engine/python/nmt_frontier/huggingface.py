"""``generate`` of a live transformers model, run by this engine: ``accelerate(model)``.

nmt-frontier's reader of Hugging Face's folders converts the weights; the model itself stays as it is. A call that asks
for what the engine does not have runs in transformers, with a warning that says why, once.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import GenerationConfig
from transformers.generation import GenerateBeamEncoderDecoderOutput, GenerateEncoderDecoderOutput
from transformers.utils import logging

from nmt_frontier.bindings import EngineError, Hypothesis, Model, Options, Worker
from nmt_frontier.errors import UserError
from nmt_frontier.importers import huggingface as importer
from nmt_frontier.importers.found import ImportOptions as Files
from nmt_frontier.model import native_weights

# Options of a GenerationConfig that ``_Request`` reads, and those without effect on greedy and beam search.
READ = {
    "max_length", "max_new_tokens", "min_length", "min_new_tokens", "early_stopping", "num_beams", "length_penalty",
    "no_repeat_ngram_size", "bad_words_ids", "forced_bos_token_id", "forced_eos_token_id", "num_return_sequences",
    "output_scores", "return_dict_in_generate", "pad_token_id", "bos_token_id", "eos_token_id",
    "decoder_start_token_id",
}  # fmt: skip
NO_EFFECT = {
    "temperature", "top_k", "top_p", "min_p", "top_h", "typical_p", "epsilon_cutoff", "eta_cutoff", "use_cache",
    "cache_implementation", "cache_config", "max_cache_len", "return_legacy_cache", "compile_config",
    "disable_compile", "prefill_chunk_size", "continuous_batching_config", "is_assistant", "num_assistant_tokens",
    "num_assistant_tokens_schedule", "assistant_confidence_threshold", "assistant_lookbehind", "target_lookbehind",
    "max_matching_ngram_size", "transformers_version", "generation_kwargs",
}  # fmt: skip
NEUTRAL = {"repetition_penalty": 1.0, "encoder_repetition_penalty": 1.0, "num_beam_groups": 1}  # others: None, 0, False
STOPS: dict[bool | str, int] = {True: 1, False: 2, "never": 3}  # Options.stop by early_stopping
TENSORS = ("input_ids", "attention_mask")


class UnsupportedError(Exception):
    """Why a call runs in transformers."""


def accelerate(model: Any, compute_type: str = "float32", threads: int | None = None) -> Any:
    """Let ``model.generate`` run in the engine where it can. Returns the same model.

    compute_type: float32, int16 or int8. threads: those of torch by default. Call it again when weights have changed.
    A model that the engine does not compute keeps its ``generate``, with a warning that says why.
    """
    original = type(model).generate.__get__(model)
    try:
        engine, baked = _converted(model, compute_type)
        worker = Worker(engine, threads or torch.get_num_threads())
    except (UnsupportedError, EngineError) as error:
        warnings.warn(f"{type(model).__name__}.generate runs in transformers: {error}", stacklevel=2)
        return model
    model.generate = _Generate(model, original, worker, engine.positions, baked)
    return model


@dataclass(frozen=True)
class _Baked:
    """What the converted weights and their search have fixed: pieces by number."""

    start: int
    end: int
    banned: list[list[int]]


class _Generate:
    """Takes the place of ``generate``."""

    def __init__(self, model: Any, original: Callable[..., Any], worker: Worker, positions: int, baked: _Baked):
        self._model, self._original, self._worker = model, original, worker
        self._positions, self._baked = positions, baked
        self._lock, self._said = threading.Lock(), set[str]()

    def __call__(
        self, inputs: torch.Tensor | None = None, generation_config: GenerationConfig | None = None, **given: Any
    ) -> Any:
        try:
            config, tensors = self._model._prepare_generation_config(generation_config, **given)
            request = _Request(config, self._baked, self._positions)
            sources = self._sources(inputs, dict(tensors), config.pad_token_id)
            with self._lock:
                forced = [request.prefix] * len(sources) if request.prefix else None
                found = self._worker.translate(sources, request.options, forced)
        except (UnsupportedError, EngineError) as error:
            if (reason := str(error)) not in self._said:
                self._said.add(reason)
                warnings.warn(f"{type(self._model).__name__}.generate runs in transformers: {reason}", stacklevel=2)
            return self._original(inputs, generation_config, **given)
        device = (inputs if inputs is not None else given["input_ids"]).device
        return request.result([one for each in found for one in each], device)

    def _sources(
        self, inputs: torch.Tensor | None, tensors: Mapping[str, torch.Tensor | None], pad: int | None
    ) -> list[list[int]]:
        """The pieces of each sentence, without padding."""
        if self._model.training:
            raise UnsupportedError("the model is in training mode, with dropout; call model.eval()")
        if others := sorted({name for name, value in tensors.items() if value is not None} - {*TENSORS}):
            raise UnsupportedError(f"the engine does not take {', '.join(others)}")
        ids = inputs if inputs is not None else tensors.get("input_ids")
        if ids is None or ids.dim() != 2 or ids.is_floating_point():
            raise UnsupportedError("the engine takes a batch of input_ids")
        mask = tensors.get("attention_mask")
        if mask is None:  # as transformers finds it
            mask = ids != pad if pad is not None and pad != self._baked.end else torch.ones_like(ids)
        lengths = (mask != 0).sum(dim=1).tolist()
        if any(not row[:length].all() for row, length in zip(mask, lengths, strict=True)):
            raise UnsupportedError("padding is on the left")
        return [row[:length] for row, length in zip(ids.tolist(), lengths, strict=True)]


class _Request:
    """A GenerationConfig in the engine's options. Raises UnsupportedError for what the engine does not have."""

    def __init__(self, config: GenerationConfig, baked: _Baked, positions: int):
        for name, value in config.to_dict().items():
            if name.startswith("_") or name in READ or name in NO_EFFECT:
                continue
            if value and value != NEUTRAL.get(name):
                raise UnsupportedError(f"the engine does not have {name}={value!r}")
        self.config, self.beams, self.returned = config, config.num_beams or 1, config.num_return_sequences or 1
        if config.output_scores and self.beams == 1:
            raise UnsupportedError(
                "the engine does not return the scores of all pieces (output_scores of greedy search)"
            )
        if self.returned > self.beams:
            raise UnsupportedError(f"{self.returned} sequences of {self.beams} beams")
        self._baked = baked
        self._check_pieces()
        self.prefix = [] if config.forced_bos_token_id is None else [config.forced_bos_token_id]
        longest, shortest = self._lengths()
        if longest > positions or longest <= len(self.prefix):
            raise UnsupportedError(f"a length of {longest} pieces; the engine has {positions} positions")
        self._longest = longest
        self.options = Options(
            beam_size=self.beams,
            n_best=self.returned,
            length_penalty=1.0 if config.length_penalty is None else config.length_penalty,
            shortest=max(min(shortest, longest) - len(self.prefix), 0),
            longest=longest - len(self.prefix),
            blocked_ngram=config.no_repeat_ngram_size or 0,
            stop=self._stop(config.early_stopping or False),
            as_transformers=True,
            forced_end=config.forced_eos_token_id is not None,
        )

    def _stop(self, early: bool | str) -> int:
        if early not in STOPS:
            raise UnsupportedError(f"the engine does not have early_stopping={early!r}")
        return STOPS[early]

    def _check_pieces(self) -> None:
        """Raises UnsupportedError where special pieces are not those of the converted weights."""
        config, end = self.config, self._baked.end
        if config.eos_token_id not in (end, [end]):
            raise UnsupportedError(f"eos_token_id={config.eos_token_id!r}: the engine has one end, {end}")
        if config.decoder_start_token_id not in (self._baked.start, None):
            raise UnsupportedError(f"decoder_start_token_id={config.decoder_start_token_id!r}, not {self._baked.start}")
        if config.forced_eos_token_id not in (None, end, [end]):
            raise UnsupportedError(f"forced_eos_token_id={config.forced_eos_token_id!r}, not {end}")
        if (config.bad_words_ids or []) != self._baked.banned:
            raise UnsupportedError(
                f"bad_words_ids={config.bad_words_ids!r}, not those of the model when it was converted"
            )

    def _lengths(self) -> tuple[int, int]:
        """The most and the least pieces with the end; transformers counts the first input, too."""
        config = self.config
        longest = config.max_new_tokens if config.max_new_tokens is not None else (config.max_length or 20) - 1
        return longest, max((config.min_length or 0) - 1, config.min_new_tokens or 0)

    def result(self, found: list[Hypothesis], device: torch.device) -> Any:
        """What ``generate`` returns."""
        start, end, pad = self._baked.start, self._baked.end, self.config.pad_token_id
        rows = [[start, *one.pieces, *([end] if len(one.pieces) < self._longest else [])] for one in found]
        fill = (pad or end) if self.beams > 1 else (end if pad is None else pad)  # as transformers does
        width = max(map(len, rows), default=1)
        padded = [row + [fill] * (width - len(row)) for row in rows]
        sequences = torch.tensor(padded, dtype=torch.long, device=device)
        if not self.config.return_dict_in_generate:
            return sequences
        if self.beams == 1:
            return GenerateEncoderDecoderOutput(sequences=sequences)
        scores = torch.tensor([one.score for one in found], device=device) if self.config.output_scores else None
        return GenerateBeamEncoderDecoderOutput(sequences=sequences, sequences_scores=scores)


def _converted(model: Any, compute_type: str) -> tuple[Model, _Baked]:
    """The model in the engine. Raises UnsupportedError for one that cannot be converted."""
    banned = model.generation_config.bad_words_ids or []
    if any(len(words) > 1 for words in banned):
        raise UnsupportedError("the engine forbids single pieces only, not the sequences of bad_words_ids")
    with tempfile.TemporaryDirectory(prefix="nmt-frontier-") as scratch:
        folder = Path(scratch) / type(model).__name__
        with _no_progress():
            model.save_pretrained(folder)
        _write_numbers(model.config, folder)
        try:
            found = importer.read(folder, Files(spaces=True)).model
            found.write(compute_type, folder / "engine")
        except UserError as error:
            raise UnsupportedError(str(error).replace(f"{folder}: ", "")) from None
        opened = Model(folder / "engine" / native_weights.NAME)
    start, end = (int(str(found.metadata[name])) for name in ("start", "end"))
    return opened, _Baked(start, end, banned)


@contextlib.contextmanager
def _no_progress() -> Iterator[None]:
    """Without a progress bar for the shards of a model, which is written for a moment only."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _write_numbers(config: Any, folder: Path) -> None:
    """The reader wants names for pieces; here numbers are enough."""
    sizes = {"vocab.json": config.vocab_size}
    if (target := getattr(config, "decoder_vocab_size", None)) not in (None, config.vocab_size):
        sizes["target_vocab.json"] = target
    for name, size in sizes.items():
        numbers = {f"piece {number}": number for number in range(size)}
        numbers["<unk>"] = numbers.pop("piece 1")
        (folder / name).write_text(json.dumps(numbers), encoding="utf-8")
