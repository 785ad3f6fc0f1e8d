"""How fast this machine is at what a study spends its time on: a few seconds of measurement for the estimate.

Cores share caches, memory and often a physical core, so the rates are those of all cores at work: one process a core
measures at the same time, and the mean counts. They are kept for an hour in the user's cache folder, so that the plans
of a morning are made at once.
"""

import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean

from formats.errors import UserError
from formats.files import read_json, sha256, write_json

AGE = 3600  # seconds that measured rates are kept
LIBRARIES = ("CT2_", "DNNL_", "MKL_", "ONEDNN_", "TF_ENABLE_")  # variables that make them faster or slower
MOST = 16  # processes that measure at the same time
SECONDS = 1.0  # that each product is repeated for
ROWS = 1500  # positions of a batch
WIDTH = 128  # units of a feed-forward layer, with four times as many inside
PIECES = 4000
TRANSLATOR = {"encoder_layers": 3, "decoder_layers": 2, "units": 192, "ffn_units": 768, "heads": 4}
SENTENCES, LENGTH = 32, 16  # of a batch that is translated, pieces of each sentence and translation


@dataclass(frozen=True)
class Rates:
    """Seconds on one core while the others work, too.

    product: a floating-point operation of a layer of WIDTH units in training, forward or backward; logit: what an entry
    of the vocabulary takes at a position beyond that; decoded: a target piece for a million parameters, beam 4;
    tensorflow: importing TensorFlow and OpenNMT-tf; python: starting a process that decodes.
    """

    product: float
    logit: float
    decoded: float
    tensorflow: float
    python: float


def rates(cores: int, compute_type: str) -> Rates:
    """Those of this machine with so many cores at work. compute_type: of a translating teacher's weights."""
    cores = max(1, min(cores, len(os.sched_getaffinity(0)), MOST))
    told = {name: value for name, value in os.environ.items() if name.startswith(LIBRARIES)}
    asked = json.dumps([cores, compute_type, platform.node(), sha256(__file__), told], sort_keys=True)
    name = f"rates-{hashlib.sha256(asked.encode()).hexdigest()[:12]}.json"
    path = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "nmt-frontier" / name
    if path.exists() and 0 <= time.time() - path.stat().st_mtime < AGE:
        return Rates(**read_json(path))
    found = _together(cores, compute_type)
    measured = {name: mean(one[name] for one in found) for name in found[0]}
    write_json(path, measured)
    return Rates(**measured)


def _together(cores: int, compute_type: str) -> list[dict[str, float]]:
    command = [sys.executable, "-m", "distill.rates", compute_type]
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, "text": True}
    processes = [subprocess.Popen(command, **quiet) for _ in range(cores)]
    answers = [(process.communicate(), process.returncode) for process in processes]
    if failed := [error for (_, error), code in answers if code]:
        raise UserError(f"measuring how fast this machine is failed: {failed[0].strip().splitlines()[-1]}")
    return [json.loads(answer) for (answer, _), _ in answers]


def _seconds(work: Callable[[], object]) -> float:
    """The mean time of a call, of those that fit into SECONDS; the first one does not count.

    The mean and not the shortest: a study gets the machine as it is, its slow moments too.
    """
    work()
    times: list[float] = []
    while sum(times) < SECONDS or len(times) < 3:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return mean(times)


def _training() -> tuple[float, float]:
    """Seconds of a floating-point operation and of a logit: a layer and an output layer, forward and backward."""
    import tensorflow as tf

    from distill import cross_entropy

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    units, inner = WIDTH, 4 * WIDTH
    inputs = tf.random.normal([ROWS, units])
    labels = tf.zeros([ROWS], tf.int64)
    up, down, output = (
        tf.Variable(tf.random.normal(shape)) for shape in ([units, inner], [inner, units], [units, PIECES])
    )
    norm = tf.keras.layers.LayerNormalization()
    norm.build(inputs.shape)

    @tf.function
    def layer() -> object:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            loss = tf.reduce_sum(inputs + tf.nn.relu(norm(inputs) @ up) @ down)
        return tape.gradient(loss, [inputs, up, down])

    @tf.function
    def output_layer() -> object:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            loss = tf.reduce_sum(cross_entropy.cross_entropy(inputs @ output, labels, tf.constant(0.1)))
        return tape.gradient(loss, [inputs, output])

    product = _seconds(layer) / (6 * ROWS * 2 * units * inner)
    return product, max(_seconds(output_layer) / (ROWS * PIECES) - 6 * units * product, 0.0)


def _decoding(compute_type: str) -> float:
    """Seconds of a target piece and a million parameters: a Transformer with random weights, beam 4."""
    import opennmt

    from formats import conversion, decoding, loading
    from formats.shape import Transformer

    shape = Transformer(**TRANSLATOR)
    with tempfile.TemporaryDirectory() as folder:
        vocabulary = Path(folder, "vocabulary.txt")
        vocabulary.write_text("".join(f"{entry}\n" for entry in ["<blank>", "<s>", "</s>", *range(PIECES)]))
        Path(folder, "model_description.py").write_text(shape.model_description(0))
        model = opennmt.load_model(folder)
        model.initialize({"source_vocabulary": str(vocabulary), "target_vocabulary": str(vocabulary)})
        model.create_variables()
        converted = Path(folder, "converted")
        conversion.Converter(model).convert(str(converted))
        decoding.prepare(compute_type)
        engine = loading.translator(converted, compute_type=decoding.compute_type(compute_type), intra_threads=1)
        sentences = [[str(word)] * LENGTH for word in range(SENTENCES)]
        options = {"beam_size": 4, "min_decoding_length": LENGTH, "max_decoding_length": LENGTH}
        taken = _seconds(lambda: engine.translate_batch(sentences, **options))
    return taken / (SENTENCES * LENGTH) / (shape.parameters(PIECES) / 1e6)


def _importing(modules: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {modules}"], check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    python = _importing("decode.measure")
    start = time.perf_counter()
    import opennmt  # noqa: F401 (on the clock)

    tensorflow = time.perf_counter() - start
    product, logit = _training()
    found = Rates(product, logit, _decoding(sys.argv[1]), tensorflow, python)
    print(json.dumps(asdict(found)))


if __name__ == "__main__":
    main()
