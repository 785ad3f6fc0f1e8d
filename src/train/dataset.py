"""The batches of one pass through an encoded epoch, with undersized ones merged.

OpenNMT-tf sorts sentences into buckets by length and emits a batch whenever a bucket is full. At the end of a pass it
empties the buckets: 36 of the 271 batches of Multi30k are such remainders, the last ten with one to three sentences,
mostly badly matched pairs. With 171,775 pairs the dev BLEU of Transformers fell there from about 30 to between 7 and
16, and took a hundred updates to recover.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import ceil
from pathlib import Path
from typing import Any

from train.schedule import SHUFFLE_BUFFER
from train.settings import TrainingSection

# Features and labels. Each maps names to tensors with a sentence per row; `length`, int32 (rows,), counts pieces.
Batch = tuple[dict[str, Any], dict[str, Any]]

LENGTH_BUCKET = 2  # pieces by which lengths in a batch may differ; low, for little padding


class MergedTail:
    """The batches of a ``tf.data.Dataset``; those less than half full are merged and come last.

    size: of a full batch, in ``unit``: "sentences", or "tokens", which are rows times the longest sentence of either
    side in pieces.
    """

    def __init__(self, batches: Any, size: int, unit: str):
        self._batches, self._size, self._unit = batches, size, unit
        self.element_spec = batches.element_spec

    def __iter__(self) -> Iterator[Batch]:
        undersized = []
        for batch in self._batches:
            if rows(batch) * (longest(batch) if self._unit == "tokens" else 1) < self._size / 2:
                undersized.append(batch)
            else:
                yield batch
        for group in groups(sorted(undersized, key=longest), self._size, self._unit):
            yield merged(group)


def rows(batch: Batch) -> int:
    """Sentence pairs in a batch."""
    return int(batch[0]["length"].shape[0])


def longest(batch: Batch) -> int:
    """Pieces of the longest sentence of either side."""
    return max(int(side["length"].numpy().max()) for side in batch)


def groups(batches: Iterable[Batch], size: int, unit: str) -> Iterator[list[Batch]]:
    """Group batches, sorted by ``longest``, up to ``size`` with padding; a larger batch is a group of its own."""
    group: list[Batch] = []
    for batch in batches:
        if group and sum(map(rows, [*group, batch])) * (longest(batch) if unit == "tokens" else 1) > size:
            yield group
            group = []
        group.append(batch)
    if group:
        yield group


def merged(group: list[Batch]) -> Batch:
    """Concatenate the rows of batches; tensors are padded to the largest of their name."""
    import tensorflow as tf

    def concatenated(*found: Any) -> Any:
        tensors = [*found]
        sizes = [max(sizes) for sizes in zip(*(tensor.shape[1:] for tensor in tensors), strict=True)]
        for axis, size in enumerate(sizes, 1):
            tensors = [_padded(tf, tensor, axis, size) for tensor in tensors]
        return tf.concat(tensors, axis=0)

    whole: Batch = tf.nest.map_structure(concatenated, *group)
    return whole


def _padded(tf: Any, tensor: Any, axis: int, size: int) -> Any:
    """Pad one axis to ``size`` with zeros, or with empty strings, which tf.pad does not support."""
    shape = [*tensor.shape]
    shape[axis] = size - shape[axis]
    return tf.concat([tensor, tf.zeros(shape, tensor.dtype)], axis) if shape[axis] else tensor


def shuffle_buffer(pairs: int) -> int:
    """Sentences to shuffle at a time: at most SHUFFLE_BUFFER, in parts of equal size.

    OpenNMT-tf spreads parts of this size evenly over the file. If they do not add up to ``pairs``, they overlap, and a
    pass reads some pairs twice (a third of 600,000 pairs with parts of 500,000).
    """
    return SHUFFLE_BUFFER if pairs <= SHUFFLE_BUFFER else ceil(pairs / ceil(pairs / SHUFFLE_BUFFER))


def dataset(
    model: Any,
    training: TrainingSection,
    source: Path,
    target: Path,
    pairs: int,
    annotations: Mapping[str, Path] | None = None,
) -> MergedTail:
    """The batches of one pass through an epoch of ``pairs`` pairs.

    model: an initialized OpenNMT-tf model. training: an entry of the configuration. source, target: pieces, a sentence
    per line. annotations: files with a line for each pair, by the names that the model accepts: ``train_alignments``,
    links (corpora.alignment), which become the labels' ``alignment``, float32 (rows, target pieces, source pieces), and
    train.word_distillation's.
    """
    import tensorflow as tf

    unit = "tokens" if training.batch_tokens else "sentences"
    size = training.batch_tokens or training.batch_sentences or 0  # one of them is given
    model.examples_inputter.annotation_files = {name: str(path) for name, path in (annotations or {}).items()}
    batches = tf.autograph.experimental.do_not_convert(model.examples_inputter.make_training_dataset)(
        str(source),
        str(target),
        size,
        batch_type="tokens" if unit == "tokens" else "examples",
        shuffle_buffer_size=shuffle_buffer(pairs),
        length_bucket_width=LENGTH_BUCKET,
        maximum_features_length=training.max_length,
        maximum_labels_length=training.max_length + 1,  # the target begins with <s>
        single_pass=True,
    )
    # With autotuning, TensorFlow waits up to a minute for its thread at the end of a pass. Nothing here needs it:
    # OpenNMT-tf sets the threads of each stage.
    options = tf.data.Options()
    options.autotune.enabled = False
    return MergedTail(batches.with_options(options), size, unit)
