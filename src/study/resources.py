"""The operations of a training, and the memory, time and GPUs that jobs request from Snakemake."""

from corpora.settings import Corpus
from formats.shape import CustomShape, Values, shape
from formats.word_probabilities import CHARACTERS
from study.candidates import pairs
from study.configuration import StudyConfiguration
from study.systems import Trained, base, drawn
from train.schedule import SHUFFLE_BUFFER
from train.settings import TrainingSection

TOKENS = 20  # pieces of a sentence
BOTH_SIDES = 1.8  # pieces of a batch on both sides, per piece of its longer side, by which batches are filled
TYPICAL_RATE = 4e9  # floating-point operations per second of one slow core in training; for time limits only

# Main memory of a training. One with 7.3 million parameters, 4,000 pieces and batches of 1,000 tokens took 1,206 MB on
# a CPU, and requests 1,451. Larger ones were not measured.
PROGRAM_BYTES = 1_100_000_000  # TensorFlow, the graph, and the decoder of the dev set
CUDA_BYTES = 4_000_000_000  # a margin for the libraries of a GPU; not measured
BUFFERED_BYTES = 1000  # per pair in the shuffle buffer
UPDATE_BYTES = 32  # per parameter: weights, gradient and Adam's two moments in float32, and as much again for copies
LOGIT_BYTES = 24  # per position and vocabulary entry: logits, softmax, gradient, a share of the layers below
LARGE = 200_000_000  # parameters assumed for a model of unknown size
SENTENCE_BYTES = 4000  # per sentence that a vocabulary is learned from, measured with 200,000 and 500,000: 3,033
SPARE = 3  # time limit of a job over its estimate: other machines, neighbours
LONGEST = 7 * 24 * 60  # minutes that a job requests at most; a training that is cut off continues from its checkpoint
SHORTEST = 60


def size(corpus: Corpus) -> int | None:
    """The most lines that a corpus can have; None if its configuration leaves that open."""
    best = [score.best for score in (corpus.score or {}).values()]
    return min((number for number in (cleaned_size(corpus), *best) if number), default=None)


def cleaned_size(corpus: Corpus) -> int | None:
    """The most lines that are cleaned and scored to get them."""
    return min((number for number in (read_size(corpus), corpus.sample) if number), default=None)


def read_size(corpus: Corpus) -> int | None:
    """The most lines that are read to get them; None if the configuration leaves that open."""
    left = corpus.lines and max(corpus.lines - corpus.skip_lines, 0)
    sizes = [left, corpus.max_lines, corpus.builtin and corpus.builtin.sentences]
    return min((number for number in sizes if number), default=None)


def scores_to_rank(config: StudyConfiguration, mixture: str, corpus: str) -> int:
    """The most scores that a corpus of a mixture can have; 0 if the size of the corpus is unknown."""
    return pairs(config, mixture) * (size(config.corpora[base(corpus)]) or 0)


def trained_tokens(training: TrainingSection, epoch_pairs: int) -> float:
    """Pieces that a training reads, source and target together."""
    batch = BOTH_SIDES * batch_tokens(training)
    epoch = BOTH_SIDES * TOKENS * epoch_pairs
    update = batch * training.gpus
    return sum((p.epochs or 0) * epoch if p.steps is None else p.steps * update * p.accumulate for p in training.phases)


def batch_tokens(training: TrainingSection) -> int:
    """Pieces of a batch on its longer side."""
    return training.batch_tokens or (training.batch_sentences or 0) * TOKENS


def operations(values: Values, entries: int) -> float | None:
    """Floating-point operations of a training per piece of either side; None for a model of unknown size.

    Every weight in a product costs two operations forward and four backward. Source pieces pass the encoder, target
    pieces the decoder and the output layer, so a piece passes half of the weights on average. Embeddings are looked up.
    """
    built = shape(values)
    if isinstance(built, CustomShape):
        return None
    parameters = built.parameters(entries)
    looked_up = 0 if built.share_embeddings else 2 * entries * getattr(built, "embedding_units", built.units)
    return 6 * (parameters - looked_up) / 2


def vocabulary_megabytes(config: StudyConfiguration) -> int:
    """Main memory that learning the vocabulary requests. Corpora of unknown size count as large ones."""
    sizes = [size(corpus) for corpus in config.corpora.values() if corpus.role in ("train", "monolingual")]
    drawn = config.vocabulary.sentences
    sentences = drawn if None in sizes else min(2 * sum(filter(None, sizes)), drawn)  # both sides
    return 1000 + sentences * SENTENCE_BYTES // 1_000_000


def training_resources(config: StudyConfiguration, system: Trained) -> dict[str, int]:
    """What the training of a system requests from Snakemake: mem_mb of main memory, runtime in minutes, GPUs.

    Corpora of unknown size count as a full shuffle buffer and as the longest runtime.
    """
    sizes = [size(config.corpora[base(name)]) for name in drawn(config, system.mixture)]
    pairs = config.distillation.epoch_pairs or (None if None in sizes else sum(filter(None, sizes)))
    buffered = BUFFERED_BYTES + (CHARACTERS * TOKENS * system.words.k if system.words else 0)
    return resources_of(system.training, system.shape, config.vocabulary.pieces, pairs, buffered)


def resources_of(
    training: TrainingSection, values: Values, entries: int, pairs: int | None, buffered: int = BUFFERED_BYTES
) -> dict[str, int]:
    """The same for any training. values: of its shape; entries: of its vocabulary; pairs: of an epoch, if known;
    buffered: bytes of each in the shuffle buffer."""
    on_gpu, gpus = training.device == "cuda", training.gpus
    parameters = shape(values).parameters(entries)
    memory = PROGRAM_BYTES + buffered * min(pairs or SHUFFLE_BUFFER, SHUFFLE_BUFFER)
    weights_bytes = UPDATE_BYTES * (parameters or LARGE)
    largest = training.batch_tokens or (training.batch_sentences or 0) * training.max_length
    # On GPUs, the copies of the weights and the activations of the batches are in the GPUs' memory.
    memory += weights_bytes + CUDA_BYTES * gpus if on_gpu else (weights_bytes + LOGIT_BYTES * largest * entries) * gpus
    runtime = LONGEST
    if not on_gpu and pairs and (per_token := operations(values, entries)):
        work = trained_tokens(training, pairs) * per_token
        runtime = min(max(round(SPARE * work / TYPICAL_RATE / 60), SHORTEST), LONGEST)
    return {"mem_mb": round(memory / 1e6), "runtime": runtime, "gpu": gpus if on_gpu else 0}


def distillation_resources(config: StudyConfiguration) -> dict[str, int]:
    """What a job with teachers requests: one GPU, and mem_mb for its libraries.

    CTranslate2 could spread a shard over several GPUs, but jobs of one GPU start wherever one is free, and a machine
    with several gives each job its own (common.gpu_lease).
    """
    on_gpu = config.distillation.device == "cuda"
    return {"mem_mb": round(CUDA_BYTES / 1e6) if on_gpu else 0, "gpu": int(on_gpu)}
