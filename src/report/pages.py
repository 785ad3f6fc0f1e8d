"""All tables, pictures and pages of studies that are kept, from their JSON alone: ``make pages``.

A folder of results/reference gets a folder of the same name with every subject of ``report.registry`` whose JSON it
has: tables as Markdown and LaTeX, pictures as SVG and PDF. Where there are measurements, there is also their CSV and
the interactive front, and with page.json, which ``report.study_page`` writes, the page of the study.

The checksums of all texts are kept beside the JSON, so that a change of a table shows in git though the table is not
there. They leave out what depends on versions: pictures, Vega, the last digits of numbers.
"""

import argparse
import base64
import functools
import gzip
import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from formats import measurement
from nmt_frontier.errors import command
from nmt_frontier.files import read_json, write_text
from report import figure, front_page, latex, samples, study_page
from report import measurements as tables
from report.registry import MEASUREMENTS, SUBJECTS, read
from report.study_page import Page

SYSTEM = "{system}"
# Of the page of a study: name there, name of the subject.
PICTURES = {"front": "front_column", "gap_picture": "gap", "robustness_picture": "robustness"}
PICTURES |= {name: name for name in ("learning", "funnel", "lengths")}
EMPTY = '<svg xmlns="http://www.w3.org/2000/svg"/>\n'
TEXTS = (".md", ".csv", ".html")  # what has a checksum
# Of a text that has one, what depends on the machine or on a version: pictures, packed scripts, digits.
PACKED = re.compile(r'(<script type="text/plain" id="([\w-]+)">)(.*?)(</script>)')
PICTURE = re.compile(r"data:image/[^\"]*")
DIGITS = re.compile(r"\d+\.\d{9,}(?:e[+-]?\d+)?")


class Kept(NamedTuple):
    """The folder of a study that is kept. about: its page.json; empty if missing."""

    folder: Path
    about: Page

    def path(self, pattern: str) -> Path | None:
        """A file by its path below the folder of a run; those of report/ are kept beside the others."""
        found = (self.folder / pattern, self.folder / pattern.removeprefix("report/"))
        return next((path for path in found if path.is_file()), None)

    def inputs(self, files: tuple[str, ...], system: str = "") -> list[Path]:
        """What a subject is made from; empty where a file is missing."""
        named = {
            "trained": self.about.get("trained", []),
            "training_corpus": self.about.get("corpora", []),
            "scored_corpus": self.about.get("scored", []),
            "dev": self.about.get("dev", []),
            "timed_corpus": self.about.get("timed", []),
        }
        paths = []
        for pattern in files:
            keys = [name for name in named if f"{{{name}}}" in pattern]
            values = [dict.fromkeys(keys, value) for value in named[keys[0]]] if keys else [{}]
            expanded = [pattern.replace(f".{SYSTEM}", system).format(**value) for value in values]
            paths += [self.path(one) for one in expanded] or [None]
        found = [path for path in paths if path]
        return found if len(found) == len(paths) else []

    def subjects(self) -> Iterator[tuple[str, str, list[Path]]]:
        """Name, stem of the files and inputs of each subject that can be made."""
        for name, subject in SUBJECTS.items():
            systems = [""]
            if SYSTEM in subject.files[0]:
                pattern = Path(subject.files[0]).name.replace(f".{SYSTEM}", "*")
                stems = [path.stem for path in sorted(self.folder.glob(pattern)) if not path.stem.endswith(".same")]
                systems = [stem.removeprefix(name) for stem in stems]
            for system in systems:
                if paths := self.inputs(subject.files, system):
                    yield name, name + system, paths


def opened(folder: Path) -> Kept:
    about = folder / "page.json"
    return Kept(folder, read_json(about) if about.exists() else {})


