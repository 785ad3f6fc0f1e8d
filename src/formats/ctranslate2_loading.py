"""Load CTranslate2's models with the types that this machine computes; a damaged file raises an error of one line.

CTranslate2 has some options only as environment variables, and reads each once in a process: CT2_USE_MKL when it is
imported, CT2_PACKED_GEMM with the first model, CT2_FORCE_CPU_ISA and oneMKL's with it or only at the first batch. What
is set for a load stays set for that reason, and to say what holds in this process. The native engine changes nothing.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formats import ctranslate2_products as products
from nmt_frontier import first_bytes
from nmt_frontier.cpu import intel
from nmt_frontier.errors import UserError

if TYPE_CHECKING:
    import ctranslate2

# Types of two bytes, alone or with int8. A CPU without them computes in float32, without loss.
HALF_TYPES = ("float16", "bfloat16", "int8_float16", "int8_bfloat16")


def prepare(quantization: str, device: str = "cpu") -> None:
    """Set CTranslate2's environment for weights of this type, before CTranslate2 is imported and reads it.

    Only oneMKL multiplies in int16, and CTranslate2 uses oneMKL only on Intel's CPUs unless CT2_USE_MKL is set. So it
    is set for int16, which is slow on other CPUs. For other types oneMKL would be several times slower there.
    """
    if quantization == "int16" and device == "cpu" and products.has_onemkl():
        os.environ.setdefault(products.USE_MKL, "1")


def fast(quantization: str) -> bool:
    """Whether CTranslate2 multiplies in this type on this CPU by its own choice; int16 is fast on Intel's only."""
    import ctranslate2  # inside: a process loads only its own engine

    return intel() if quantization == "int16" else quantization in ctranslate2.get_supported_compute_types("cpu")


def compute_type(quantization: str, device: str = "cpu") -> str:
    """The type to request of CTranslate2: that of the weights, or ``default`` for an unsupported one of HALF_TYPES."""
    import ctranslate2  # inside: a process loads only its own engine

    lacking = quantization not in ctranslate2.get_supported_compute_types(device)
    return "default" if lacking and quantization in HALF_TYPES else quantization


def translator(folder: Path, **options: Any) -> "ctranslate2.Translator":
    """Load a translation model. options: CTranslate2's, by default the CPU and the type of the weights.

    Changes the environment: MKL_NUM_THREADS, which Snakemake and clusters set, is removed, as oneMKL would start that
    many threads in every worker, in addition to ``intra_threads``. CT2_FORCE_CPU_ISA is set to the widest instructions
    of this CPU by default, because CTranslate2 chooses AVX2 even on CPUs with AVX512.
    """
    return _loaded("Translator", folder, options)


def encoder(folder: Path, **options: Any) -> "ctranslate2.Encoder":
    """Load a model without a decoder, as ``translator`` does."""
    return _loaded("Encoder", folder, options)


def use_gpu() -> None:
    """Let CTranslate2 find CUDA's libraries. Raises UserError if it finds no GPU."""
    from common import gpu_lease  # inside: a process on a CPU needs none of it, and its memory is measured

    gpu_lease.load_cuda(gpu_lease.CUDA_OF_CTRANSLATE2)
    import ctranslate2

    if not ctranslate2.get_cuda_device_count():
        raise UserError("--device cuda: CTranslate2 finds no GPU here")


def _loaded(kind: str, folder: Path, options: Mapping[str, object]) -> Any:
    import ctranslate2  # inside: a process loads only its own engine, which counts as loading time

    os.environ.pop("MKL_NUM_THREADS", None)  # oneMKL reads it at its first product
    if isa := products.widest():
        os.environ.setdefault(products.ISA, isa)
    if (isa := os.environ.get(products.ISA)) and isa not in products.sets():
        raise UserError(f"{products.ISA}={isa}: this CPU has {', '.join(products.sets())}")
    try:
        return getattr(ctranslate2, kind)(str(folder), **options)
    except (RuntimeError, ValueError, MemoryError) as error:
        first_bytes.check_files(sorted(folder.glob("*")))
        raise UserError(f"{folder}: CTranslate2 cannot load this model, a file is damaged: {error}") from error
