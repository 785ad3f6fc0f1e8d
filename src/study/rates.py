"""How fast machines do what a study spends its time on: this one, measured in a few seconds, and kept benchmarks.

Cores share caches and memory, so one process per core measures at the same time, and the mean counts. The user's cache
folder keeps the rates for an hour, so that dry runs in a row start at once.

The Snakefile imports this module, so TensorFlow, OpenNMT-tf and CTranslate2 are imported inside functions only.
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
from typing import Any, NamedTuple

from common import machine
from common.errors import UserError
from common.files import read_json, sha256, write_json
from formats import decoding, opennmt_tf
from formats.decoding import HALF_TYPES
from formats.shape import Transformer

AGE = 3600  # seconds for which measured rates are kept
LIBRARIES = ("CT2_", "DNNL_", "MKL_", "ONEDNN_", "TF_ENABLE_")  # prefixes of variables that change libraries' speed
MOST = 16  # processes that measure at the same time, at most
SECONDS = 1.0  # for which each product is repeated
ROWS = 1500  # positions of a batch
WIDTH = 128  # units of a feed-forward layer, with four times as many inside
PIECES = 4000
TRANSLATOR = {"encoder_layers": 3, "decoder_layers": 2, "units": 192, "ffn_units": 768, "heads": 4}
SENTENCES, LENGTH = 32, 16  # sentences of a translated batch; pieces of each sentence and of each translation

BENCHMARKS = Path("results/reference/benchmarks")
SCRIPTS = {"corpora": "cleaning.py", "stages": "stages.py", "vmap": "vmap.py"}  # of benchmarks/, by the JSON's name


@dataclass(frozen=True)
class Rates:
    """Seconds on one core while the others work as well."""

    product: float  # a floating-point operation of a layer of WIDTH units in training, forward or backward
    logit: float  # an entry of the vocabulary at a position, beyond its products
    decoded: float  # a target piece per million parameters, with beam 4
    tensorflow: float  # importing TensorFlow and OpenNMT-tf
    python: float  # starting a process that decodes
    load: float = 0.0  # the load average of the machine before it was measured, no seconds


def rates(cores: int, compute_type: str) -> Rates:
    """The rates of this machine with this many cores at work. compute_type: of a translating teacher's weights.

    NMT_FRONTIER_RATES names a file to take instead, for a submit host that differs from the cluster's nodes.
    Raises UserError if the measurement fails, or if that file has no rates.
    """
    if given := os.environ.get("NMT_FRONTIER_RATES"):
        try:
            return Rates(**read_json(given))
        except (OSError, ValueError, TypeError) as error:
            wrong = f"NMT_FRONTIER_RATES={given}: no rates of a machine ({error})"
            raise UserError(f"{wrong}; write them by: python -m study.rates int8 > rates.json") from error
    cores = max(1, min(cores, len(machine.cores()), MOST))
    variables = {name: value for name, value in os.environ.items() if name.startswith(LIBRARIES)}
    conditions = json.dumps([cores, compute_type, platform.node(), sha256(__file__), variables], sort_keys=True)
    name = f"rates-{hashlib.sha256(conditions.encode()).hexdigest()[:12]}.json"
    path = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "nmt-frontier" / name
    if not (path.exists() and 0 <= time.time() - path.stat().st_mtime < AGE):
        load = machine.load_average()
        of_processes = _together(cores, compute_type)
        means = {name: mean(process[name] for process in of_processes) for name in of_processes[0]}
        write_json(path, means | {"load": load})
    found = Rates(**read_json(path))
    if found.load > (os.cpu_count() or 1):
        busy = f"the machine was busy (load {found.load:g}) when its speed was measured; estimates are too long"
        print(f"{busy}. To measure again: rm {path}", file=sys.stderr)
    return found


def _together(cores: int, compute_type: str) -> list[dict[str, float]]:
    command = [sys.executable, "-m", "study.rates", compute_type]
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, "text": True}
    print("measuring how fast this machine is", file=sys.stderr)
    processes = [subprocess.Popen(command, **quiet) for _ in range(cores)]
    answers = [(process.communicate(), process.returncode) for process in processes]
    if failed := [(error.splitlines() or [f"ended with status {code}"])[-1] for (_, error), code in answers if code]:
        raise UserError(f"measuring how fast this machine is failed: {failed[0]}")
    return [json.loads(answer) for (answer, _), _ in answers]


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

    from formats import conversion, loading

    shape = Transformer(**TRANSLATOR)
    with tempfile.TemporaryDirectory() as folder:
        vocabulary = Path(folder, "vocabulary.txt")
        vocabulary.write_text("".join(f"{entry}\n" for entry in [*opennmt_tf.CONTROL, *range(PIECES)]))
        Path(folder, "model_description.py").write_text(shape.model_description(0))
        model = opennmt.load_model(folder)
        model.initialize({"source_vocabulary": str(vocabulary), "target_vocabulary": str(vocabulary)})
        model.create_variables()
        converted = Path(folder, "converted")
        conversion.Converter(model).convert(str(converted))
        engine = loading.translator(converted, compute_type=decoding.compute_type(compute_type), intra_threads=1)
        sentences = [[str(word)] * LENGTH for word in range(SENTENCES)]
        options = {"beam_size": 4, "min_decoding_length": LENGTH, "max_decoding_length": LENGTH}
        seconds = _seconds(lambda: engine.translate_batch(sentences, **options))
    return seconds / (SENTENCES * LENGTH) / (shape.parameters(PIECES) / 1e6)


def _importing(modules: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {modules}"], check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    compute_type = sys.argv[1]
    decoding.prepare(compute_type)  # before OpenNMT-tf, which imports CTranslate2
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    python = _importing("measure.run")
    start = time.perf_counter()
    import opennmt  # noqa: F401 (on the clock)

    tensorflow = time.perf_counter() - start
    product, logit = _training()
    measured = Rates(product, logit, _decoding(compute_type), tensorflow, python)
    print(json.dumps({name: value for name, value in asdict(measured).items() if name != "load"}))


class Rate(NamedTuple):
    """Seconds of a core for one ``unit``, from a file of a benchmark, on a CPU."""

    seconds: float
    unit: str
    file: str
    cpu: str


class Benchmarks:
    """The rates in a folder with the JSON of the benchmarks. Raises UserError if one is missing.

    rates: of the machine in ``cpu``. text: seconds per pair or line by the name of the work.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        corpora, stages, vmap = files = [self._read(name) for name in SCRIPTS]
        self.rates, self.cpu = Rates(**stages["rates"]), stages["machine"]["cpu"]
        per_unit = (_of_corpora(corpora), _of_stages(stages["stages"]), _of_vmap(vmap))
        self.text = {
            work: Rate(
                seconds, "line" if work.startswith("vocabulary") else "pair", self.path(name), file["machine"]["cpu"]
            )
            for name, file, seconds_of in zip(SCRIPTS, files, per_unit, strict=True)
            for work, seconds in seconds_of.items()
        }

    def _read(self, name: str) -> dict[str, Any]:
        path = self._folder / f"{name}.json"
        if not path.exists():
            script = f"benchmarks/{SCRIPTS[name]}, see benchmarks/README.md"
            raise UserError(f"{path}: no such benchmark; make it with {script}")
        return read_json(path)

    def fast(self, quantization: str) -> bool:
        """Whether CTranslate2 is fast in a type on that machine; formats.decoding.fast is about this one."""
        return quantization not in HALF_TYPES and (quantization != "int16" or "Intel" in self.cpu)

    def path(self, name: str) -> str:
        return (self._folder / f"{name}.json").as_posix()


