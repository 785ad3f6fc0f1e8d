"""What a study will take, before it runs: a rough figure in time and disk, from rates measured on one machine.

The rates are those of the reference run of the default study (one core of a server of 2023, AVX512; see
results/reference/demo). They are within a factor of two on other machines, which is what one needs to know before
starting: minutes, hours or weeks.
"""

from typing import Any

from distill.schedule import SHUFFLE_BUFFER, kept_checkpoints
from distill.systems import System, systems, teachers, weights
from formats.shape import shape

TRAINING_SECONDS = (45e-6, 28e-6)  # a token (source + target) on one core: fixed, and a million parameters
SECOND_THREAD = 0.6  # what each further thread of one training adds
DECODING_SECONDS = 12e-6  # a target token and a million parameters, beam 4 in 8 bits, on one core
BASELINE_SECONDS = 25.0  # an OpenNMT-tf beam-4 run over 1,000 short sentences, start included
ENGINE_SECONDS = 2.5  # a CTranslate2 run over the same, mean of the types and beams
READING_SECONDS = 1 / 250_000  # fetch, a line of a corpus
CLEANING_SECONDS = 1 / 55_000  # all rules and gathering, a pair (results/reference/benchmarks/corpora.json)
TOKENS = 20  # a sentence, in pieces
SENTENCE_BYTES = 150  # a pair as record, as pieces and as shard, compressed or not, all copies together: 6 times this
COPIES = 6
CANDIDATE_BYTES = 20  # a translation in an n-best list: alike as they are, they compress well
CHECKPOINT_BYTES = 12  # a parameter: the weights and Adam's two moments in float32
MODEL_BYTES = 4 + 4 + 2 + 1  # a parameter: OpenNMT-tf, float32, int16, int8
# Main memory of a training. One of 7.3 million parameters, 4,000 pieces and batches of 1,000 tokens took 1,206 MB, on a
# CPU, and asks for 1,451. Larger ones were not measured.
PROGRAM_BYTES = 1_100_000_000  # TensorFlow, the graph, and the decoder of the dev set
CUDA_BYTES = 4_000_000_000  # a margin for the libraries of the GPU; not measured
BUFFERED_BYTES = 1000  # a pair in the shuffle buffer
UPDATE_BYTES = 32  # a parameter: weights, gradient and Adam's two moments in float32, and as much again for copies
LOGIT_BYTES = (
    24  # a score of a piece at a position of a batch: logits, softmax, gradient, and a share of the layers below
)
LARGE = 200_000_000  # parameters of a model of unknown size
SPARE = 3  # a job's time limit over its estimate: other machines, neighbours
LONGEST = 7 * 24 * 60  # minutes a job asks for; a training that is cut off continues from its checkpoint
SHORTEST = 60
SCOPE = "of the target all; what only maps, speed and search make is not counted"


def estimate(config: dict[str, Any], cores: int) -> str:
    """A table of core-minutes by stage of the target all, the time on ``cores`` cores and the disk, as text.

    Corpora of unknown numbers of lines and models of unknown size count as nothing, and the text says so.
    """
    corpora, pieces = config["corpora"], config["vocabulary"]["pieces"]
    lines = {name: size(corpus) for name, corpus in corpora.items()}
    unknown = [name for name, count in lines.items() if count is None]
    training = {
        name: lines[name] or 0 for name, corpus in corpora.items() if corpus["role"] in ("train", "monolingual")
    }
    read = sum(read_size(corpora[name]) or 0 for name in training)
    trained = [system for system in systems(config) if system.shape]
    sizes = {system.name: shape(system.shape).parameters(pieces) for system in trained}
    unknown += [name for name, size in sizes.items() if size is None]
    unknown += [f"teacher {system.name}" for system in teachers(config) if not system.shape]
    millions = {name: (size or 0) / 1e6 for name, size in sizes.items()}
    # What a teacher from elsewhere costs is not known before it is there.
    translating = sum(millions[system.name] for system in teachers(config) if system.shape)
    epoch = config["distillation"]["epoch_pairs"] or sum(training.values())
    measured = {(system.student, system.mixture) for system in trained}  # of several seeds one is timed
    on_gpu = [system.name for system in trained if system.training["device"] == "cuda"]
    translated_on_gpu = config["distillation"]["device"] == "cuda" and bool(config["teachers"])
    not_timed = [f"training of {name}" for name in on_gpu] + ["translation by the teachers"] * translated_on_gpu

    decoding = config["decoding"]
    runs = len(decoding["compute_types"]) * len(decoding["beam_sizes"]) * 2 * ENGINE_SECONDS + BASELINE_SECONDS
    seconds = {
        "corpora": READING_SECONDS * read + CLEANING_SECONDS * sum(training.values()),
        "training": sum(
            training_seconds(system.training, millions[system.name], epoch)
            for system in trained
            if system.name not in on_gpu
        ),
        "distillation": 0 if translated_on_gpu else sum(training.values()) * TOKENS * DECODING_SECONDS * translating,
        "decoding and timing (alone on the machine)": len(measured) * decoding["runs"] * runs,
    }
    *parallel, alone = seconds.values()
    wall = sum(parallel) / cores + alone
    lists = config["distillation"]["n_best"] * len(config["teachers"])
    disk = sum(training.values()) * (SENTENCE_BYTES * COPIES + CANDIDATE_BYTES * lists)
    disk += (read - sum(training.values())) * SENTENCE_BYTES + sum(
        millions[system.name] * 1e6 * (CHECKPOINT_BYTES * kept_checkpoints(system.training) + MODEL_BYTES)
        for system in trained
    )
    rows = [f"  {stage:<45}{value / 60:>10,.1f} core-minutes" for stage, value in seconds.items()]
    besides = " beside what GPUs do" if not_timed else ""
    total = f"about {duration(wall)} on {cores} cores{besides}, {disk / 1e9:,.1f} GB of disk"
    note = f"\n  {SCOPE}" + (f"\n  not counted, size unknown: {', '.join(unknown)}" if unknown else "")
    note += f"\n  not counted, on a GPU: {', '.join(not_timed)}" if not_timed else ""
    return "\n".join([f"Estimate for the study {config['study']}: {total}", *rows]) + note


