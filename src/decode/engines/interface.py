"""What an engine is: facts that its class states, and a loaded model that translates batches."""

import contextlib
import functools
import shutil
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar, Literal

from common.errors import UserError
from formats.decoding import MAXIMUM_INPUT
from formats.model_folder import Description
from formats.vocabulary_map import VocabularyMap

Batch = list[list[str]]  # sentences in pieces, without control tokens
Device = Literal["cpu", "cuda"]
# What the libraries of engines raise; pybind11 makes such errors of C++'s exceptions.
FAILURES = (RuntimeError, ValueError, IndexError, OverflowError, MemoryError)


@dataclass(frozen=True)
class Search:
    """How an engine searches. The caller cuts batches; an engine decodes each as it comes.

    The last ten fields are switches (SWITCHES): most say what our engine does to be fast, so that it can be measured
    without. An engine states which of them it can be told.

    All engines score a finished hypothesis by its log probability / length^``length_penalty``, where the length counts
    the end token. OpenNMT-tf's own formula, ((5 + length) / 6)^penalty (Wu et al. 2016), is not used: equal weights are
    to give equal translations. Without a penalty beam search prefers short hypotheses, which cost the demo 3 BLEU
    (measured).
    """

    beam_size: int = 1  # 1 is greedy search
    length_penalty: float = 1.0
    vocabulary_map: bool = False  # score only the target pieces that the map allows for the source
    workers: int = 1  # batches decoded at a time, with one copy of the weights
    threads: int = 1  # that share the work of one batch, in each worker
    device: Device = "cpu"
    map_per_sentence: bool = True  # candidates of each sentence by itself; False: of its whole batch together
    remove_finished: bool = True  # finished sentences leave the batch; False (greedy search only): they stay
    shared_cache: bool = True  # the encoder's keys and values once a sentence; False: copied to every beam
    blocked_ngram: int = 0  # no n-gram of this size twice; 0 allows all
    parallel_scan: bool = True  # look for these n-grams with vectors; False: one place after the other
    packed: bool = True  # weights laid out for matrix products once; False: for every product
    # Of recurrent models (Devlin 2017), the last two of those with fully connected layers; others translate the same,
    # whatever they are told.
    piece_products: bool = True  # products of up to 8,000 pieces with a first layer looked up; False: computed
    source_products: bool = True  # what attention multiplies the source with, once a sentence; False: at each step
    equal_states: bool = True  # products of a state once for all hypotheses that have it; False: for each
    polynomials: bool = True  # sigmoid and tanh by polynomials, in any model; False: by the C library


SWITCHES = (  # of a Search
    "map_per_sentence", "remove_finished", "shared_cache", "blocked_ngram", "parallel_scan", "packed",
    "piece_products", "source_products", "equal_states", "polynomials",
)  # fmt: skip


