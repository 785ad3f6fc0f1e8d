"""A model of the right shape with random weights, for what does not depend on them: its size and its speed.

Writes a checkpoint folder as distill.train does, and the same bytes for the same seed. What the model says means
nothing: whatever is measured with it has to be marked ``speed only``.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from formats import shape
from formats.errors import UserError, command
from formats.files import whole, write_json, write_text


def make(values: dict[str, Any], vocabulary: Path, seed: int, output: Path) -> int:
    """Write the folder of a model of this shape (formats.shape); its number of parameters. Raises UserError."""
    import opennmt
    import tensorflow as tf
    from opennmt.utils.checkpoint import Checkpoint

    tf.keras.utils.set_random_seed(seed)  # Keras draws the seeds of its initializers with Python's generator
    with whole(output) as part:
        part.mkdir(parents=True)
        try:
            write_text(part / "model_description.py", shape.shape(values).model_description(dropout=0.1))
        except ValueError as error:
            raise UserError(f"--shape: {error}") from None
        copied = part / "vocabulary.txt"
        copied.write_bytes(vocabulary.read_bytes())
        model = opennmt.load_model(str(part))
        model.initialize({"source_vocabulary": str(copied), "target_vocabulary": str(copied)})
        model.create_variables()
        Checkpoint(model, model_dir=str(part)).save(0)
        (part / "checkpoint").write_text('model_checkpoint_path: "ckpt-0"\n')
    return sum(int(tf.size(variable)) for variable in model.trainable_variables)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", required=True, help="a name of formats/shapes.yaml, or JSON")
    parser.add_argument("--vocabulary", type=Path, required=True, help="as OpenNMT-tf reads it, an entry a line")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, required=True, help="checkpoint folder to write")
    parser.add_argument("--learning", type=Path, help="JSON to write, what export.model_folder reads of a training")
    args = parser.parse_args()

    known = shape.registry()
    if not args.shape.startswith("{") and args.shape not in known:
        raise UserError(f"--shape {args.shape}: no such name; there are {', '.join(known)}")
    try:
        values = known.get(args.shape) or json.loads(args.shape)
    except json.JSONDecodeError as error:
        raise UserError(f"--shape: not valid JSON: {error}") from None
    parameters = make(values, args.vocabulary, args.seed, args.output)
    if args.learning:
        write_json(args.learning, {"shape": str(shape.shape(values)), "parameters": parameters, "steps": 0})
    print(f"{parameters:,} parameters")


if __name__ == "__main__":
    command(main)
