"""What is left over at the end of a pass, put together to batches like the others.

OpenNMT-tf collects sentences of like length and gives a batch whenever one is full. At the end of a pass it gives what
it has of every length: 36 of the 271 batches of Multi30k, the last ten of one to three sentences, mostly ill-matched
ones, and each is an update. With 171,775 pairs the dev BLEU of Transformers fell from about 30 to between 7 and 16 at
the end of the first pass, and was back after a hundred updates.
"""

from collections.abc import Iterable, Iterator
from typing import Any

Batch = tuple[dict[str, Any], dict[str, Any]]  # tensors of both sides; sentences are rows, `length` their pieces


class Filled:
    """The sentences of ``batches``, a ``tf.data.Dataset``: those that are less than half full come last and together.

    size: of a full batch, in sentences, or in tokens: rows times the longest sentence of either side.
    """

    def __init__(self, batches: Any, size: int, unit: str):
        self._batches, self._size, self._unit = batches, size, unit
        self.element_spec = batches.element_spec

    def __iter__(self) -> Iterator[Batch]:
        left = []
        for batch in self._batches:
            if rows(batch) * (longest(batch) if self._unit == "tokens" else 1) < self._size / 2:
                left.append(batch)
            else:
                yield batch
        for group in groups(sorted(left, key=longest), self._size, self._unit):
            yield joined(group)


def rows(batch: Batch) -> int:
    return int(batch[0]["length"].shape[0])


def longest(batch: Batch) -> int:
    """Pieces of the longest sentence of either side."""
    return max(int(side["length"].numpy().max()) for side in batch)


def groups(batches: Iterable[Batch], size: int, unit: str) -> Iterator[list[Batch]]:
    """Batches, the shortest first, in groups of at most this size, padding included; a larger one stays alone."""
    group: list[Batch] = []
    for batch in batches:
        if group and sum(map(rows, [*group, batch])) * (longest(batch) if unit == "tokens" else 1) > size:
            yield group
            group = []
        group.append(batch)
    if group:
        yield group


def joined(group: list[Batch]) -> Batch:
    """One batch of all rows, padded to the longest of them."""
    import tensorflow as tf

    def together(*tensors: Any) -> Any:
        sizes = [max(sizes) for sizes in zip(*(tensor.shape[1:] for tensor in tensors), strict=True)]
        for axis, size in enumerate(sizes, 1):
            tensors = [_padded(tf, tensor, axis, size) for tensor in tensors]
        return tf.concat(tensors, axis=0)

    return tf.nest.map_structure(together, *group)


def _padded(tf: Any, tensor: Any, axis: int, size: int) -> Any:
    """With zeros, or empty strings, which tf.pad does not know."""
    shape = [*tensor.shape]
    shape[axis] = size - shape[axis]
    return tf.concat([tensor, tf.zeros(shape, tensor.dtype)], axis) if shape[axis] else tensor
