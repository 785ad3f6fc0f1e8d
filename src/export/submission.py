"""A folder as the shared tasks on efficient translation want it: ``run.sh HARDWARE TASK < source > target``.

The engine and SentencePiece, with what they import, are all that the image holds beside Python and the model; SIZES.md
says what each part takes.
"""

import argparse
import importlib.metadata
import shutil
from collections.abc import Iterator
from pathlib import Path

from tabulate import tabulate

from export.model_folder import checked
from formats import cpu
from formats.errors import command
from formats.files import whole, write_text

FILES = Path(__file__).parent / "submission_files"
SCRIPTS = ("run.sh", "translate.py", "cpu.py")  # the last one is formats/cpu.py: what this CPU computes exactly
LIBRARIES = ("ctranslate2", "sentencepiece", "numpy", "PyYAML")  # the last two are what the engine requires
NOTE = "Python and its base image are not counted. The libraries are those that the Dockerfile installs.\n\n"


def make(model: Path, output: Path) -> None:
    """Write the folder. Raises UserError for a model folder of another engine, or a damaged one."""
    checked(model)
    requirements = " ".join(f"{name}=={importlib.metadata.version(name)}" for name in LIBRARIES)
    with whole(output) as part:
        shutil.copytree(model, part / "model", ignore=shutil.ignore_patterns("README.md", "tuned.json", ".*"))
        for file in FILES.iterdir():
            shutil.copy(file, part)
        shutil.copy(cpu.__file__, part)
        write_text(part / "Dockerfile", (FILES / "Dockerfile").read_text().format(requirements=requirements))
        table = tabulate(sizes(part), ["part", "bytes", "MB"], "pipe", colalign=("left",))
        write_text(part / "SIZES.md", f"{NOTE}{table}\n")


def sizes(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Bytes of each library with its files, of all of them, of each file beside them, and of everything."""
    libraries = {f"{name} {importlib.metadata.version(name)}": installed(name) for name in LIBRARIES}
    parts = [*(folder / name for name in SCRIPTS), *sorted((folder / "model").iterdir())]
    files = {str(path.relative_to(folder)): path.stat().st_size for path in parts}
    together = sum(libraries.values())
    rows = {
        **libraries,
        "libraries, without Python and its base image": together,
        **files,
        "libraries, scripts and model": together + sum(files.values()),
    }
    for name, size in rows.items():
        yield name, f"{size:,}", f"{size / 1e6:.1f}"


def installed(name: str) -> int:
    """Bytes of an installed library, as its wheel lists its files; the image has no compiled Python."""
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
