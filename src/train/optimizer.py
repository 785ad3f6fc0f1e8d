"""Optimizer, learning rate and loss of a training, as the ``params`` of OpenNMT-tf."""

from typing import Any

from formats.decoding import MAXIMUM_OUTPUT


def opennmt_parameters(training: dict[str, Any], steps: int) -> dict[str, Any]:
    """OpenNMT-tf's ``params`` for a training of ``steps`` updates in all, with label-smoothed cross-entropy.

    ``learning_rate`` of the configuration is the peak, reached after the warm-up. For ``inverse_sqrt`` (Vaswani et al.
    2017, section 5.3) OpenNMT-tf scales its own value by units^-0.5 * warmup^-0.5; so we tell it one unit, and divide
    by the second factor.
    """
    peak, warmup = training["learning_rate"], training["warmup_steps"]
    decays = {
        "cosine": (peak, "CosineAnnealing", {"max_step": steps, "warmup_steps": warmup}),
        "inverse_sqrt": (peak * warmup**0.5, "NoamDecay", {"model_dim": 1, "warmup_steps": warmup}),
        "constant": (peak, None, None),
    }
    learning_rate, decay, decay_parameters = decays[training["decay"]]
    optimizers = {
        "adam": ("LazyAdam", {"beta_1": 0.9, "beta_2": 0.998}),
        "sgd": ("SGD", {"clipnorm": 5.0}),  # OpenNMT-tf's first version, which trained the 2018 paper, clipped so
    }
    optimizer, optimizer_parameters = optimizers[training["optimizer"]]
    return {
        "optimizer": optimizer,
        "optimizer_params": optimizer_parameters,
        "learning_rate": learning_rate,
        **({"decay_type": decay, "decay_params": decay_parameters} if decay else {}),
        "average_loss_in_time": True,
        "label_smoothing": training["label_smoothing"],
        "maximum_decoding_length": MAXIMUM_OUTPUT,
    }
