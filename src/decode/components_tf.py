"""Where OpenNMT-tf's time goes, from TensorFlow's own profiler, in the components of decode.components.

The profiler notes when each operation began and ended, under its place in the model. On one core with one thread the
operations follow one another, so their times add up; what is left of the whole is TensorFlow between the operations
(other). Attention is the one between decoder and encoder, the last of each decoder layer; the generator is the output
layer with its softmax; search is everything else inside the loop over the pieces.
"""

import argparse
import re
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from decode import engines, turns
from decode.components import COMPONENTS
from decode.engines import Batch, Engine, Search
from decode.measure import pin
from decode.pipeline import batches
from decode.translate import ONE_CORE, positive
from decode.watch import watch
from formats.errors import UserError, command
from formats.files import write_json

ENCODER, DECODER = "self_attention_encoder", "self_attention_decoder"
ATTENTION = re.compile(rf"({DECODER}_layer(?:_\d+)?)/\w+/multi_head_attention(?:_(\d+))?/")
OUTPUT = re.compile(rf"while/(?:{DECODER}/dense\w*/|LogSoftmax)")
EMBEDDINGS = "embedder"

OPERATION = re.compile(r"\w:\w")

Operation = tuple[str, float]  # its name with its place before it, milliseconds


def between(names: Iterable[str]) -> dict[str, int]:
    """Of each decoder layer the number of its last attention, the one that looks at the encoder."""
    last: dict[str, int] = {}
    for found in filter(None, map(ATTENTION.search, names)):
        last[found[1]] = max(last.get(found[1], 0), int(found[2] or 0))
    return last


def component(name: str, attention: dict[str, int]) -> str:
    """The component that an operation belongs to; ``attention`` is what ``between`` found."""
    looping = "/while/" in name
    if OUTPUT.search(name):
        return "generator"
    if found := ATTENTION.search(name):
        return "attention" if int(found[2] or 0) == attention[found[1]] else "decoder"
    if ENCODER in name or DECODER in name or EMBEDDINGS in name:
        return "decoder" if looping else "encoder"
    return "search" if looping else "other"


def operations(folder: Path) -> list[Operation]:
    """What the profiler wrote. Raises UserError where it noted no operation."""
    from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace

    found = []
    for path in folder.rglob("*.xplane.pb"):
        for plane in XSpace.FromString(path.read_bytes()).planes:
            names = {key: value.name for key, value in plane.event_metadata.items()}
            events = (event for line in plane.lines if line.name.startswith("tf_") for event in line.events)
            # An operation is place/name:Type; what else is on these lines holds operations.
            found += [(name, e.duration_ps / 1e9) for e in events if OPERATION.search(name := names[e.metadata_id])]
    if not found:
        raise UserError("TensorFlow's profiler noted no operation")
    return found


def profiled(engine: Engine, cut: list[Batch]) -> tuple[float, dict[str, float]]:
    """Seconds, and the share of each component in them."""
    import tensorflow as tf

    with tempfile.TemporaryDirectory() as folder:
        with tf.profiler.experimental.Profile(folder):
            start = time.perf_counter()
            for batch in cut:
                engine.translate(batch)
            taken = time.perf_counter() - start
        found = operations(Path(folder))
    attention = between(name for name, _ in found)
    total: Counter[str] = Counter()
    for name, milliseconds in found:
        total[component(name, attention)] += milliseconds / 1000
    total["other"] += taken - sum(total.values())
    return taken, {name: total[name] / taken for name in COMPONENTS}


def row(model: Path, beam_size: int, args: argparse.Namespace) -> dict[str, Any]:
    engine = engines.load(model, Search(beam_size=beam_size))
    sentences = turns.pieces(model, args)
    cut = [[sentences[place] for place in places] for places in batches(sentences, ONE_CORE)]
    engine.translate(cut[0])
    runs, bare = [], []
    for _ in range(args.runs):  # with and without the profiler in turn
        runs.append(profiled(engine, cut))
        with watch([args.core]) as usage:
            for batch in cut:
                engine.translate(batch)
        bare.append(usage)
    costs = [taken / usage.seconds - 1 for (taken, _), usage in zip(runs, bare, strict=True)]
    description = engines.describe(model)
    return {
        "engine": engine.name,
        "engine_version": engine.version,
        "how": "profiler",
        **{name: description.get(name) for name in ("system", "shape")},
        "compute_type": engine.effective_compute_type,
        "beam_size": beam_size,
        "vocabulary_map": False,
        **turns.cpu_seconds(bare),
        "profiler_costs": statistics.median(costs),
        "shares": {name: turns.spread("share", [shares[name] for _, shares in runs]) for name in COMPONENTS},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="model folder of OpenNMT-tf, a Transformer")
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=[1, 2, 5])
    turns.options(parser)
    args = parser.parse_args()

    if engines.describe(args.model)["engine"] != "opennmt-tf":
        raise UserError(f"{args.model}: not a model folder of OpenNMT-tf")
    pin([args.core])
    conditions = turns.conditions(args) | {"sentences": len(turns.pieces(args.model, args))}
    rows = [row(args.model, beam, args) for beam in args.beam_sizes]
    write_json(args.output, {**conditions, "batch_tokens": ONE_CORE, "rows": rows})


if __name__ == "__main__":
    command(main)
