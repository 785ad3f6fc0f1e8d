"""What makes a step of a training faster on a CPU: the loss, oneDNN, wider buckets of lengths, bfloat16.

Every way runs in a process of its own on one core, in turn with the others (measure.timing_loop), on the same sentences
of a study: a few steps to warm up, then the timed steps. Rates are pieces of both sides per second, without padding.
--across compares kinds of decoders instead of ways, with embeddings of one width, about equal parameters, and the
settings of the study's first student.
"""

import argparse
import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from formats import experiments
from formats.shape import shape
from formats.spread import Spread
from measure import in_process, timing_loop
from measure.timing_loop import Repeats, Usage, watch
from nmt_frontier import machine
from nmt_frontier.command_line import pick, positive
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json
from study import config
from study.configuration import typed
from study.plan.systems import Systems
from study.systems import students
from train.settings import TrainingSection

ON, OFF = {"TF_ENABLE_ONEDNN_OPTS": "1"}, {"TF_ENABLE_ONEDNN_OPTS": "0"}
AVX2 = {"ONEDNN_MAX_CPU_ISA": "AVX2"}  # Eigen's products use oneDNN, too
WAYS: dict[str, tuple[dict[str, str], dict[str, Any]]] = {  # environment, and options of ``steps``
    "as trained here": (ON, {}),
    "OpenNMT-tf's loss": (ON, {"loss": False}),
    "without oneDNN": (OFF, {}),
    "held to AVX2": (ON | AVX2, {}),
    "held to AVX2, without oneDNN": (OFF | AVX2, {}),
    "lengths of 1 in a bucket": (ON, {"bucket": 1}),
    "lengths of 8 in a bucket": (ON, {"bucket": 8}),
    "bfloat16": (ON, {"policy": "mixed_bfloat16"}),
}
USUAL = next(iter(WAYS))
# Every kind of decoder, for --across: embeddings of 128, and about 2.4 million parameters with 4,000 pieces.
BASE = {"encoder_layers": 2, "decoder_layers": 2, "units": 128, "ffn_units": 512, "heads": 4}
CELLS = {"bidirectional": True, "encoder_layers": 2, "decoder_layers": 2, "embedding_units": 128}
LAYERS = {"fully_connected_layers": 7, "fully_connected_units": 128, "embedding_units": 128}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "self-attention": BASE,
    "averaging": BASE | {"decoder": "averaging"},
    "averaging, gated": BASE | {"decoder": "averaging-gated"},  # without the feed-forward layer after the mean
    "averaging, ungated": BASE | {"decoder": "averaging-ungated"},  # without the gate
    "averaging, plain": BASE | {"decoder": "averaging-plain"},  # without both
    "ssru": BASE | {"decoder": "ssru"},
    "lstm": CELLS | {"cell": "lstm", "units": 128},
    "gru": CELLS | {"cell": "gru", "units": 160},
    "conditional": {"encoder_transitions": 1, "decoder_transitions": 2, "units": 160, "embedding_units": 128},
    "fully connected": LAYERS | {"units": 176},  # Devlin's
}
WARM_UP = 4  # steps


@dataclass
class Steps(Usage):
    """tokens_per_second: pieces of both sides. padding: its share of a batch. loss: of the last step."""

    tokens_per_second: float = 0.0
    padding: float = 0.0
    loss: float = 0.0


def built(values: dict[str, Any], training: TrainingSection, vocabulary: str) -> Any:
    """OpenNMT-tf's model of a shape."""
    import opennmt

    from train.optimizer import opennmt_parameters

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model_description.py").write_text(shape(values).model_description(training.dropout))
        model = opennmt.load_model(folder)
        parameters = opennmt_parameters(training, 1000)
        model.initialize({"source_vocabulary": vocabulary, "target_vocabulary": vocabulary}, params=parameters)
    return model


def measured(
    study: Path, values: dict[str, Any], settings: dict[str, Any], options: dict[str, Any], core: int
) -> Steps:
    """Make the steps of one way. values: the shape; settings: the training; options: count, loss, bucket and policy."""
    import opennmt
    import tensorflow as tf

    from train import dataset
    from train import optimizer as cross_entropy

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.keras.mixed_precision.set_global_policy(options.get("policy", "float32"))
    tf.keras.utils.set_random_seed(1)
    dataset.LENGTH_BUCKET = options.get("bucket", dataset.LENGTH_BUCKET)
    if options.get("loss", True):
        cross_entropy.install_cross_entropy()
    training = msgspec.convert(settings, TrainingSection)
    model = built(values, training, str(study / "vocabulary/vocabulary.txt"))
    optimizer = model.get_optimizer()
    model.create_variables(optimizer=optimizer)
    files = (study / f"training/original.1.{side}" for side in ("source", "target"))
    made = dataset.dataset(model, training, *files, 100_000)
    batches = list(islice(made, WARM_UP + options["count"]))
    trainer = opennmt.training.Trainer(model, optimizer)
    trainer._training_stats = opennmt.training.TrainingStats(model, optimizer)
    losses = trainer._steps(Given(batches, made.element_spec))
    for _ in range(WARM_UP):
        next(losses)
    with watch([core]) as usage:
        loss = list(losses)[-1]
    sides = [side for batch in batches[WARM_UP:] for side in batch]
    pieces = sum(int(tf.reduce_sum(side["length"])) for side in sides)
    padded = sum(int(tf.size(side["ids"])) for side in sides)
    return Steps(**vars(usage), tokens_per_second=pieces / usage.seconds, padding=1 - pieces / padded, loss=float(loss))


