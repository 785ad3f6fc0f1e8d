"""BLEU on the dev set during training: greedy, detokenised, with sacreBLEU's defaults for the language."""

import hashlib
import logging
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from findings.metrics import bleu
from formats import ctranslate2_loading
from formats.conversion import Converter
from formats.learning import Score
from nmt_frontier.files import read_json, write_json
from nmt_frontier.limits import BATCH_TOKENS, MAXIMUM_OUTPUT
from nmt_frontier.sentence import split_pieces
from nmt_frontier.text import tokenizers

BATCH_SENTENCES = 64  # of OpenNMT-tf; CTranslate2 fills batches by tokens

Pieces = list[str]


class Validation:
    """The evaluator that OpenNMT-tf's Trainer calls: scores the dev set, and decides when a phase ends.

    decode: translates the dev set with the current weights, into pieces. path: JSON of all scores, kept across
    restarts; scores of other references do not count. patience: a phase ends after so many validations without a new
    best BLEU; None never ends it. language: of the references.
    """

    def __init__(
        self, decode: Callable[[], list[Pieces]], sentencepiece_model: Path, references: list[str], path: Path,
        patience: int | None, language: str,
    ):  # fmt: skip
        self.last_evaluated_step: int | None = None
        self.phase_start = 0
        self._decode, self._references, self._path, self._patience = decode, references, path, patience
        self._processor, self._metric = tokenizers.pieces(sentencepiece_model), bleu(language)
        self._dev = hashlib.sha256("\n".join(references).encode()).hexdigest()[:12]

    def continue_from(self, step: int, due: bool) -> None:
        """Drop the scores after ``step``, from which a restart goes on; validate it if ``due`` and not yet scored."""
        self._write([score for score in self.scores() if score.step <= step])
        if due and step not in {score.step for score in self.scores()}:
            self(step)

    def scores(self) -> list[Score]:
        """Of all validations so far."""
        found = read_json(self._path) if self._path.exists() else []
        found = [score for score in found if score.get("dev", self._dev) == self._dev]  # earlier versions wrote no dev
        return [Score(score["step"], score["bleu"]) for score in found]

    def _write(self, scores: list[Score]) -> None:
        write_json(self._path, [{**asdict(score), "dev": self._dev} for score in scores])

    def bleu(self) -> float:
        """BLEU with the current weights, 0 to 100, rounded to two decimals."""
        outputs = [self._processor.decode(pieces) for pieces in self._decode()]
        return round(float(self._metric.corpus_score(outputs, [self._references]).score), 2)

    def __call__(self, step: int) -> None:
        self.last_evaluated_step = step
        found = self.bleu()
        earlier = [score for score in self.scores() if score.step < step]
        self._write([*earlier, Score(int(step), found)])
        logging.getLogger("tensorflow").info("Step = %d ; dev BLEU, greedy = %.2f", step, found)

    def should_stop(self) -> bool:
        """Whether the running phase ends now."""
        bleus = [score.bleu for score in self.scores() if score.step > self.phase_start]
        return self._patience is not None and stalled(bleus, self._patience)


def stalled(bleus: list[float], patience: int) -> bool:
    """Whether none of the last ``patience`` values exceeds the best before them."""
    return len(bleus) > patience and max(bleus[-patience:]) <= max(bleus[:-patience])


def decoder(model: Any, source: Path, threads: int) -> Callable[[], list[Pieces]]:
    """A function that translates a file of pieces with the current weights of the model."""
    return _ctranslate2_decoder(model, source, threads) if converts(model) else _opennmt_decoder(model, source)


def converts(model: Any) -> bool:
    """Whether CTranslate2 supports the model."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            Converter(model).convert(folder, force=True)
    except ValueError:  # CTranslate2's error for unsupported models; anything else is a fault
        return False
    return True


def _ctranslate2_decoder(model: Any, source: Path, threads: int) -> Callable[[], list[Pieces]]:
    """Convert the model at every call: CTranslate2 then takes a second for what takes OpenNMT-tf a minute."""
    sentences = [split_pieces(line) for line in source.read_text(encoding="utf-8").split("\n")[:-1]]

    def decode() -> list[Pieces]:
        with tempfile.TemporaryDirectory() as folder:
            Converter(model).convert(folder, force=True)
            translator = ctranslate2_loading.translator(Path(folder), intra_threads=threads)
            options = {"max_batch_size": BATCH_TOKENS, "batch_type": "tokens", "max_decoding_length": MAXIMUM_OUTPUT}
            results = translator.translate_batch(sentences, beam_size=1, **options)
        return [result.hypotheses[0] for result in results]

    return decode


def _opennmt_decoder(model: Any, source: Path) -> Callable[[], list[Pieces]]:
    """Decode with OpenNMT-tf, for models that CTranslate2 does not support."""
    import tensorflow as tf

    dataset = model.examples_inputter.make_inference_dataset(str(source), BATCH_SENTENCES)
    infer = tf.function(model.infer, input_signature=(dataset.element_spec,), autograph=False)

    def decode() -> list[Pieces]:
        outputs = []
        for batch in dataset:
            # tokens: strings (sentences, hypotheses, pieces); length: int32 (sentences, hypotheses)
            predictions = {key: value.numpy() for key, value in infer(batch).items() if key in ("tokens", "length")}
            for tokens, lengths in zip(predictions["tokens"], predictions["length"], strict=True):
                outputs.append([token.decode() for token in tokens[0][: lengths[0]]])
        return outputs

    return decode
