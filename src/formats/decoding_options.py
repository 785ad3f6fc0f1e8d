"""How a model folder is decoded: the only list of these options.

From it come what a run is told (measure.task), the name of a configuration (measure.configuration), and in a record the
fields with their docs (formats.measurement) and the signature (measure.kept_runs). Switches of decoding have a list of
their own, nmt_frontier.search.switches. A new option or switch that is as by default is in no name and no signature.
"""

from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from nmt_frontier.search import switches

SWITCHED = {"without", *switches.numbers()}  # the options that hold switches


def option(
    default: Any, text: str = "", unit: str = "", *, signature: str = "", always: bool = False, missing: Any = ...
) -> Any:
    """An option with its default.

    text, unit: of the field of a record. signature: its name there, and after a ``:`` the form of its value. always: in
    every signature. missing: the value in records that lack the field, if not the default; MISSING where none does.
    """
    about = {"text": text, "unit": unit, "default": default if missing is ... else missing}
    return field(default=default, metadata={**about, "signature": signature, "always": always})


@dataclass(frozen=True, kw_only=True)
class DecodingOptions:
    """How a model folder is decoded, and on which cores.

    isa: instruction set to force; the tuned one if None. sentences: the first ones of each test set, all if None.
    batch_sentences: instead of batch_tokens. without: names of nmt_frontier.search.switches that are off.
    """

    beam_size: int = option(
        1, "hypotheses kept in search; 1 is greedy search", "hypotheses", signature="beam", always=True, missing=MISSING
    )
    vocabulary_map: bool = option(
        False,
        "whether only the candidates of the vocabulary map were scored",
        signature="map",
        always=True,
        missing=MISSING,
    )
    batch_tokens: int | None = option(
        512, "largest batch, padding included", "source tokens", signature="batch:{}t", always=True, missing=None
    )
    workers: int = option(1, "batches decoded at a time", "batches", signature="workers", always=True)
    threads: int = option(1, "threads of each worker", "threads", signature="threads")
    without: frozenset[str] = option(frozenset())
    blocked_ngram: int = option(0, signature="blocked")
    isa: str | None = option(None)
    sentences: int | None = option(None)
    batch_sentences: int | None = option(
        None, "sentences of a batch, where batches are not cut by tokens", "sentences", signature="batch:{}s"
    )
    cores: tuple[int, ...] = option(
        (0,), "numbers of the cores that the run was pinned to", signature="cores", always=True, missing=()
    )

    def __post_init__(self) -> None:
        switches.off(self.without)

    @property
    def options(self) -> dict[str, Any]:
        """These options by name, of an object that may have further fields."""
        return {one.name: getattr(self, one.name) for one in fields(DecodingOptions)}

    @property
    def changed(self) -> dict[str, Any]:
        """What a name says of these options: those that are in no signature by default, and switches.

        The order is that of names of kept files.
        """
        named = (one for one in fields(DecodingOptions) if not one.metadata["always"] and one.name not in SWITCHED)
        found = {one.name: value for one in named if (value := getattr(self, one.name)) != one.default}
        found |= switches.changed(self)
        return {name: found[name] for name in ("threads", *switches.of_pipeline(), *found) if name in found}

    @property
    def signed(self) -> dict[str, str]:
        """What a signature says of these options."""
        facts = {}
        for one in fields(DecodingOptions):
            value, (name, _, form) = getattr(self, one.name), one.metadata["signature"].partition(":")
            if name and (one.metadata["always"] or value != one.default):
                facts[name] = (form or "{}").format(_text(value))
        return facts | {name: "no" for name in switches.flags() if name in self.without}


def _text(value: Any) -> Any:
    """A value as a signature has it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return len(value) if isinstance(value, tuple) else value
