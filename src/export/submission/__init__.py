"""Make a submission to the shared tasks on efficient translation: ``run.sh HARDWARE TASK < source > target``.

The folder needs no network: it holds the model, what decodes it, and a Dockerfile (export.image builds it). A model of
the native engine comes with one static program and nothing else; one of CTranslate2, with the libraries of this
environment, for CPUs or GPUs.
"""

import importlib.metadata
import os
import shutil
from pathlib import Path

from decode.engines.ctranslate2 import CTranslate2
from export import translate_command
from export.model_folder import LEFT_OUT, SUMS, checked
from formats import ctranslate2_products
from nmt_frontier import characters, cpu, sentence
from nmt_frontier.errors import UserError
from nmt_frontier.files import atomic_path, sha256, write_text
from nmt_frontier.model.model_folder import describe
from nmt_frontier.search.native import Native

FILES = Path(__file__).parents[1] / "submission_files"  # a folder for each engine
LIBRARIES = ("ctranslate2", "sentencepiece", "numpy", "PyYAML")  # CTranslate2 requires the last two
GPU_LIBRARIES = ("nvidia-cublas-cu12",)  # CTranslate2 loads it on a GPU
HARDWARE = ("cpu", "gpu")
PROCESSORS = {"x86_64": 62, "aarch64": 183}  # with their numbers in ELF
APPLETS = ("sh", "grep", "sha256sum", "dirname")  # of busybox, for run.sh


def make(model: Path, output: Path, hardware: str = "cpu", processor: str = translate_command.HERE) -> None:
    """Write the folder. processor: of PROCESSORS, or this machine's.

    Raises UserError for a model folder that is damaged, or of an engine that does not decode on this hardware, and if a
    part of the submission is missing.
    """
    engine = describe(model).engine
    if engine == Native.name and hardware == "gpu":
        raise UserError(f"{model}: the native engine decodes on CPUs; give a model folder of CTranslate2")
    if engine != Native.name and processor != translate_command.HERE:
        raise UserError(f"{model}: only the native engine is compiled for {processor} here; give a model folder of it")
    checked(model, FILLED)
    with atomic_path(output) as part:
        shutil.copytree(FILES / engine, part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(model, part / "model", ignore=shutil.ignore_patterns(*LEFT_OUT))
        FILLED[engine](part, hardware, processor)


def _with_program(part: Path, hardware: str, processor: str) -> None:
    """The native engine: one program, and a shell for run.sh."""
    (part / "bin").mkdir()
    shutil.copy(_static_busybox(processor), part / "bin" / "busybox")
    shutil.copy(translate_command.build(processor), part)
    for name in APPLETS:
        (part / "bin" / name).symlink_to("busybox")
    sums = [f"{sha256(path)}  {path.name}\n" for path in sorted((part / "model").iterdir())]
    write_text(part / "model" / SUMS, "".join(sums))


def _static_busybox(processor: str) -> Path:
    """The first one of the PATH for this processor. Raises UserError where there is none, or only dynamic ones."""
    for path in (Path(folder, "busybox") for folder in os.get_exec_path()):
        content = path.read_bytes() if path.is_file() else b""
        is_static = b"/ld-" not in content  # the loader of dynamic programs
        if is_static and content[18:20] == PROCESSORS.get(processor, 0).to_bytes(2, "little"):
            return path
    raise UserError(
        f"no busybox for {processor} that is linked statically; with Debian: apt-get install busybox-static, and for"
        " another processor as docs/images.md says"
    )


def _with_libraries(part: Path, hardware: str, processor: str) -> None:
    """CTranslate2: its libraries as they are installed here, for any Python 3.11, and modules of this project."""
    for name in LIBRARIES + GPU_LIBRARIES * (hardware == "gpu"):
        _copy_installed(name, part / "libraries")
    for module in (ctranslate2_products, sentence):
        shutil.copy(str(module.__file__), part)
    (part / "nmt_frontier").mkdir()
    (part / "nmt_frontier" / "__init__.py").touch()  # an installed one has no part in it
    for imported in (cpu, characters):
        shutil.copy(str(imported.__file__), part / "nmt_frontier")


def _copy_installed(name: str, to: Path) -> None:
    """The files of an installed library by its wheel's list, without compiled Python and commands."""
    try:
        files = importlib.metadata.files(name) or []
    except importlib.metadata.PackageNotFoundError:
        lock = "requirements-gpu.lock" if name in GPU_LIBRARIES else "requirements.lock"
        install = f"pip install --no-deps --require-hashes -r {lock}"
        raise UserError(f"{name} is not installed here, which goes into the submission: {install}") from None
    for file in files:
        if file.suffix != ".pyc" and file.parts[0] != "..":
            (to / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path(file.locate()), to / file)


FILLED = {Native.name: _with_program, CTranslate2.name: _with_libraries}  # add what decodes the model
