"""Propose a study for a language pair: `python -m study.new --source en --target cs DATA...` writes configs/en-cs.yaml.

DATA are files and folders: aligned files of one sentence a line, TSV, CSV, JSON, Parquet, Arrow, TMX, XLIFF, PO, TS,
SGM, WMT's XML, subtitles, compressed or not. The name of a file gives its language and its role (train, dev, test); the
language may also be that of the text. Sizes are for this machine and the given hours, by the estimate of a dry run.
"""

import argparse
import math
import re
import shlex
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from corpora.language_codes import means
from corpora.settings import SIDES
from formats.counts import dropped_by_half
from nmt_frontier import machine
from nmt_frontier.command_line import positive
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_text
from study import config, rates
from study.configuration import StudyConfiguration
from study.estimate import estimate
from study.new import files, sizes, text
from study.new.draft import Draft
from study.new.look import FEWEST, IDENTIFIED, HeldOut, Look, held_out, look, percent
from study.new.pairing import ALONE, FoundCorpus
from study.new.scores import told
from study.new.sizes import Plan
from study.rates import Rates
from study.resources import TOKENS
from study.schema import definition, problems

SEED = 1
OTHER_SCRIPTS = 0.02  # share of the letters of a side from which on they are reported
MOST_SEGMENTED = 0.02  # share of lines
SEGMENTED = {
    r"\S@@ ": "pieces of BPE (lo@@ ng); join them before: sed 's/@@ //g'",
    "\u2581": "pieces of SentencePiece; join them before: spm_decode",
    r"&(?:apos|quot|#124|#91|#93);| @-@ ": "tokens of Moses (&apos; @-@); join them before: detokenizer.perl",
}


def new(options: argparse.Namespace, measured: Rates | None = None) -> Path:
    """Write the configuration, and the held-out sets beside it; returns its path. Raises UserError.

    measured: the rates of this machine; if None those that are kept, or of a measurement now.
    """
    pair = [options.source, options.target]
    name = options.study or "-".join(pair)
    path = options.output or Path("configs", f"{name}.yaml")
    folder = path.with_name(f"{path.stem}.held-out")  # no name of the user's own
    _require_arguments(pair, name)
    if (present := [place for place in (path, folder) if place.exists()]) and not options.force:
        remedy = "take another name (--study, --output), or replace it (--force)"
        raise UserError(f"{present[0]}: is there already; {remedy}")
    dropped = "utf-8" if options.invalid == "drop" else None  # lines that are not UTF-8, whatever they are
    corpora, notes = files.corpora(options.data, pair, options.encoding or dropped)
    corpora = _with_dev(corpora, notes)
    looks = [look(corpus, pair, text.cleaning(pair), options.invalid, SEED) for corpus in corpora]
    notes += [line for one in looks for line in told(one.corpus.name, one.scores)]
    small = (one for one in looks if one.corpus.role in ("dev", "test") and one.lines < FEWEST)
    notes += [remark for one in looks for remark in one.remarks]
    notes += [f"{one.corpus.name}: a set of {one.lines} lines is too small to judge quality by" for one in small]
    notes += [line for one in looks for line in dropped_by_half(one.corpus.name, one.lines, _reasons(one))]
    missing = [role for role in ("dev", "test") if not any(corpus.role == role for corpus in corpora)]
    sets = held_out(looks, missing, pair)
    cores = options.cores or len(machine.cores())
    draft = Draft(name, pair, looks, sets, folder, cores, options.hours, options.invalid)
    plan, effective, measured = _planned(draft, measured)
    about = [*_data(draft), *_taken(draft), *notes, *_other_scripts(draft), *segmented(looks)]
    print("\n".join([*about, "", *_study(draft, plan, effective, measured), ""]))
    for of_role in sets:
        of_role.write(folder, pair)
    write_text(path, text.text(draft, plan))
    print(_next(path, name, sets, folder))
    return path


def _require_arguments(pair: list[str], name: str) -> None:
    lines = [line for code in pair for line in problems(code, definition("language"))]
    lines += [f"--source and --target are both {pair[0]}"] * means(*pair)
    if lines := [*lines, *problems(name, definition("name"))]:
        raise UserError("; ".join(lines))


def _with_dev(corpora: list[FoundCorpus], notes: list[str]) -> list[FoundCorpus]:
    """The corpora; without a dev set, the first of several test sets becomes it."""
    tests = [corpus for corpus in corpora if corpus.role == "test"]
    if len(tests) < 2 or any(corpus.role == "dev" for corpus in corpora):
        return corpora
    notes.append(f"{tests[0].name}: the first of {len(tests)} test sets becomes the dev set")
    return [replace(corpus, role="dev") if corpus is tests[0] else corpus for corpus in corpora]


def _planned(draft: Draft, measured: Rates | None) -> tuple[Plan, StudyConfiguration, Rates]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "study.yaml")

        def configured(plan: Plan) -> StudyConfiguration:
            file.write_text(text.text(draft, plan), encoding="utf-8")
            return config.read(file)

        found = ({name: look.lines for name, look in draft.of_role(role).items()} for role in ("train", *ALONE))
        pairs, alone, target_only = found
        measured = measured or rates.measured_once()
        plan = sizes.plan(pairs, alone, target_only, draft.characters, draft.hours, draft.cores, configured, measured)
        return plan, configured(plan), measured


