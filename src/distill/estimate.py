"""What a study will take, before it runs: a rough figure in time and disk, from rates measured on one machine.

The rates are those of the reference run of the default study (one core of a server of 2023, AVX512; see
results/reference/demo). They are within a factor of two on other machines, which is what one needs to know before
starting: minutes, hours or weeks.
"""

from typing import Any

from distill.schedule import kept_checkpoints
from distill.systems import systems, teachers
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
    trained = [system for system in systems(config) if system.shape]
    sizes = {system.name: shape(system.shape).parameters(pieces) for system in trained}
    unknown += [name for name, size in sizes.items() if size is None]
    unknown += [f"teacher {system.name}" for system in teachers(config) if not system.shape]
    millions = {name: (size or 0) / 1e6 for name, size in sizes.items()}
    # What a teacher from elsewhere costs is not known before it is there.
    translating = sum(millions[system.name] for system in teachers(config) if system.shape)
    epoch = config["distillation"]["epoch_pairs"] or sum(training.values())
    measured = {(system.student, system.mixture) for system in trained}  # of several seeds one is timed

    decoding = config["decoding"]
    runs = len(decoding["compute_types"]) * len(decoding["beam_sizes"]) * 2 * ENGINE_SECONDS + BASELINE_SECONDS
    seconds = {
        "corpora": (READING_SECONDS + CLEANING_SECONDS) * sum(training.values()),
        "training": sum(training_seconds(system.training, millions[system.name], epoch) for system in trained),
        "distillation": sum(training.values()) * TOKENS * DECODING_SECONDS * translating,
        "decoding and timing (alone on the machine)": len(measured) * decoding["runs"] * runs,
    }
    *parallel, alone = seconds.values()
    wall = sum(parallel) / cores + alone
    lists = config["distillation"]["n_best"] * len(config["teachers"])
    disk = sum(training.values()) * (SENTENCE_BYTES * COPIES + CANDIDATE_BYTES * lists) + sum(
        millions[system.name] * 1e6 * (CHECKPOINT_BYTES * kept_checkpoints(system.training) + MODEL_BYTES)
        for system in trained
    )
    rows = [f"  {stage:<45}{value / 60:>10,.1f} core-minutes" for stage, value in seconds.items()]
    total = f"about {duration(wall)} on {cores} cores, {disk / 1e9:,.1f} GB of disk"
    note = f"\n  {SCOPE}" + (f"\n  not counted, size unknown: {', '.join(unknown)}" if unknown else "")
    return "\n".join([f"Estimate for the study {config['study']}: {total}", *rows]) + note


def size(corpus: dict[str, Any]) -> int | None:
    """Lines that a corpus will have at most; None if its configuration does not say."""
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


def duration(seconds: float) -> str:
    for unit, length in (("days", 86400), ("hours", 3600)):
        if seconds > 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds / 60:,.0f} minutes"
