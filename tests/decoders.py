"""Tiny untrained models of OpenNMT-tf of any shape, whose wide random weights make them sure of their words."""

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import opennmt
import tensorflow as tf

from export.read_opennmt_tf import vocabulary
from formats.shape import shape
from nmt_frontier.model.native_vocabulary import Vocabulary

PIECES = 90
NEVER, END = -50.0, 7.0  # added to the scores of control tokens, so that sentences end and hold words only

SMALL = {"encoder_layers": 2, "decoder_layers": 2, "units": 32, "ffn_units": 72, "heads": 4}
CELLS = {"cell": "lstm", "encoder_layers": 2, "decoder_layers": 2, "units": 32, "embedding_units": 48}
SHAPES = {
    "self-attention": SMALL,
    "averaging": SMALL | {"decoder": "averaging"},
    "averaging, gated": SMALL | {"decoder": "averaging-gated"},
    "averaging, ungated": SMALL | {"decoder": "averaging-ungated"},
    "averaging, plain": SMALL | {"decoder": "averaging-plain"},
    "ssru": SMALL | {"decoder": "ssru"},
    "ssru, shared": SMALL | {"decoder": "ssru", "share_embeddings": True},
    "lstm": CELLS,
    "lstm, both directions": CELLS | {"bidirectional": True, "decoder_layers": 1},
    "gru": CELLS | {"cell": "gru", "decoder_layers": 1},
    "gru, both directions, shared": CELLS
    | {"cell": "gru", "bidirectional": True, "embedding_units": 32, "share_embeddings": True},
    "conditional": {"encoder_transitions": 1, "decoder_transitions": 2, "units": 32, "embedding_units": 16},
    "conditional, deep": {"encoder_transitions": 3, "decoder_transitions": 4, "units": 32, "embedding_units": 16},
}
CONNECTED = {"fully_connected_layers": 3, "fully_connected_units": 48, "units": 32, "embedding_units": 16}
SHAPES |= {
    "fully connected": CONNECTED,
    "fully connected, nothing projected, shared": CONNECTED
    | {"fully_connected_units": 32, "embedding_units": 32, "share_embeddings": True},
}


def weights(values: dict) -> dict[str, float]:
    """Options of ``built``: small weights for cells, as large ones make states chaotic and rounding decides."""
    if "cell" not in values:
        return {}
    return {"sure": 5.0, "spread": 0.45 if "share_embeddings" in values else 0.3}


def built(
    values: dict, seed: int = 1, sure: float = 3.0, spread: float = 0.5, words: int = PIECES
) -> tuple[opennmt.models.Model, Vocabulary]:
    """A model of this shape and its vocabulary.

    sure: factor of the scores of words; spread: standard deviation of weights; that of embeddings is 0.5.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pieces = ["<blank>", "<s>", "</s>", *(f"▁{number}" for number in range(words))]
        (folder / "vocabulary.txt").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
        (folder / "model_description.py").write_text(shape(values).model_description(0.1), encoding="utf-8")
        model = opennmt.load_model(name)
        path = str(folder / "vocabulary.txt")
        model.initialize({"source_vocabulary": path, "target_vocabulary": path})
        model.create_variables()
        names = vocabulary(folder)
    generator = tf.random.Generator.from_seed(seed)
    for variable in model.trainable_variables:
        if len(variable.shape) > 1:
            variable.assign(generator.normal(variable.shape, stddev=0.5 if "embedding" in variable.name else spread))
    output = model.decoder.output_layer
    if output.weight is None:
        output.kernel.assign(sure * output.kernel)
    output.bias.assign([NEVER, NEVER, END, *[0.0] * words, NEVER])
    return model, names


START, STOP = 1, 2  # pieces


def log_probabilities(model: opennmt.models.Model, sources: list[list[int]], prefixes: list[list[int]]) -> np.ndarray:
    """Log probabilities of the piece behind each target prefix, [sentences, pieces]. All prefixes have one length."""
    logits, _ = forced(model, sources, prefixes)
    return tf.nn.log_softmax(logits[:, -1]).numpy()


def forced(
    model: opennmt.models.Model, sources: list[list[int]], prefixes: list[list[int]]
) -> tuple[tf.Tensor, tf.Tensor | None]:
    """Logits and attention behind the start and each piece of the prefixes: [sentences, 1 + length, ...].

    OpenNMT-tf computes all positions at once, as in training, without a cache.
    """
    ids = tf.ragged.constant(sources, dtype=tf.int64).to_tensor()
    lengths = tf.constant([len(source) for source in sources])
    pieces = tf.constant([[START, *prefix] for prefix in prefixes], tf.int64)
    return graph(model)(ids, lengths, pieces)


@functools.lru_cache(maxsize=1)
def graph(model: opennmt.models.Model) -> Callable:
    """``forced`` of any batch, traced once: else Python would call each operation of each position."""
    numbers, lengths = tf.TensorSpec([None, None], tf.int64), tf.TensorSpec([None], tf.int32)

    @tf.function(autograph=False, input_signature=[numbers, lengths, numbers])
    def computed(ids, lengths, pieces):
        inputs = model.features_inputter({"ids": ids, "length": lengths})
        memory, state, lengths = model.encoder(inputs, sequence_length=lengths)
        start = model.decoder.initial_state(memory=memory, memory_sequence_length=lengths, initial_state=state)
        steps = tf.fill(tf.shape(pieces)[:1], tf.shape(pieces)[1])
        targets = model.labels_inputter({"ids": pieces, "length": steps})
        logits, _, attention = model.decoder(targets, steps, state=start)
        return logits, attention

    return computed


def translations(
    model: opennmt.models.Model, sources: list[list[int]], beam_size: int, longest: int
) -> list[tuple[list[int], float]]:
    """The best translation of each source and its log probability by its length, with the end.

    By the rules of the native engine and of CTranslate2: a step takes the 2 x beam best continuations; those among the
    first `beam` that end are finished, and the rest take their places, until `beam` are finished. OpenNMT-tf's own
    search keeps finished hypotheses in the beam and finds others.
    """
    beams = [[(0.0, [])] for _ in sources]
    finished: list[list[tuple[float, list[int]]]] = [[] for _ in sources]
    for step in range(longest):
        alive = [(s, score, pieces) for s, beam in enumerate(beams) for score, pieces in beam]
        if not alive:
            break
        rows = log_probabilities(model, [sources[s] for s, *_ in alive], [pieces for *_, pieces in alive])
        continuations: dict[int, list[tuple[float, list[int]]]] = {}
        for (s, score, pieces), row in zip(alive, rows, strict=True):
            best = np.argsort(-row, kind="stable")[: 2 * beam_size]
            continuations.setdefault(s, []).extend((score + row[piece], [*pieces, int(piece)]) for piece in best)
        for s, found in continuations.items():
            found.sort(key=lambda pair: -pair[0])
            kept = found[: 2 * beam_size]
            reserve = [pair for pair in kept[beam_size:] if pair[1][-1] != STOP]
            beams[s] = []
            for score, pieces in kept[:beam_size]:
                if pieces[-1] == STOP or step + 1 == longest:
                    finished[s].append((score / (step + 1), pieces[:-1] if pieces[-1] == STOP else pieces))
                    if step + 1 < longest and reserve:
                        beams[s].append(reserve.pop(0))
                else:
                    beams[s].append((score, pieces))
            if len(finished[s]) >= beam_size:
                beams[s] = []
    best = (max(hypotheses, key=lambda pair: pair[0]) for hypotheses in finished)
    return [(pieces, score) for score, pieces in best]
