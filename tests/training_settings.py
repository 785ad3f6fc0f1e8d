"""Settings of the trainings of the tests."""

VALUES = {"encoder_layers": 1, "decoder_layers": 1, "units": 16, "ffn_units": 32, "heads": 2}

TOKENS = {"batch_tokens": 240, "batch_sentences": None, "max_length": 150}

TRAINING = {
    "learning_rate": 0.002,
    "warmup_steps": 20,
    "label_smoothing": 0.1,
    "decay": "inverse_sqrt",
    "optimizer": "adam",
}


def entry(steps=None, epochs=None, accumulate=1, then=(), every=None, gpus=1):
    intervals = {"checkpoint_steps": every, "validation_steps": every}
    return {"steps": steps, "epochs": epochs, "accumulate": accumulate, "then": list(then), "gpus": gpus, **intervals}
