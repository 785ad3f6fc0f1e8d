"""Compare a few updates on all devices with the same updates on one, before a training spends hours.

Faults of drivers and of the links between GPUs give wrong sums without any error. Right sums differ by rounding only,
because they are added up in another order.
"""

import logging
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from typing import Any

import numpy as np

from common.errors import UserError
from train.replicas import Replicas

UPDATES = 3
# Plain gradient descent, because Adam turns the rounding of tiny gradients into whole steps; and no randomness.
PARAMETERS = {"optimizer": "SGD", "optimizer_params": {}, "learning_rate": 0.1, "dropout": 0}
TOLERANCE = 1e-3  # measured on two CPU devices: rounding 4e-7, one of them ignored 0.37


class FirstBatches:
    """Endless repetitions of the first ``count`` batches, in the role of a ``tf.data.Dataset``."""

    def __init__(self, batches: Any, count: int):
        self._batches, self.element_spec = [*islice(batches, count)], batches.element_spec

    def __iter__(self) -> Iterator[Any]:
        return cycle(self._batches)


def check_replicas(
    build: Callable[[dict[str, Any]], Any], start: list[np.ndarray], replicas: Replicas, batches: Any, autograph: bool
) -> None:
    """Raises UserError unless ``replicas`` and a single device change weights alike.

    build: a model with these ``params`` of OpenNMT-tf. start: its trainable weights at the beginning. batches: of a
    pass, with the ``element_spec`` of a ``tf.data.Dataset``. autograph: as of ``resumable_trainer``.
    """
    first = FirstBatches(batches, UPDATES * replicas.count)
    alone = changes(build, start, Replicas(replicas.device, 1), first, replicas.count, autograph)
    together = changes(build, start, replicas, first, 1, autograph)
    difference = norm([a - b for a, b in zip(alone, together, strict=True)])
    relative = difference / norm(alone)
    many = f"{UPDATES} updates on {replicas.count} devices differ from those on one by {relative:.1e} of their size"
    logging.getLogger("tensorflow").info(many)
    if not relative <= TOLERANCE:  # not a number is a difference, too
        raise UserError(
            f"training.gpus: {replicas.count}: {many}, where rounding gives less than {TOLERANCE:g}; the driver or the "
            "links between these GPUs are at fault: try NCCL_P2P_DISABLE=1, or train with gpus: 1 and accumulate"
        )


def changes(
    build: Callable[[dict[str, Any]], Any],
    start: list[np.ndarray],
    replicas: Replicas,
    batches: Any,
    accumulate: int,
    autograph: bool,
) -> list[np.ndarray]:
    """What UPDATES updates, each of ``accumulate`` batches per device, change of the weights; float64."""
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
    return [end.astype(np.float64) - begin for end, begin in zip(ends, start, strict=True)]


def norm(arrays: list[np.ndarray]) -> float:
    """Euclidean, of all their numbers together."""
    return float(np.sqrt(sum(np.square(array).sum() for array in arrays)))
