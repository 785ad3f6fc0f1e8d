"""Where OpenNMT-tf's time goes, from TensorFlow's own profiler, in the components of ``components``.

The profiler records the time of each operation with its place in the model. On one thread operations follow one
another, so their times add up; *other* is TensorFlow's time between them. Attention is that between decoder and
encoder, the last of each decoder layer; the generator is the output layer with its softmax; search is everything else
in the loop over the pieces. In a recurrent model attention is Luong's or the additive one, without the layer that joins
its context to the state, and the bridge belongs to the encoder.
"""

import argparse
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from decode.engines.opennmt_tf import OpenNMTTF
from measure import in_process
from measure.timing_loop import watch
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json
from nmt_frontier.limits import ONE_CORE
from nmt_frontier.search import loading
from nmt_frontier.search.engine import Batch, Engine, Search
from papers.wnmt2018 import components_native
from papers.wnmt2018.components_native import Profile
from papers.wnmt2018.documents import COMPONENTS, OPERATORS, PROFILER

ENCODER = re.compile(r"/(?:(?:self_attention|rnn|conditional)_encoder|dense_bridge)\w*/")
DECODER = re.compile(r"/\w+_decoder(?:_\d+)?/")
ATTENTION = re.compile(r"(self_attention_decoder_layer(?:_\d+)?)/\w+/multi_head_attention(?:_(\d+))?/")
RECURRENT = re.compile(r"/(?:LuongAttention|additive_attention)(?:_\d+)?/")
OUTPUT = re.compile(r"while/(\w+_decoder(?:_\d+)?)/dense(?:_(\d+))?/")
SOFTMAX = "while/LogSoftmax"
EMBEDDINGS = "embedder"

OPERATION = re.compile(r"\w:\w")
VARIANT = re.compile(r"^_(Mkl)?(Native)?(Fused)?")  # of a type, such as oneDNN's _MklNativeFusedMatMul

TYPES = {
    "linear": ("MatMul", "BiasAdd"),
    "attention": ("BatchMatMul", "BatchMatMulV2", "Einsum"),
    "softmax": ("Softmax", "LogSoftmax"),
    "activations": ("Relu", "Sigmoid", "Tanh"),
}  # of OPERATORS; *other* includes the arithmetic of gates and of layer normalisation

Operation = tuple[str, float]  # place/name:Type; milliseconds


def last(names: Iterable[str]) -> dict[str, int]:
    """By decoder layer the number of its last attention, the one to the encoder; by decoder that of its last dense
    layer, the output layer."""
    found: dict[str, int] = {}
    for name in names:
        if match := OUTPUT.search(name) or ATTENTION.search(name):
            found[match[1]] = max(found.get(match[1], 0), int(match[2] or 0))
    return found


def component(name: str, numbers: dict[str, int]) -> str:
    """The component of an operation; numbers: the result of ``last``."""
    looping = "/while/" in name
    if ENCODER.search(name):  # before ``looping`` is used: a recurrent encoder has a loop of its own
        return "encoder"
    if SOFTMAX in name or ((match := OUTPUT.search(name)) and int(match[2] or 0) == numbers[match[1]]):
        return "generator"
    if match := ATTENTION.search(name):
        return "attention" if int(match[2] or 0) == numbers[match[1]] else "decoder"
    if RECURRENT.search(name):
        return "attention"
    if DECODER.search(name) or EMBEDDINGS in name:
        return "decoder" if looping else "encoder"
    return "search" if looping else "other"


def operator(name: str) -> str:
    """The one of OPERATORS that an operation of this type belongs to."""
    type = VARIANT.sub("", name.rpartition(":")[2])
    return next((operator for operator, types in TYPES.items() if type in types), "other")


def operations(folder: Path) -> list[Operation]:
    """The operations in the folder that the profiler wrote. Raises UserError where there are none."""
    from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace  # inside, as in ``profiled``

    recorded = []
    for path in folder.rglob("*.xplane.pb"):
        for plane in XSpace.FromString(path.read_bytes()).planes:
            names = {key: value.name for key, value in plane.event_metadata.items()}
            events = (event for line in plane.lines if line.name.startswith("tf_") for event in line.events)
            # An operation is place/name:Type; other events on these lines contain operations.
            recorded += [(name, e.duration_ps / 1e9) for e in events if OPERATION.search(name := names[e.metadata_id])]
    if not recorded:
        raise UserError("TensorFlow's profiler recorded no operation")
    return recorded


def profiled(engine: Engine, batches: list[Batch], core: int) -> Profile:
    """Decode the batches under the profiler."""
    import tensorflow as tf  # inside: the engine sets its environment before it imports it

    with tempfile.TemporaryDirectory() as folder:
        with tf.profiler.experimental.Profile(folder), watch([core]) as usage:
            components_native.decode(engine, batches)
        recorded = operations(Path(folder))
    numbers = last(name for name, _ in recorded)
    by_component = shares([(component(name, numbers), time) for name, time in recorded], COMPONENTS, usage.seconds)
    by_operator = shares([(operator(name), time) for name, time in recorded], OPERATORS, usage.seconds)
    return Profile(**vars(usage), shares=by_component, operators=by_operator)


def shares(times: list[Operation], names: tuple[str, ...], seconds: float) -> dict[str, float]:
    """The share of each name in the whole time; time without an operation is *other*. times: milliseconds by name."""
    total: defaultdict[str, float] = defaultdict(float)
    for name, milliseconds in times:
        total[name] += milliseconds / 1000
    total["other"] += seconds - sum(total.values())
    return {name: total[name] / seconds for name in names}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=there, required=True, help="model folder of OpenNMT-tf")
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=[1, 2, 5])
    in_process.options(parser)
    args = parser.parse_args()

    loading.describe_for(args.model, OpenNMTTF)
    session, shared = in_process.prepared(args)
    sentences = in_process.pieces(args.model, session)
    about = {"sentences": len(sentences), "batch_tokens": ONE_CORE}
    batches = in_process.in_batches(sentences, ONE_CORE)
    rows = [
        components_native.row(args.model, Search(beam), PROFILER, profiled, batches, session)
        for beam in args.beam_sizes
    ]
    write_json(args.output, {**shared, **about, "rows": rows})


if __name__ == "__main__":
    command(main)
