"""Training on several devices of one machine: each has a copy of the model, and an update sums their gradients.

OpenNMT-tf's MirroredStrategyTrainer reads a ``tf.data.Dataset``, which does not know its position. Here each replica
gets the next batch of a resumable pass instead: N devices that accumulate over A batches read what one device reads
that accumulates over N x A, in the same order.

Faulty drivers and links between GPUs give wrong sums without any error, so a few updates are compared with those of one
device. Correct sums differ only by rounding.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import cycle, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common import gpu_lease
from nmt_frontier.errors import UserError
from train.optimizer import Parameters

UPDATES = 3
# SGD, because Adam turns the rounding of tiny gradients into whole steps
PARAMETERS = {"optimizer": "SGD", "optimizer_params": {}, "learning_rate": 0.1, "dropout": 0}
TOLERANCE = 1e-3  # measured on two CPU devices: 4e-7 by rounding, 0.37 with one device ignored


def use_devices(device: str, count: int) -> None:
    """Show TensorFlow only ``count`` GPUs, or as many CPU devices that share the cores; wait for GPUs in use.

    Call it before TensorFlow is imported. Raises UserError for more GPUs than there are.
    """
    if device == "cuda":
        gpu_lease.lease(count)
        gpu_lease.load_cuda(gpu_lease.CUDA_OF_TENSORFLOW)  # TensorFlow looks for them only when it is imported
    import tensorflow as tf

    if device == "cpu":
        tf.config.set_visible_devices([], "GPU")
        (cpu,) = tf.config.list_physical_devices("CPU")
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * count)
        return
    found = len(tf.config.list_physical_devices("GPU"))
    if not found:
        raise UserError(
            "training.device: cuda, but TensorFlow finds no GPU; install requirements-gpu.lock (docs/cluster.md), look "
            "at nvidia-smi, or train with device: cpu"
        )
    if found < count:
        raise UserError(
            f"training.gpus: {count}, but TensorFlow finds {found} here; for the same updates train with gpus: {found} "
            f"and {count / found:g} times the accumulate"
        )


class Replicas:
    """``count`` copies of a model on a ``device``, cpu or cuda. Call ``use_devices`` first."""

    def __init__(self, device: str, count: int):
        import tensorflow as tf

        self.device, self.count = device, count
        kind = "GPU" if device == "cuda" else "CPU"
        devices = [f"{kind}:{number}" for number in range(count)]
        self._strategy = tf.distribute.MirroredStrategy(devices) if count > 1 else None

    def scope(self) -> AbstractContextManager[Any]:
        """Create the variables of model and optimizer in this context."""
        scope: AbstractContextManager[Any] = self._strategy.scope() if self._strategy else nullcontext()
        return scope

    def trainer(self) -> type:
        """ResumableTrainer for this number of copies."""
        from train.trainer import ResumableTrainer  # inside: TensorFlow comes after use_devices

        return mirrored_trainer(self._strategy) if self._strategy else ResumableTrainer


def mirrored_trainer(strategy: Any) -> type:
    """ResumableTrainer over the devices of a MirroredStrategy, in whose scope the variables were created."""
    import opennmt
    import tensorflow as tf

    from train.trainer import ResumableTrainer

    mirrored: Any = opennmt.training.MirroredStrategyTrainer

    class ReplicaTrainer(ResumableTrainer, mirrored):
        def __init__(self, model: Any, optimizer: Any, checkpoint: Any = None):
            super(mirrored, self).__init__(model, optimizer, checkpoint=checkpoint)  # skip its own: another strategy
            self._strategy, self._optimizer = strategy, optimizer  # the optimizer as in ResumableTrainer

        def scope(self) -> AbstractContextManager[Any]:
            scope: AbstractContextManager[Any] = strategy.scope()
            return scope

        def _finalize_dataset(self, batches: Any) -> "ReplicaBatches":
            empty = tf.data.Dataset.from_generator(lambda: iter(()), output_signature=batches.element_spec)
            return ReplicaBatches(batches, strategy, super()._finalize_dataset(empty).element_spec)

    return ReplicaTrainer


class ReplicaBatches:
    """The batches in groups of one for each replica, in order. element_spec: of a group."""

    def __init__(self, batches: Any, strategy: Any, element_spec: Any):
        self._batches, self._strategy, self.element_spec = batches, strategy, element_spec

    def __iter__(self) -> Iterator[Any]:
        batches = iter(self._batches)
        for group in zip(*[batches] * self._strategy.num_replicas_in_sync, strict=False):
            yield self._strategy.experimental_distribute_values_from_function(
                lambda replica, group=group: group[replica.replica_id_in_sync_group]
            )


class FirstBatches:
    """The first ``count`` batches, repeated without end; the trainer reads it like a ``tf.data.Dataset``."""

    def __init__(self, batches: Any, count: int):
        self._batches, self.element_spec = [*islice(batches, count)], batches.element_spec

    def __iter__(self) -> Iterator[Any]:
        return cycle(self._batches)


def check_replicas(
    build: Callable[[Parameters], Any], start: list[NDArray[Any]], replicas: Replicas, batches: Any, autograph: bool
) -> None:
    """Raises UserError unless ``replicas`` change weights as a single device does.

    build: makes a model with OpenNMT-tf's ``params``. start: its trainable weights at the beginning. batches: of a
    pass. autograph: as in ResumableTrainer.
    """
    first = FirstBatches(batches, UPDATES * replicas.count)
    alone = changes(build, start, Replicas(replicas.device, 1), first, replicas.count, autograph)
    together = changes(build, start, replicas, first, 1, autograph)
    relative = float(np.linalg.norm(alone - together) / np.linalg.norm(alone))
    many = f"{UPDATES} updates on {replicas.count} devices differ from those on one by {relative:.1e} of their size"
    logging.getLogger("tensorflow").info(many)
    if not relative <= TOLERANCE:  # not a number is a difference, too
        raise UserError(
            f"training.gpus: {replicas.count}: {many}, where rounding gives less than {TOLERANCE:g}; the driver or the "
            "links between these GPUs are at fault: try NCCL_P2P_DISABLE=1, or train with gpus: 1 and accumulate"
        )


def changes(
    build: Callable[[Parameters], Any], start: list[NDArray[Any]], replicas: Replicas, batches: Any, accumulate: int,
    autograph: bool,
) -> NDArray[Any]:  # fmt: skip
    """How UPDATES updates, each of ``accumulate`` batches per device, change all weights: float64, in one row."""
    with replicas.scope():
        model = build(PARAMETERS)
        optimizer = model.get_optimizer()
        model.create_variables(optimizer=optimizer)
        for variable, value in zip(model.trainable_variables, start, strict=True):
            variable.assign(value)
    trainer = replicas.trainer()(model, optimizer)
    trainer.autograph = autograph
    trainer(batches, max_step=UPDATES, accum_steps=accumulate, save_steps=None, eval_steps=None)
    ends = (variable.numpy() for variable in model.trainable_variables)
    changed = (end.astype(np.float64) - begin for end, begin in zip(ends, start, strict=True))
    return np.concatenate([change.ravel() for change in changed])