class Given:
    """Batches made in advance; OpenNMT-tf's Trainer reads them like a ``tf.data.Dataset``."""

    def __init__(self, batches: list[Any], element_spec: Any):
        self._batches, self.element_spec = batches, element_spec

    def __iter__(self) -> Iterator[Any]:
        return iter(self._batches)


def run(way: str, study: str, system: str, across: bool, steps: int, core: int, _number: int) -> Steps:
    """One run of one way in a process of its own. study: the path of its configuration."""
    environment, options = WAYS[way]
    call = [sys.executable, __file__, "--config", study, "--systems", system, "--core", str(core)]
    call += ["--across"] * across + ["--output", "-", "--way", json.dumps({"count": steps, **options})]
    done = subprocess.run(call, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"{way}: {done.stderr.strip().splitlines()[-1]}")
    return Steps(**json.loads(done.stdout))


def trained(study: dict[str, Any], name: str, across: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """The shape and the training of a system of the study, or of an architecture. Raises UserError for no such name."""
    found = {name: (each.shape, each.training.document) for name, each in Systems(typed(study)).trained.items()}
    if across:
        training = students(typed(study))[0].training.document
        found = {of: (values, training) for of, values in ARCHITECTURES.items()}
    if name not in found:
        raise UserError(f"--systems {name}: is none of {', '.join(found)}")
    return found[name]


def compared(calls: dict[tuple[str, str], Callable[[int], Steps]], repeats: Repeats, what: str) -> list[dict[str, Any]]:
    """The rows of some systems and ways, by both names, with the ratio to the first one, run by run."""
    runs, rows = timing_loop.timed(calls, repeats, what), []
    for (system, way), results in runs.items():
        rate = Spread.of(steps.tokens_per_second for steps in results)
        pairs = zip(results, next(iter(runs.values())), strict=True)
        ratio = Spread.of(steps.tokens_per_second / base.tokens_per_second for steps, base in pairs)
        rows.append({"system": system, "way": way, **rate.fields("tokens_per_second"), **ratio.fields("ratio")})
        rows[-1] |= {"padding": results[0].padding, "loss": results[0].loss, "others": in_process.others(results)}
        print(f"{system:<20}{way:<32}{rate.middle:>8,.0f} tokens/s {ratio:.2f}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default="configs/demo.yaml", help="the study, whose data are there")
    parser.add_argument("--systems", nargs="+", help="whose steps are made (default: teacher deep tiny; --across: all)")
    parser.add_argument("--across", action="store_true", help="compare architectures with the first one")
    parser.add_argument("--steps", type=positive, default=20)
    parser.add_argument("--core", type=int, default=0)
    timing_loop.options(parser)
    parser.add_argument("--way", type=json.loads, help=argparse.SUPPRESS)
    args = parser.parse_args()
    study = config.load(args.config)
    machine.pin([args.core])
    names = args.systems or ([*ARCHITECTURES] if args.across else ["teacher", "deep", "tiny"])
    settings = {name: trained(study, name, args.across) for name in names}
    if args.way:
        print(json.dumps(vars(measured(Path("results", study["study"]), *settings[names[0]], args.way, args.core))))
        return

    def call(system: str, way: str) -> Callable[[int], Steps]:
        return functools.partial(run, way, args.config, system, args.across, args.steps, args.core)

    groups = {name: [(name, way) for way in WAYS] for name in names}
    if args.across:
        groups = {"architectures": [(name, USUAL) for name in names]}
    repeats = pick(Repeats, args)
    rows = [row for what, keys in groups.items() for row in compared({key: call(*key) for key in keys}, repeats, what)]
    entries = study["vocabulary"]["pieces"]
    rows = [row | {"parameters": shape(settings[row["system"]][0]).parameters(entries)} for row in rows]
    made_by = " ".join(["python", "benchmarks/training.py", *sys.argv[1:]])
    asked = {name: getattr(args, name) for name in ("steps", "runs", "noise")}
    write_json(args.output, {"command": made_by, **experiments.here(), **asked, "rows": rows})


if __name__ == "__main__":
    command(main)
