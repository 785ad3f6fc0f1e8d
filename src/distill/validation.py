"""Dev BLEU during training: greedy, detokenised, sacreBLEU's defaults."""

import logging
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sacrebleu
import sentencepiece

from distill.teacher import BATCH_TOKENS
from formats import loading
from formats.conversion import Converter
from formats.decoding import MAXIMUM_OUTPUT
from formats.files import read_json, write_json

BATCH_SENTENCES = 64

Pieces = list[str]


class Validation:
    """The evaluator that OpenNMT-tf's Trainer calls: scores in ``path``, over kills and new starts; when to stop.

    patience: validations without a new best BLEU after which a phase ends; None never ends it.
    """

    def __init__(
        self,
        decode: Callable[[], list[Pieces]],
        sentencepiece_model: Path,
        references: list[str],
        path: Path,
        patience: int | None,
    ):
        self.last_evaluated_step: int | None = None
        self.phase_start = 0
        self._decode, self._references, self._path, self._patience = decode, references, path, patience
        self._processor = sentencepiece.SentencePieceProcessor(model_file=str(sentencepiece_model))

    def continue_from(self, step: int, due: bool) -> None:
        """Forget the steps that a killed training makes again; catch up with the one it was killed at, if ``due``."""
        write_json(self._path, [score for score in self.scores() if score["step"] <= step])
        if due and step not in {score["step"] for score in self.scores()}:
            self(step)

    def scores(self) -> list[dict[str, float]]:
        return read_json(self._path) if self._path.exists() else []

    def bleu(self) -> float:
        """BLEU of the model as it is now."""
        outputs = [self._processor.decode(pieces) for pieces in self._decode()]
        return round(sacrebleu.corpus_bleu(outputs, [self._references]).score, 2)

    def __call__(self, step: int) -> None:
        self.last_evaluated_step = step
        bleu = self.bleu()
        earlier = [score for score in self.scores() if score["step"] < step]
        write_json(self._path, [*earlier, {"step": int(step), "bleu": bleu}])
        logging.getLogger("tensorflow").info("Step = %d ; dev BLEU, greedy = %.2f", step, bleu)

    def should_stop(self) -> bool:
        scores = [score["bleu"] for score in self.scores() if score["step"] > self.phase_start]
        return self._patience is not None and stalled(scores, self._patience)


def stalled(scores: list[float], patience: int) -> bool:
    """Whether none of the last ``patience`` scores is better than the best one before them."""
    return len(scores) > patience and max(scores[-patience:]) <= max(scores[:-patience])


def decoder(model: Any, source: Path, threads: int) -> Callable[[], list[Pieces]]:
    """Decodes a file of pieces with the model as it is at that moment."""
    return _ctranslate2(model, source, threads) if converts(model) else _opennmt(model, source)


def converts(model: Any) -> bool:
    """Whether CTranslate2 has such a model."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            Converter(model).convert(folder, force=True)
    except ValueError:  # so CTranslate2 refuses the models it does not have; anything else is a fault
        return False
    return True


def _ctranslate2(model: Any, source: Path, threads: int) -> Callable[[], list[Pieces]]:
    """By a conversion on the spot: a second where OpenNMT-tf needs a minute, with the same translations."""
    sentences = [line.split() for line in source.read_text(encoding="utf-8").splitlines()]

    def decode() -> list[Pieces]:
        with tempfile.TemporaryDirectory() as folder:
            Converter(model).convert(folder, force=True)
            engine = loading.translator(Path(folder), intra_threads=threads)
            results = engine.translate_batch(
                sentences,
                beam_size=1,
                max_batch_size=BATCH_TOKENS,
                batch_type="tokens",
                max_decoding_length=MAXIMUM_OUTPUT,
            )
        return [result.hypotheses[0] for result in results]

    return decode


def _opennmt(model: Any, source: Path) -> Callable[[], list[Pieces]]:
    """By OpenNMT-tf, for the models that CTranslate2 does not have."""
    import tensorflow as tf

    dataset = model.examples_inputter.make_inference_dataset(str(source), BATCH_SENTENCES)
    infer = tf.function(model.infer, input_signature=(dataset.element_spec,))

    def decode() -> list[Pieces]:
        outputs = []
        for batch in dataset:
            predictions = {key: value.numpy() for key, value in infer(batch).items() if key in ("tokens", "length")}
            for tokens, lengths in zip(predictions["tokens"], predictions["length"], strict=True):
                outputs.append([token.decode() for token in tokens[0][: lengths[0]]])
        return outputs

    return decode
