"""What one run of a measurement decodes, and how: the JSON that measure.run is started with, and that it writes."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import msgspec

from formats.decoding_options import DecodingOptions
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json

OF_PROCESS = {"isa", "sentences", "cores"}  # options that the process takes, not the translator


@dataclass(frozen=True)
class RunTask:
    """A run: a process that decodes test sets, of which it times each.

    test_sets: names and paths of records. output: JSON to write. translations: None but in the first run, which
    writes them to <this>.<test set>.txt and counts what explains the times.
    """

    model: Path
    decoding: DecodingOptions
    test_sets: list[tuple[str, Path]]
    output: Path
    translations: Path | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of nmt_frontier.translator.Translator: every engine translates every line as its model does."""
        options = {name: value for name, value in self.decoding.options.items() if name not in OF_PROCESS}
        return {**options, "end_loops": False, "copying": False}

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        document: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str, order="deterministic")
        return document

    def command(self, path: Path) -> list[str]:
        """Write the document to a file, and return the command that does the task."""
        write_json(path, self.document())
        return [sys.executable, "-m", "measure.run", str(path)]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Raises UserError for another file."""
        try:
            return msgspec.convert(read_json(path), cls, dec_hook=lambda _, text: Path(text))
        except msgspec.ValidationError as error:
            raise UserError(f"{path}: not a task of measure.run ({error}); measure.task describes it") from None


class DecodedTestSet(msgspec.Struct, kw_only=True):
    """One test set of a run. reference_tokens, candidates: of measure.run.about, None but in the first run."""

    text_seconds: float
    cpu_seconds: float
    joules: float | None
    others: float | None
    tokenization_seconds: float
    decode_seconds: float
    detokenization_seconds: float
    sentences: int
    source_words: int
    source_tokens: int
    target_tokens: int
    output_sha256: str
    reference_tokens: int | None = None
    candidates: int | float | None = None


class Run(msgspec.Struct, kw_only=True):
    """What measure.run writes."""

    engine_version: str | None
    effective_compute_type: str | None
    forced_isa: str | None
    library: str | None = None
    int8_saturates: bool | None = None
    checksum_seconds: float
    load_seconds: float
    warmup_seconds: float
    peak_rss_bytes: int
    code: dict[str, str | None] = {}  # checksums of measure.code_fingerprint
    test_sets: dict[str, DecodedTestSet]