class Engine(ABC):
    """An engine. The class states facts about it; an instance is a loaded model.

    A module with an engine imports the engine's library inside methods only. So any process can ask any class, a
    process that decodes loads no other library, and loading the library is part of the loading time (measure.run).
    """

    name: ClassVar[str]  # in model.json and in measurements
    label: ClassVar[str]  # for people
    packages: ClassVar[tuple[str, ...]]  # by import name, whose versions change its results; the first is the engine
    types: ClassVar[tuple[str, ...]]  # of weights that its model folders may have
    devices: ClassVar[tuple[Device, ...]] = ("cpu",)
    weights: ClassVar[str]  # the file that tells whether a folder has weights
    files: ClassVar[Mapping[str, str]]  # of a model folder: name and purpose, for the folder's README
    map_file: ClassVar[str | None] = None  # the vocabulary map in a model folder; None if the engine uses none
    switches: ClassVar[frozenset[str]] = frozenset()  # those of SWITCHES that it can be told
    isa_variable: ClassVar[str | None] = None  # of the environment, names the instructions to use; None: there is none

    longest_input: int = MAXIMUM_INPUT  # pieces of a sentence that the loaded model takes; longer lines are cut there
    effective_compute_type: str  # the type that the loaded model computes in, whatever the type of its weights
    isa: str | None = None  # the instructions that the engine is told to use; None if it chooses them itself
    library: str | None = None  # that multiplies matrices, where there is a choice
    of_batch: ClassVar[bool] = True  # whether a translation may depend on the batch that the sentence is in
    int8_saturates: bool | None = False  # whether 8-bit products may be cut off here (common.cpu); None if not known

    # The class

    @classmethod
    def supported(cls) -> list[str]:
        """Those of ``types`` that this CPU can decode."""
        return [*cls.types]

    @classmethod
    def fast(cls, quantization: str) -> bool:
        """Whether the engine is fast in this type on this CPU, so that its speed is worth measuring."""
        return True

    @classmethod
    def widest(cls) -> str | None:
        """The value of ``isa_variable`` for the widest instructions of this CPU; None if it takes them by itself."""
        return None

    @classmethod
    def lacks(cls, shape: Mapping[str, Any]) -> str | None:
        """What keeps the engine from decoding a model that OpenNMT-tf trained, as in ``has no recurrent model``.

        shape: its values (formats.shape). None if nothing does. Messages are made of it by ``decode.engines.refusal``.
        """
        return None

    @classmethod
    def runs(cls, shape: Mapping[str, Any]) -> bool:
        """Whether the engine decodes a model that OpenNMT-tf trained."""
        return cls.lacks(shape) is None

    @classmethod
    def exported(cls, types: Sequence[str]) -> list[str]:
        """The types of the model folders of a system whose study asks for these types."""
        return [name for name in types if name in cls.types]

    @classmethod
    def folder(cls, quantization: str) -> str:
        """Name of a model folder among those of its system."""
        return f"{cls.name}-{quantization}"

    @classmethod
    def copy_weights(cls, weights: Path, folder: Path) -> None:
        """Make ``folder`` with the weights and what belongs to them. Raises UserError where there are none.

        Files whose names begin with a dot are left out: Snakemake puts some into output folders.
        """
        if not (weights / cls.weights).exists():
            raise UserError(f"{weights}: no weights of {cls.label} in it, {cls.weights} is missing")
        shutil.copytree(weights, folder, ignore=shutil.ignore_patterns(".*"))
        folder.chmod(folder.stat().st_mode | stat.S_IWUSR)  # the weights may be where nobody may write

    @classmethod
    def write_map(cls, source: Path, folder: Path) -> None:
        """Add a vocabulary map to a model folder as ``map_file``. Raises UserError for a map of another model.

        source: in the format that the engine's own exporter makes.
        """
        raise UserError(f"{source}: {cls.label} uses no vocabulary map")

    @classmethod
    def read_map(cls, folder: Path, sources: Iterable[Sequence[str]]) -> VocabularyMap | None:
        """The entries of a folder's map for these sentences; None if Python cannot read the engine's format."""
        return None

    # The loaded model

    @abstractmethod
    def __init__(self, folder: Path, description: Description, search: Search):
        """Load the weights. Raises UserError for a missing or damaged file, or a type that this CPU lacks."""

    @property
    def version(self) -> str | None:
        """Of the engine's own package."""
        return version(self.packages[0])

    def translate(self, batch: Batch) -> Batch:
        """Translate sentences of at least one piece each. Up to ``search.workers`` threads call it at a time.

        Raises UserError with the batch's size if the engine fails.
        """
        size = f"a batch of {len(batch)} sentences, the longest of {max(map(len, batch), default=0)} pieces"
        with in_one_line(f"{self.label} failed at {size}", "lower --workers or --batch-tokens"):
            return self.decode(batch)

    @abstractmethod
    def decode(self, batch: Batch) -> Batch:
        """Translate a batch for ``translate``, which makes one line of any of FAILURES."""

    def stop(self) -> None:  # noqa: B027 (most engines cannot)
        """End the batches that are being translated, where the engine can; for a process that ends."""


@contextlib.contextmanager
def in_one_line(what: str, less_memory: str) -> Iterator[None]:
    """Make one line of what a library raises: what failed, and why. less_memory: what to do where memory ran out."""
    try:
        yield
    except FAILURES as error:
        reason = " ".join(str(error).split()) or "no memory left"
        short = any(word in reason.lower() for word in ("memory", "alloc"))
        advice = f"; with less memory than it needs, {less_memory}" if short else ""
        raise UserError(f"{what}: {reason}{advice}") from error


def version(package: str) -> str | None:
    """Of an installed package, by import name: TensorFlow comes in distributions of several names. None if absent."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.version(package)  # a look at all packages takes a third of a second
    names = _distributions().get(package)
    return metadata.version(names[0]) if names else None


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()
