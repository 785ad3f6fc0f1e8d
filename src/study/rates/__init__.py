"""How fast a machine does what a study spends its time on, for estimates before a run and for the limits of jobs.

Some rates ship with the package, in rates.json, which benchmarks/shipped_rates.py makes of kept benchmarks. `python -m
study.rates` measures this machine for a quarter of a minute and keeps its rates in ~/.cache/nmt-frontier, in a file for
each kind of CPU, or in the file that NMT_FRONTIER_RATES names; estimates then follow from these. Cores share caches and
memory, so one process per core measures at the same time, and the mean counts.

The Snakefile imports this module, so TensorFlow, OpenNMT-tf and CTranslate2 are imported inside functions only.
"""

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from formats import ctranslate2_loading, opennmt_tf
from formats.shape import TransformerShape
from nmt_frontier import cpu, machine
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json

SHIPPED = Path(__file__).parents[1] / "rates.json"
MOST = 16  # processes that measure at the same time, at most
SECONDS = 1.0  # for which each product is repeated
ROWS = 1500  # positions of a batch
WIDTH = 128  # units of a feed-forward layer, with four times as many inside
PIECES = 4000
TRANSLATOR = TransformerShape(encoder_layers=3, decoder_layers=2, units=192, ffn_units=768, heads=4)
SENTENCES, LENGTH = 32, 16  # sentences of a translated batch; pieces of each sentence and of each translation


@dataclass(frozen=True)
class Rates:
    """Seconds on one core while the others work as well."""

    product: float  # a floating-point operation of a layer of WIDTH units in training, forward or backward
    logit: float  # an entry of the vocabulary at a position, beyond its products
    decoded: float  # a target piece per million parameters, with beam 4 in CTranslate2
    tensorflow: float  # importing TensorFlow and OpenNMT-tf
    python: float  # starting a process that decodes
    cpu: str = ""
    origin: str = ""  # for people


class Rate(NamedTuple):
    """Seconds of a core for one ``unit``, from a file of a benchmark, on a CPU."""

    seconds: float
    unit: str
    file: str
    cpu: str


class Shipped(NamedTuple):
    """rates: of a machine. text: seconds per pair or line by the name of the work."""

    rates: Rates
    text: dict[str, Rate]


@cache
def shipped() -> Shipped:
    """The rates that ship with the package."""
    kept = read_json(SHIPPED)
    rates = Rates(**kept["rates"])
    origin = f"rates that ship with the package ({rates.cpu}); to measure this machine: python -m study.rates"
    return Shipped(replace(rates, origin=origin), {work: Rate(**rate) for work, rate in kept["text"].items()})


def own() -> Rates | None:
    """The rates that were measured on a CPU like this; None if there are none. Raises UserError for a damaged file.

    NMT_FRONTIER_RATES names a file of any machine, for a submit host that differs from the cluster's nodes.
    """
    if not (path := _file()).exists() and "NMT_FRONTIER_RATES" not in os.environ:
        return None
    try:
        rates = Rates(**read_json(path))
    except (OSError, ValueError, TypeError) as error:
        wrong = f"{path}: no rates of a machine ({error})"
        raise UserError(f"{wrong}; measure them again: python -m study.rates") from error
    return replace(rates, origin=f"rates measured on {rates.cpu or 'a machine'} ({path})")


def known() -> Rates:
    """The rates that were measured on a CPU like this, else those that ship with the package."""
    return own() or shipped().rates


