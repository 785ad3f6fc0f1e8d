"""Settings of the trainings of the tests, and models of OpenNMT-tf for them."""

from msgspec import convert

from formats.shape import shape
from train.settings import TrainingSection

VALUES = {"encoder_layers": 1, "decoder_layers": 1, "units": 16, "ffn_units": 32, "heads": 2}

TOKENS = {"batch_tokens": 240, "batch_sentences": None, "max_length": 150}

TRAINING = {"learning_rate": 0.002, "warmup_steps": 20, "label_smoothing": 0.1, "decay": "inverse_sqrt"}
TRAINING |= {"optimizer": "adam"}


def phase(steps=None, epochs=None, accumulate=1, every=None):
    return {
        "steps": steps,
        "epochs": epochs,
        "accumulate": accumulate,
        "checkpoint_steps": every,
        "validation_steps": every,
    }


def entry(steps=None, epochs=None, accumulate=1, then=(), every=None, gpus=1):
    every = 9 if every is None else every
    return phase(steps, epochs, accumulate, every) | {"then": list(then), "gpus": gpus}


def typed(values):
    """A training with these values, and others where they count for nothing."""
    others = {"average_last": 1, "averages": [], "threads": 1, "precision": "float32"}
    return convert(others | TRAINING | values, TrainingSection)


def model(folder, words, values=VALUES):
    """An initialized model of this shape and vocabulary, described in a folder."""
    import opennmt

    folder.mkdir(exist_ok=True)
    (folder / "vocabulary.txt").write_text("".join(f"{word}\n" for word in ("<blank>", "<s>", "</s>", *words)))
    (folder / "model_description.py").write_text(shape(values).model_description(0.1))
    made = opennmt.load_model(str(folder))
    made.initialize({f"{side}_vocabulary": str(folder / "vocabulary.txt") for side in ("source", "target")})
    return made
