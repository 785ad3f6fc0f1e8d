"""Make a submission to the shared tasks on efficient translation: ``run.sh HARDWARE TASK < source > target``.

Besides Python and the model, the image holds only the engine and SentencePiece with what they import. SIZES.md lists
the bytes of each part.
"""

import argparse
import importlib.metadata
import shutil
from collections.abc import Iterator
from pathlib import Path

from tabulate import tabulate

from common import cpu
from common.errors import command
from common.files import atomic_path, write_text
from export.model_folder import checked
from export.package import LEFT_OUT

FILES = Path(__file__).parent / "submission_files"
SCRIPTS = ("run.sh", "translate.py", "cpu.py")  # cpu.py is common/cpu.py: what this CPU computes exactly
LIBRARIES = ("ctranslate2", "sentencepiece", "numpy", "PyYAML")  # CTranslate2 requires the last two
NOTE = "Python and its base image are not counted. The libraries are those that the Dockerfile installs.\n\n"


def make(model: Path, output: Path) -> None:
    """Write the folder. Raises UserError for a model folder that is damaged or not CTranslate2's."""
    checked(model)
    requirements = " ".join(f"{name}=={importlib.metadata.version(name)}" for name in LIBRARIES)
    with atomic_path(output) as part:
        shutil.copytree(model, part / "model", ignore=shutil.ignore_patterns(*LEFT_OUT))
        for file in FILES.iterdir():
            shutil.copy(file, part)
        shutil.copy(cpu.__file__, part)
        write_text(part / "Dockerfile", (FILES / "Dockerfile").read_text().format(requirements=requirements))
        table = tabulate(sizes(part), ["part", "bytes", "MB"], "pipe", colalign=("left",))
        write_text(part / "SIZES.md", f"{NOTE}{table}\n")


def sizes(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Rows of name, bytes and MB: each library, all libraries, each script and file of the model, and everything."""
    libraries = {f"{name} {importlib.metadata.version(name)}": installed(name) for name in LIBRARIES}
    parts = [*(folder / name for name in SCRIPTS), *sorted((folder / "model").iterdir())]
    files = {str(path.relative_to(folder)): path.stat().st_size for path in parts}
    library_bytes = sum(libraries.values())
    rows = {
        **libraries,
        "libraries, without Python and its base image": library_bytes,
        **files,
        "libraries, scripts and model": library_bytes + sum(files.values()),
    }
    for name, size in rows.items():
        yield name, f"{size:,}", f"{size / 1e6:.1f}"


def installed(name: str) -> int:
    """Bytes of an installed library by its wheel's list of files, without compiled Python, which the image lacks."""
    files = importlib.metadata.files(name) or []
    paths = [Path(file.locate()) for file in files if file.suffix != ".pyc"]
    return sum(path.stat().st_size for path in paths if path.exists())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="model folder of CTranslate2")
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    args = parser.parse_args()
    make(args.model, args.output)


if __name__ == "__main__":
    command(main)