def write_subjects(study: Kept, output: Path, drawn: bool) -> None:
    """Write the tables of a study, and its pictures where they are ``drawn``."""
    for name, stem, paths in study.subjects():
        functions = SUBJECTS[name].functions()
        if text := subject_table(name, paths):
            write_text(output / f"{stem}.md", text)
            write_text(output / f"{stem}.tex", latex.tables(text))
        if hasattr(functions, "draw") and name != "training":  # learning has its picture
            data = read(functions, SUBJECTS[name].files, paths)
            write_pictures(functools.partial(functions.draw, data), output / stem, drawn)


def subject_table(name: str, paths: list[Path]) -> str:
    """The table of a subject as Markdown; empty where it has none."""
    functions = SUBJECTS[name].functions()
    if not hasattr(functions, "table") or name == "learning":  # training has its table
        return ""
    text: str = functions.table(read(functions, SUBJECTS[name].files, paths))
    return text


def write_pictures(draw: Callable[[], Figure], stem: Path, drawn: bool) -> None:
    if not drawn:  # a page has the same text with the empty picture
        write_text(stem.with_name(f"{stem.name}.svg"), EMPTY)
        return
    drawing = draw()
    for suffix in (".svg", ".pdf"):
        figure.save(drawing, stem.with_name(f"{stem.name}{suffix}"))


def write_pages(study: Kept, output: Path) -> None:
    """Write the samples, the CSV, the front and the page of a study, whose pictures are drawn before."""
    sampled, measured = study.path("samples.json"), study.path(MEASUREMENTS)
    if sampled:
        samples.write(output / "samples.md", samples.read(sampled))
    if not measured:
        return
    records = measurement.read(measured)
    write_text(output / "measurements.csv", tables.as_csv(records))
    studies = front_page.read([measured], [sampled] if sampled else [])
    write_text(output / "front.html", front_page.page(studies))
    if study.about:
        write_text(output / "report.html", study_page.page(records, page_options(study, output)))


def page_options(study: Kept, output: Path) -> argparse.Namespace:
    """The options of ``report.study_page`` for a study that is kept."""
    pictures = {key: output / f"{stem}.svg" for key, stem in PICTURES.items()}
    return argparse.Namespace(
        note=study.about["note"],
        configuration=study.about["configuration"],
        jobs=study.about["jobs"],
        gap=study.path("gap.json"),
        quantization=study.path("quantization.json"),
        robustness=study.path("robustness.json"),
        trained=study.inputs(SUBJECTS["training"].files),
        samples=study.path("samples.json"),
        front_page=output / "front.html",
        try_page=None,  # models are not kept
        output=output / "report.html",
        **{key: path if path.exists() else None for key, path in pictures.items()},
    )


def checksum(text: str) -> str:
    """SHA-256 of a text without what depends on versions and on the machine."""
    text = PACKED.sub(lambda found: unpacked(found) if found[2] == "data" else "", PICTURE.sub("", text))
    return hashlib.sha256(DIGITS.sub(lambda found: f"{float(found[0]):.8g}", text).encode()).hexdigest()


def unpacked(script: re.Match[str]) -> str:
    return gzip.decompress(base64.b64decode(script[3])).decode()


def checksums(folder: Path) -> str:
    """A line for each text below a folder, as sha256sum writes them."""
    paths = sorted(path for path in folder.rglob("*") if path.suffix in TEXTS)
    return "".join(f"{checksum(path.read_text(encoding='utf-8'))}  {path.relative_to(folder)}\n" for path in paths)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=Path, default=Path("results/reference"), help="(default: %(default)s)")
    parser.add_argument("--texts", action="store_true", help="no pictures, which take minutes")
    parser.add_argument("--checksums", type=Path, help="file to write, those of all texts")
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    args = parser.parse_args()
    for study in map(opened, sorted({path.parent for path in args.studies.rglob("*.json")})):
        output = args.output / study.folder.relative_to(args.studies)
        write_subjects(study, output, drawn=not args.texts)
        write_pages(study, output)
    if args.checksums:
        write_text(args.checksums, checksums(args.output))


if __name__ == "__main__":
    command(main)
