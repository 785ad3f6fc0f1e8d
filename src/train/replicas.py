"""Training on several devices of one machine: each has a copy of the model, and every update adds up their gradients.

OpenNMT-tf's MirroredStrategyTrainer does it, with TensorFlow's MirroredStrategy. It wants a ``tf.data.Dataset``, which
cannot tell where it stands; here each replica gets the next batch of ours instead. So N devices that accumulate over A
batches read what one device reads that accumulates over N x A, in the same order.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from train.trainer import resumable_trainer


class Replicas:
    """The copies of a model: where its variables are made, and what trains them.

    device: cpu or cuda. count: of the copies. Choose the devices first (train.devices).
    """

    def __init__(self, device: str, count: int):
        import tensorflow as tf

        self.device, self.count = device, count
        kind = "GPU" if device == "cuda" else "CPU"
        devices = [f"{kind}:{number}" for number in range(count)]
        self._strategy = tf.distribute.MirroredStrategy(devices) if count > 1 else None

    def scope(self) -> AbstractContextManager:
        """The context to make the variables of model and optimizer in."""
        return self._strategy.scope() if self._strategy else nullcontext()

    def trainer(self) -> type:
        """``resumable_trainer`` for this number of copies."""
        return mirrored_trainer(self._strategy) if self._strategy else resumable_trainer()


def mirrored_trainer(strategy: Any) -> type:
    """``resumable_trainer`` over the devices of a MirroredStrategy, in whose scope the variables were made."""
    import opennmt
    import tensorflow as tf

    mirrored = opennmt.training.MirroredStrategyTrainer

    class Trainer(resumable_trainer(), mirrored):
        def __init__(self, model: Any, optimizer: Any, checkpoint: Any = None):
            super(mirrored, self).__init__(model, optimizer, checkpoint=checkpoint)  # its own makes another strategy
            self._strategy, self._optimizer = strategy, optimizer  # the latter as in resumable_trainer

        def scope(self) -> AbstractContextManager:
            return strategy.scope()

        def _finalize_dataset(self, batches: Any) -> "ReplicaBatches":
            empty = tf.data.Dataset.from_generator(lambda: iter(()), output_signature=batches.element_spec)
            return ReplicaBatches(batches, strategy, super()._finalize_dataset(empty).element_spec)

    return Trainer


class ReplicaBatches:
    """Batches, one for each replica at a time, in the order of ``batches``. element_spec: of what it yields."""

    def __init__(self, batches: Any, strategy: Any, element_spec: Any):
        self._batches, self._strategy, self.element_spec = batches, strategy, element_spec

    def __iter__(self) -> Iterator[Any]:
        batches = iter(self._batches)
        for group in zip(*[batches] * self._strategy.num_replicas_in_sync, strict=False):
            yield self._strategy.experimental_distribute_values_from_function(
                lambda replica, group=group: group[replica.replica_id_in_sync_group]
            )
