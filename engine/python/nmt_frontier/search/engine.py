"""The interface of engines: class attributes describe an engine, an instance is a loaded model."""

import contextlib
import functools
import shutil
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from nmt_frontier.errors import UserError
from nmt_frontier.limits import MAXIMUM_INPUT
from nmt_frontier.model.model_folder import Description
from nmt_frontier.model.vocabulary_map import VocabularyMap
from nmt_frontier.search import switches
from nmt_frontier.search.sampling import Sampling
from nmt_frontier.text.tokenizers import Processors

Batch = list[list[Any]]  # sentences in pieces without control tokens: text, or the numbers of Engine.coded
Device = Literal["cpu", "cuda"]
# Raised by the engines' libraries; pybind11 translates C++ exceptions to these.
FAILURES = (RuntimeError, ValueError, IndexError, OverflowError, MemoryError)


@dataclass(frozen=True)
class Search:
    """Options of decoding. The caller cuts batches; an engine decodes each of them as it is.

    without: names of search.switches that are off, mostly optimisations of the native engine. source_prefix,
    target_prefix: pieces before every source, and those that every translation begins with, instead of the model's own.
    others: folders of further models, which decode with the first as an ensemble. alignment: translations are Attended.
    end_loops: a translation that repeats the same pieces over and over is ended, if the engine can, and keeps one
    occurrence; engines that are compared must not.

    All engines score a finished hypothesis by log probability / length^``length_penalty``; the length includes the end
    token. OpenNMT-tf's formula, ((5 + length) / 6)^penalty (Wu et al. 2016), is not used, so that equal weights give
    equal translations. Without a penalty beam search prefers short hypotheses, which cost the demo 3 BLEU (measured).
    """

    beam_size: int = 1  # 1 is greedy search
    sampling: Sampling | None = None  # draws translations instead, without a beam
    samples: int = 1  # of each sentence, with sampling; an output is then a list of so many, if there are several
    length_penalty: float = 1.0
    vocabulary_map: bool = False  # score only the target pieces that the map allows for the source
    workers: int = 1  # batches decoded at a time; they share the weights
    threads: int = 1  # per worker, sharing its batch
    device: Device = "cpu"
    blocked_ngram: int = 0  # repeat no n-gram of this size; 0: off
    without: frozenset[str] = frozenset()
    source_prefix: tuple[str, ...] | None = None
    target_prefix: tuple[str, ...] | None = None
    others: tuple[Path, ...] = ()
    alignment: bool = False
    end_loops: bool = False

    def __post_init__(self) -> None:
        switches.off(self.without)


class Looped(list[Any]):
    """A translation whose end was cut off, as it repeated what was before."""

    looped = True


class Coder(Protocol):
    """Splits a line into pieces that an engine takes, and joins pieces to a line. text: of a piece."""

    def encode(self, line: str) -> list[Any]: ...
    def decode(self, pieces: list[Any]) -> str: ...
    def text(self, piece: Any) -> str: ...


class TextCoder(Coder, Protocol):
    """Its pieces are text. processors: SentencePiece's, if it is by SentencePiece."""

    processors: Processors | None


