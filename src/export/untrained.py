"""Write a model of a given shape with random weights, to measure what does not depend on weights: size and speed.

The output is a checkpoint folder like that of train.train, with the same bytes for the same seed. The translations are
meaningless: mark measurements ``speed only``. With a test set, those of that set have as many pieces as the references
(export.lengths); otherwise their lengths are arbitrary.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from export import lengths, recurrent_lengths
from export.shape_option import shape_values
from formats import opennmt_tf, records, shape
from formats.learning import RandomWeights
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import atomic_path, write_json, write_text
from nmt_frontier.text.tokenizers import pieces

SMALL = 0.02  # factor of embeddings: beside large ones 8 bits would not distinguish lengths

Sentence = tuple[list[str], int]  # the pieces of a source, and the number of pieces of its translation


def make(values: shape.Values, vocabulary: Path, seed: int, output: Path, sentences: Sequence[Sentence] = ()) -> int:
    """Write the checkpoint folder of a model. Returns its number of trainable parameters.

    values: the shape, as for formats.shape.shape. sentences: set the lengths of their translations. Raises UserError
    for an invalid shape, and for lengths that it cannot be given.
    """
    import opennmt
    import tensorflow as tf
    from opennmt.utils.checkpoint import Checkpoint

    tf.keras.utils.set_random_seed(seed)  # Keras draws the seeds of its initializers with Python's generator
    try:
        asked = shape.shape(values)
        description = asked.model_description(dropout=0.1)
    except ValueError as error:
        raise UserError(f"--shape: {error}") from None
    with atomic_path(output) as part:
        part.mkdir(parents=True)
        write_text(part / "model_description.py", description)
        copy = part / "vocabulary.txt"
        copy.write_bytes(vocabulary.read_bytes())
        model = opennmt.load_model(str(part))
        model.initialize({"source_vocabulary": str(copy), "target_vocabulary": str(copy)})
        model.create_variables()
        if sentences:
            _set_lengths(model, vocabulary, sentences)
        Checkpoint(model, model_dir=str(part)).save(0)
        (part / "checkpoint").write_text('model_checkpoint_path: "ckpt-0"\n')
    return sum(int(tf.size(variable)) for variable in model.trainable_variables)


def _set_lengths(model: Any, vocabulary: Path, sentences: Sequence[Sentence]) -> None:
    from layers.embeddings import UnitEmbedder

    numbers = {piece: number for number, piece in enumerate(opennmt_tf.read_vocabulary(vocabulary))}
    unknown = len(numbers)  # OpenNMT-tf appends <unk>
    sources = [[numbers.get(piece, unknown) for piece in source] for source, _ in sentences]
    if isinstance(model.features_inputter, UnitEmbedder):
        embedding = model.features_inputter.embedding
        embedding.assign(SMALL * embedding)
    _set_lengths_of(model)(model, sources, [length for _, length in sentences])


def _set_lengths_of(model: Any) -> Callable[[Any, Sequence[Sequence[int]], Sequence[int]], None]:
    """The function that knows the units of a model, which may be one of OpenNMT-tf's catalogue."""
    from layers.conditional_gru import ConditionalGRU
    from layers.fully_connected import FullyConnectedGRU

    if isinstance(model, ConditionalGRU | FullyConnectedGRU):
        return recurrent_lengths.set_attending_lengths
    return recurrent_lengths.set_lengths if hasattr(model.decoder, "bridge") else lengths.set_lengths


def read_sentences(test_set: Path, sentencepiece: Path) -> list[Sentence]:
    """The sentences of a test set with the lengths of their references, less those without source pieces."""
    encode = pieces(sentencepiece).encode
    sentences = [(encode(source, out_type=str), len(encode(target))) for source, target in records.read(test_set)]
    return [(source, length) for source, length in sentences if source]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", required=True, help="a name of formats/shapes.yaml, or JSON")
    parser.add_argument("--vocabulary", type=there, required=True, help="of OpenNMT-tf, an entry a line")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--test-set", type=there, help="records whose references have the lengths of the translations")
    parser.add_argument("--sentencepiece", type=there, help="model that cuts the test set into pieces")
    parser.add_argument("--output", type=Path, required=True, help="checkpoint folder to write")
    parser.add_argument("--learning", type=Path, help="JSON to write, what export.model_folder reads of a training")
    args = parser.parse_args()

    values = shape_values(args.shape)
    if bool(args.test_set) != bool(args.sentencepiece):
        raise UserError("--test-set and --sentencepiece go together; give both, or neither")
    sentences = read_sentences(args.test_set, args.sentencepiece) if args.test_set else []
    parameters = make(values, args.vocabulary, args.seed, args.output, sentences)
    if args.learning:
        write_json(args.learning, RandomWeights(str(shape.shape(values)), parameters, steps=0))
    print(f"{parameters:,} parameters")


if __name__ == "__main__":
    command(main)
