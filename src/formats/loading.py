"""Load CTranslate2 and SentencePiece models; a missing or damaged file raises an error of one line."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sentencepiece

from common import cpu
from common.errors import UserError

if TYPE_CHECKING:
    import ctranslate2


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


def _loaded(kind: str, folder: Path, options: dict[str, Any]) -> Any:
    import ctranslate2  # inside: a process loads only its own engine, which counts as loading time

    os.environ.pop("MKL_NUM_THREADS", None)  # oneMKL reads it at its first product
    if isa := cpu.widest():
        os.environ.setdefault(cpu.ISA, isa)
    # CTranslate2 reads it with the first model, or with oneMKL only at the first batch.
    if (isa := os.environ.get(cpu.ISA)) and isa not in cpu.sets():
        raise UserError(f"{cpu.ISA}={isa}: this CPU has {', '.join(cpu.sets())}")
    try:
        return getattr(ctranslate2, kind)(str(folder), **options)
    except (RuntimeError, ValueError, MemoryError) as error:
        raise UserError(f"{folder}: CTranslate2 cannot load this model, a file is damaged: {error}") from error


def pieces(path: Path) -> sentencepiece.SentencePieceProcessor:
    """Load a SentencePiece model. Raises UserError for a missing or damaged file."""
    if not path.exists():
        raise UserError(f"{path} is missing; export the model again")
    try:
        return sentencepiece.SentencePieceProcessor(model_file=str(path))
    except (RuntimeError, OSError) as error:
        raise UserError(f"{path}: not a SentencePiece model; export the model again") from error