class Engine(ABC):
    """An engine. Class attributes describe it; an instance is a loaded model.

    Modules import their engine's library inside methods only: any process can query any class, decoding loads no other
    engine's library, and loading the library is part of the loading time (measure.run).
    """

    name: ClassVar[str]  # in model.json and in measurements
    label: ClassVar[str]  # for people
    packages: ClassVar[tuple[str, ...]]  # import names whose versions change results; the first is the engine
    types: ClassVar[tuple[str, ...]]  # of weights in its model folders
    devices: ClassVar[tuple[Device, ...]] = ("cpu",)
    weights: ClassVar[str]  # the file by which a folder with weights is recognised
    files: ClassVar[Mapping[str, str]]  # of a model folder: name to purpose, for the folder's README
    map_file: ClassVar[str | None] = None  # the vocabulary map in a model folder; None: not supported
    ensembles: ClassVar[bool] = False  # whether a search may have others
    prefixes: ClassVar[bool] = False  # whether a search may have source_prefix and target_prefix
    aligns: ClassVar[bool] = False  # whether a search may have alignment
    samples: ClassVar[bool] = False  # whether a search may have sampling
    isa_variable: ClassVar[str | None] = None  # environment variable of the instruction set

    longest_input: int = MAXIMUM_INPUT  # in pieces; longer lines are cut
    effective_compute_type: str  # of computation; may differ from the weights' type
    isa: str | None = None  # requested instruction set; None: chosen by the engine
    library: str | None = None  # for matrix products, if there is a choice
    of_batch: ClassVar[bool] = True  # whether a translation may depend on its batch
    int8_saturates: bool | None = False  # whether 8-bit products may saturate here; None: unknown

    # The class

    @classmethod
    def supported(cls) -> list[str]:
        """Those of ``types`` that this CPU can decode."""
        return [*cls.types]

    @classmethod
    def fast(cls, quantization: str) -> bool:
        """Whether this CPU computes fast in this type, so that its speed is measured."""
        return True

    @classmethod
    def widest(cls) -> str | None:
        """The value of ``isa_variable`` for this CPU's widest instruction set; None if the engine chooses it."""
        return None

    @classmethod
    def lacks(cls, shape: Mapping[str, Any]) -> str | None:
        """Why the engine cannot decode a shape (formats.shape) trained by OpenNMT-tf; None if it can.

        Completes the sentence of ``decode.engines.refusal``, as in ``has no recurrent model``.
        """
        return None

    @classmethod
    def runs(cls, shape: Mapping[str, Any]) -> bool:
        """Whether the engine decodes a model that OpenNMT-tf trained."""
        return cls.lacks(shape) is None

    @classmethod
    def exported(cls, types: Sequence[str]) -> list[str]:
        """Types of the engine's model folders, given the types of the study."""
        return [name for name in types if name in cls.types]

    @classmethod
    def folder(cls, quantization: str) -> str:
        """Name of the model folder with this type."""
        return f"{cls.name}-{quantization}"

    @classmethod
    def copy_weights(cls, weights: Path, folder: Path) -> None:
        """Make ``folder`` with the weights and their files. Raises UserError if there are no weights.

        Hidden files are left out, as Snakemake writes some into output folders; and compiled Python, which is compiled
        again after a copy and would differ from its checksum.
        """
        if not (weights / cls.weights).exists():
            raise UserError(f"{weights}: no weights of {cls.label} in it, {cls.weights} is missing")
        shutil.copytree(weights, folder, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        folder.chmod(folder.stat().st_mode | stat.S_IWUSR)  # the source may be read-only

    @classmethod
    def write_map(cls, source: Path, folder: Path) -> None:
        """Add a vocabulary map to a model folder as ``map_file``. Raises UserError for a map of another model.

        source: in the format of the engine's exporter.
        """
        raise UserError(f"{source}: {cls.label} uses no vocabulary map")

    @classmethod
    def read_map(cls, folder: Path, sources: Iterable[Sequence[str]]) -> VocabularyMap | None:
        """The entries of a folder's map for these sentences; None if Python cannot read the format."""
        return None

    # The loaded model

    @abstractmethod
    def __init__(self, folder: Path, description: Description, search: Search):
        """Load the weights. Raises UserError for a missing or damaged file, and for a type that the CPU lacks."""

    @property
    def version(self) -> str | None:
        """Version of the engine's own package."""
        return version(self.packages[0])

    def translate(self, batch: Batch) -> Batch:
        """Translate sentences of at least one piece each; called by up to ``search.workers`` threads at a time.

        Raises UserError with the batch's size if the engine fails.
        """
        return self.reported(self.decode, batch)

    def coded(self, tokenizer: TextCoder) -> tuple[Coder, Callable[[Batch], Batch]]:
        """What splits text into pieces, and what translates them: text by default, or numbers of the engine's own."""
        return tokenizer, self.translate

    def reported(self, decode: Callable[[Batch], Batch], batch: Batch) -> Batch:
        """Decode a batch; FAILURES become one line with the batch's size."""
        try:  # not in_one_line, whose text would be made for every batch
            return decode(batch)
        except FAILURES as error:
            size = f"a batch of {len(batch)} sentences, the longest of {max(map(len, batch), default=0)} pieces"
            advice = "lower --workers or --batch-tokens"
            raise failure(f"{self.label} failed at {size}", advice, error) from error

    @abstractmethod
    def decode(self, batch: Batch) -> Batch:
        """Translate a batch; ``reported`` turns FAILURES into one line."""

    def warning(self, folder: Path) -> str | None:
        """What a user should know of the loaded model, in a line."""
        return None

    def stop(self) -> None:  # noqa: B027 (most engines cannot)
        """Stop running batches if the engine can, because the process ends."""


@contextlib.contextmanager
def in_one_line(what: str, less_memory: str) -> Iterator[None]:
    """Turn a library's exception into one line: what failed, and why. less_memory: advice if memory ran out."""
    try:
        yield
    except FAILURES as error:
        raise failure(what, less_memory, error) from error


def failure(what: str, less_memory: str, error: Exception) -> UserError:
    """The line of ``in_one_line``."""
    reason = " ".join(str(error).split()) or "no memory left"
    short = any(word in reason.lower() for word in ("memory", "alloc"))
    return UserError(f"{what}: {reason}" + (f"; with less memory than it needs, {less_memory}" if short else ""))


def version(package: str) -> str | None:
    """Version of a package by import name (TensorFlow's distributions have several names); None if absent."""
    from importlib import metadata  # inside: its import takes as long as all of this package

    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.version(package)  # searching all distributions takes a third of a second
    names = _distributions().get(package)
    return metadata.version(names[0]) if names else None


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    from importlib import metadata

    return metadata.packages_distributions()