def size(corpus: dict[str, Any]) -> int | None:
    """Lines that a corpus will have at most; None if its configuration does not say."""
    return min((number for number in (read_size(corpus), corpus["sample"]) if number), default=None)


def read_size(corpus: dict[str, Any]) -> int | None:
    """Lines that are read to get there, likewise."""
    sizes = [corpus["lines"], corpus["max_lines"], (corpus["builtin"] or {}).get("sentences")]
    return min((number for number in sizes if number), default=None)


def training_seconds(training: dict[str, Any], millions: float, epoch_pairs: int) -> float:
    """Core-seconds of a training. A batch of tokens holds them on its longer side; 1.8 times that on both."""
    fixed, each = TRAINING_SECONDS
    epoch_tokens = 1.8 * TOKENS * epoch_pairs
    batch_tokens = 1.8 * (training["batch_tokens"] or training["batch_sentences"] * TOKENS)
    tokens = sum(
        phase["steps"] * batch_tokens * phase["accumulate"] if phase["steps"] else phase["epochs"] * epoch_tokens
        for phase in (training, *training["then"])
    )
    threads = training["threads"]
    return tokens * (fixed + each * millions) * threads / (1 + SECOND_THREAD * (threads - 1))


def training_resources(config: dict[str, Any], system: System) -> dict[str, int]:
    """What the training of a system asks of Snakemake: mem_mb of main memory, runtime in minutes, gpu.

    What is not known before the corpora are there counts as a full shuffle buffer and as the longest runtime.
    """
    training, on_gpu = system.training, system.training["device"] == "cuda"
    parameters = shape(system.shape).parameters(config["vocabulary"]["pieces"])
    sizes = [size(config["corpora"][name]) for name in weights(config, system.mixture)]
    pairs = config["distillation"]["epoch_pairs"] or (None if None in sizes else sum(sizes))
    memory = PROGRAM_BYTES + BUFFERED_BYTES * min(pairs or SHUFFLE_BUFFER, SHUFFLE_BUFFER)
    memory += UPDATE_BYTES * (parameters or LARGE)
    # The activations of a batch are in the memory of the GPU, if there is one.
    batch_tokens = training["batch_tokens"] or training["batch_sentences"] * training["max_length"]
    memory += CUDA_BYTES if on_gpu else LOGIT_BYTES * batch_tokens * config["vocabulary"]["pieces"]
    runtime = LONGEST
    if not on_gpu and pairs and parameters:
        seconds = training_seconds(training, parameters / 1e6, pairs) / training["threads"]
        runtime = min(max(round(SPARE * seconds / 60), SHORTEST), LONGEST)
    return {"mem_mb": round(memory / 1e6), "runtime": runtime, "gpu": int(on_gpu)}


def duration(seconds: float) -> str:
    for unit, length in (("days", 86400), ("hours", 3600)):
        if seconds > 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds / 60:,.0f} minutes"