def _file() -> Path:
    """Each kind of CPU has its own: machines may share a home folder."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return Path(os.environ.get("NMT_FRONTIER_RATES") or cache / f"nmt-frontier/rates-{cpu.kind()}.json")


def measured(cores: int, compute_type: str) -> Rates:
    """The rates of this machine with this many cores at work. compute_type: of a translating model's weights.

    Raises UserError if the measurement fails.
    """
    try:
        with ProcessPoolExecutor(cores, get_context("spawn")) as pool:  # each process loads the libraries itself
            processes = list(pool.map(_of_process, [compute_type] * cores))
    except Exception as error:  # of TensorFlow's or CTranslate2's own kinds, too
        raise UserError(f"measuring how fast this machine is failed: {error}") from error
    product, logit, decoded, tensorflow, python = map(mean, zip(*processes, strict=True))
    return Rates(product, logit, decoded, tensorflow, python, cpu=machine.describe()["cpu"])


def measured_once() -> Rates:
    """The rates that were measured on a CPU like this, else those of a measurement now."""
    return own() or measure()


def measure() -> Rates:
    """Measure this machine, keep its rates for later estimates, and return them."""
    cores = min(len(machine.cores()), MOST)
    print("measuring how fast this machine is, for estimates: a quarter of a minute", file=sys.stderr)
    # The load average would still count what has just ended, such as the installation before `make demo`.
    if (others := machine.others_at_work()) + cores > 1.25 * (os.cpu_count() or 1):
        slow = f"the machine is busy ({others} others at work), so estimates will be too long"
        print(f"{slow}; measure again when it is idle: python -m study.rates", file=sys.stderr)
    rates = asdict(measured(cores, "int8"))
    write_json(_file(), {name: value for name, value in rates.items() if name != "origin"})
    return known()


def _of_process(compute_type: str) -> tuple[float, ...]:
    """The numbers of Rates, measured in a process of its own."""
    warnings.simplefilter("ignore")
    ctranslate2_loading.prepare(compute_type)  # before OpenNMT-tf, which imports CTranslate2
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    python = _importing("measure.run")
    start = time.perf_counter()
    import opennmt  # noqa: F401 (on the clock)

    tensorflow = time.perf_counter() - start
    return *_training(), _decoding(compute_type), tensorflow, python


def _seconds(work: Callable[[], object]) -> float:
    """The mean time of a call over SECONDS, without the first call; a study runs in slow moments, too."""
    work()
    times: list[float] = []
    while sum(times) < SECONDS or len(times) < 3:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return mean(times)


def _training() -> tuple[float, float]:
    """Seconds per floating-point operation of a layer and per logit, forward and backward."""
    import tensorflow as tf

    from train import optimizer

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
            loss = tf.reduce_sum(optimizer.cross_entropy(inputs @ output, labels, tf.constant(0.1)))
        return tape.gradient(loss, [inputs, output])

    product = _seconds(layer) / (6 * ROWS * 2 * units * inner)
    return product, max(_seconds(output_layer) / (ROWS * PIECES) - 6 * units * product, 0.0)


def _decoding(compute_type: str) -> float:
    """Seconds per target piece and million parameters, by a Transformer with random weights and beam 4."""
    import opennmt

    from formats import conversion

    with tempfile.TemporaryDirectory() as folder:
        vocabulary = Path(folder, "vocabulary.txt")
        vocabulary.write_text("".join(f"{entry}\n" for entry in [*opennmt_tf.CONTROL, *range(PIECES)]))
        Path(folder, "model_description.py").write_text(TRANSLATOR.model_description(0))
        model = opennmt.load_model(folder)
        model.initialize({"source_vocabulary": str(vocabulary), "target_vocabulary": str(vocabulary)})
        model.create_variables()
        converted = Path(folder, "converted")
        conversion.Converter(model).convert(str(converted))
        engine = ctranslate2_loading.translator(
            converted, compute_type=ctranslate2_loading.compute_type(compute_type), intra_threads=1
        )
        sentences = [[str(word)] * LENGTH for word in range(SENTENCES)]
        options = {"beam_size": 4, "min_decoding_length": LENGTH, "max_decoding_length": LENGTH}
        seconds = _seconds(lambda: engine.translate_batch(sentences, **options))
    return seconds / (SENTENCES * LENGTH) / (TRANSLATOR.parameters(PIECES) / 1e6)


def _importing(modules: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {modules}"], check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start