def _of_corpora(corpora: dict[str, Any]) -> dict[str, float]:
    full = corpora["scaling"][-1]
    return {
        "clean": full["clean_seconds"] * corpora["cores"] / full["pairs"],
        "gather, drop duplicates": full["gather_seconds"] / full["pairs"],
    }


def _of_stages(stages: dict[str, Any]) -> dict[str, float]:
    """A draw reads all pairs and writes some of them; a vocabulary reads all lines and learns from some of them."""
    read, drawn = solved(stages["draw few"], stages["draw all"], "drawn")
    line, learned = solved(*(stages[name] for name in stages if name.startswith("vocabulary")), "sentences")
    each = {
        name: stages[name]["cpu_seconds"] / stages[name]["read"] for name in ("subset", "gather", "encode", "select")
    }
    return each | {"draw: read": read, "draw: write": drawn, "vocabulary: read": line, "vocabulary: learn": learned}


def _of_vmap(vmap: dict[str, Any]) -> dict[str, float]:
    full, aligner = vmap["scaling"][-1], vmap["fast_align"]
    return {
        "teach the aligner": aligner["train_seconds"] * aligner["train_threads"] / vmap["real_pairs"],
        "align": 1 / aligner["apply_pairs_per_second"],
        "extract phrases": full["extract_seconds"] * vmap["cores"] / full["pairs"],
        "merge phrases": full["merge_seconds"] / full["pairs"],
    }


def solved(few: dict[str, float], many: dict[str, float], amount: str) -> tuple[float, float]:
    """Seconds per unit read and per unit of ``amount``, from two runs that read as much as each other.

    Raises UserError if the runs contradict each other, which happens with few pairs on a busy machine.
    """
    each = (many["cpu_seconds"] - few["cpu_seconds"]) / (many[amount] - few[amount])
    read = (few["cpu_seconds"] - each * few[amount]) / few["read"]
    if min(each, read) <= 0:
        raise UserError(f"stages.json: more {amount} took no longer; run benchmarks/stages.py again, with more --pairs")
    return read, each


if __name__ == "__main__":
    main()