def _data(draft: Draft) -> list[str]:
    """The table of the corpora."""
    rows: list[tuple[str, ...]] = [("corpus", "role", "lines", "words", "langid.py", "repeats", "dropped by rules")]
    rows += [_row(looked, draft.pair) for looked in draft.looks]
    for sets in draft.held_out:
        origin = f"held out of {', '.join(sets.origin)}"
        rows.append((sets.role, sets.role, f"{len(sets.pairs):,}", "", "", "", origin))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    note = f"langid.py has looked at up to {IDENTIFIED} random lines of a corpus, everything else is of all lines."
    return [*table, note]


def _taken(draft: Draft) -> Iterator[str]:
    """What each file was taken for, and the first of what could not be read."""
    for looked in draft.looks:
        source, paths = looked.corpus.source, looked.corpus.paths
        sides = [draft.pair[side] for side in looked.corpus.sides]
        codes = sides if len(paths) == len(sides) else [" and ".join(sides)]
        columns = [f"{code}: {column}" for code, column in (source.get("columns") or {}).items()]
        about = [looked.corpus.format, *[f"columns {', '.join(columns)}"][: len(columns)], *[source.get("encoding")]]
        for path, code in zip(paths, codes, strict=True):
            yield f"{path}: read as {', '.join(filter(None, about))}: {code}"
        yield from (f"{looked.corpus.name}: dropped {problem}" for problem in looked.problems)


def _other_scripts(draft: Draft) -> Iterator[str]:
    """A line for each side with many letters outside its language's scripts."""
    for looked in draft.looks:
        for share, side in zip(looked.in_script, looked.corpus.sides, strict=True):
            if share < 1 - OTHER_SCRIPTS:
                others = f"{percent(1 - share)} of the letters of its {SIDES[side]} side"
                yield f"{looked.corpus.name}: {others} are in no script of {draft.pair[side]}"


def segmented(looks: Iterable[Look]) -> Iterator[str]:
    """A line for each corpus that a program has cut into pieces or tokens."""
    for looked in looks:
        for pattern, what in SEGMENTED.items():
            found = sum(any(map(re.compile(pattern).search, record)) for record in looked.sample)
            if found > MOST_SEGMENTED * len(looked.sample):
                yield f"{looked.corpus.name}: {percent(found / len(looked.sample))} of its lines have {what}"


def _row(looked: Look, pair: list[str]) -> tuple[str, ...]:
    shares = sorted(((count / looked.lines, why) for why, count in _reasons(looked).items() if count), reverse=True)
    return (
        looked.corpus.name,
        looked.corpus.role,
        f"{looked.lines:,}",
        " ".join(f"{mean:.1f}" for mean in looked.words),
        ", ".join(looked.known(pair)),
        percent(looked.repeats / looked.lines, 1),
        ", ".join(f"{percent(share, 1)} {reason}" for share, reason in shares),
    )


def _reasons(looked: Look) -> dict[str, int]:
    return looked.counts["dropped"] | looked.read_errors


def _study(draft: Draft, plan: Plan, effective: StudyConfiguration, measured: Rates) -> list[str]:
    passes = plan.passes(plan.teacher_steps, plan.taught)
    lines = [f"{name}: {lines:,} random lines of it are enough for the time" for name, lines in plan.samples.items()]
    lines.append(f"shapes and learning rates: {plan.size.like}; vocabulary: {plan.pieces:,} pieces")
    back = f" and {plan.target_only:,} back-translations" * bool(plan.target_only)
    goes = f"the teacher goes {passes:.1f} times through {plan.pairs:,} pairs{back}"
    more = f"; further passes would hardly help, though {draft.hours:g} hours would allow them" * plan.full
    lines.append(f"{goes}, if these have {TOKENS} pieces a side{more}")
    return [*lines, estimate(effective, draft.cores, measured)]


def _next(path: Path, name: str, sets: list[HeldOut], folder: Path) -> str:
    file = shlex.quote(str(path))
    beside = f", and {folder}/ with {' and '.join(of_role.role for of_role in sets)} lines" if sets else ""
    return f"""\
{path} is written{beside}. Next:
  snakemake -n --configfile {file}                      # the plan
  snakemake --cores all corpora --configfile {file}     # look at results/{name}/report/corpora.html
  snakemake --cores all --configfile {file}"""


def hours(argument: str) -> float:
    if not 0 < (number := float(argument)) < math.inf:
        raise argparse.ArgumentTypeError(f"{argument} is no number of hours")
    return number


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Those of the command line, or these words."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m study.new", description=__doc__, formatter_class=raw)
    parser.add_argument("--source", required=True, help="source language, such as en")
    parser.add_argument("--target", required=True, help="target language, such as cs")
    parser.add_argument("data", type=Path, nargs="+", metavar="DATA", help="files and folders of texts")
    parser.add_argument("--hours", type=hours, default=2.0, help="that the study may take here (default: %(default)s)")
    parser.add_argument("--cores", type=positive, help="that it may use (default: all)")
    parser.add_argument("--study", help="its name (default: SOURCE-TARGET)")
    parser.add_argument("--output", type=Path, help="configuration to write (default: configs/STUDY.yaml)")
    parser.add_argument("--force", action="store_true", help="replace the configuration if it is there")
    parser.add_argument("--encoding", help="of the files that are not UTF-8, by its name in Python, such as cp1252")
    invalid = "what to do if more than 5 %% of the lines of a text cannot be read (default: %(default)s)"
    parser.add_argument("--invalid", choices=["error", "drop"], default="error", help=invalid)
    return parser.parse_args(words)


def main() -> None:
    new(arguments())


if __name__ == "__main__":
    command(main)
