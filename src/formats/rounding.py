"""``quantization.json`` of export.quantization: what a model loses in fewer bits."""

from typing import NotRequired, TypedDict


class OtherCpus(TypedDict):
    """BLEU of a model as CPUs compute it that multiply 8 bits in another way (measure.int8_other_cpus)."""

    compute_type: str
    environment: dict[str, str]
    int8_saturates: bool
    bleu: float


class Quantization(TypedDict):
    """errors: of the weights, as shares of their norm, by type and name of the matrix."""

    system: str
    errors: dict[str, dict[str, float]]
    elsewhere: NotRequired[list[OtherCpus]]
