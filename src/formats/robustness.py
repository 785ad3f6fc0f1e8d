"""``robustness.json`` of measure.robustness: how systems translate what people write."""

from typing import NotRequired, TypedDict


class TranslatedInputs(TypedDict):
    """One list of inputs, translated. Counts are of its lines.

    bleu, chrf: only with references; lowercased: without regard to case, only where case was changed and for the clean
    test set. survived: by kind, the lines whose inserted text is there unchanged and exactly once, and all lines of the
    kind. loops: findings.loops, where the source has none. long: more than three times as long as expected. twice: of
    lists without references, the same words two times.
    """

    sentences: int
    bleu: NotRequired[float]
    chrf: NotRequired[float]
    bleu_lowercased: NotRequired[float]
    chrf_lowercased: NotRequired[float]
    survived: dict[str, list[int]]
    loops: int
    empty: int
    long: int
    twice: int


class RobustnessRow(TypedDict):
    """A system, its type and its search. protected: by nmt_frontier.text. lists: by name, those of measure.perturb.

    recased: some of these again, without capitals.
    """

    system: str
    role: str
    engine: str
    compute_type: str
    beam_size: int
    vocabulary_map: bool
    protected: NotRequired[bool]
    lists: dict[str, TranslatedInputs]
    recased: NotRequired[dict[str, TranslatedInputs]]


class Robustness(TypedDict):
    """signatures: of sacreBLEU, by the name of the score."""

    config_hash: str | None
    test_set: str
    sha256: str
    languages: list[str]
    seed: int
    signatures: dict[str, str]
    rows: list[RobustnessRow]
