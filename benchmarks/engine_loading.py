"""The native engine against CTranslate2: seconds to load a model, and the memory of one and of more workers.

Each load is a process of its own (engine_loading_run.py), the two engines in turn, with all files in the page cache.
Memory is that of the whole process, Python included, as the kernel counts it (proc(5), smaps_rollup). ``own`` is in no
file, so that every further process needs it again; the rest are pages of files, which processes share: among them
weights that the native engine maps, once it has touched them. ``private`` is what no other process uses now, ``pss``
this process's share in all that it uses, ``added`` what the engine adds to the process at most. A ratio below 1 is in
favour of the native engine.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Any

from common import cpu
from common.command_line import pick, positive
from common.errors import UserError, command
from common.files import write_json, write_text
from decode.engines.native import Native
from formats.spread import Spread
from measure import in_process, interleave
from measure.in_process import Conditions
from report import markdown

RUN = Path(__file__).with_name("engine_loading_run.py")
PEER = "ctranslate2"
ALONE = (  # fields of a run that are compared as they are
    "import_cpu_seconds", "load_cpu_seconds", "first_cpu_seconds",
    "loaded_rss_bytes", "loaded_pss_bytes", "loaded_private_bytes", "loaded_own_bytes",
    "decoded_rss_bytes", "decoded_pss_bytes", "decoded_private_bytes", "decoded_own_bytes",
    "peak_rss_bytes", "added_rss_bytes",
)  # fmt: skip
SUMS = {name: (name,) for name in ALONE} | {
    clock: (f"import_{clock}", f"load_{clock}") for clock in ("seconds", "cpu_seconds")
}
COLUMNS = {
    "CPU ms to load": ("cpu_seconds", 1e3),
    "without the import": ("load_cpu_seconds", 1e3),
    "MB after loading": ("loaded_rss_bytes", 1e-6),
    "of these own": ("loaded_own_bytes", 1e-6),
    "MB at most": ("peak_rss_bytes", 1e-6),
    "added by the engine": ("added_rss_bytes", 1e-6),
    "own at the end": ("decoded_own_bytes", 1e-6),
}
TITLE = "Loading and memory: the native engine, CTranslate2 and their ratio"

Run = dict[str, Any]


def loads(folder: Path, workers: int, conditions: Conditions) -> Callable[[int], Run]:
    """One load as a way of ``interleave``."""
    for path in folder.iterdir():
        path.read_bytes()  # into the page cache
    call = [sys.executable, RUN, folder, conditions.test_set, workers, conditions.core]

    def way(_number: int) -> Run:
        done = subprocess.run([*map(str, call)], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise UserError(f"{folder}: could not be measured; see above")
        return json.loads(done.stdout)

    return way


def record(model: Path, kind: str, workers: int, conditions: Conditions) -> dict[str, Any]:
    """One comparison: the two engines in turn."""
    folders = {"native": model / Native.folder(kind), PEER: model / kind}
    if missing := [folder for folder in folders.values() if not folder.exists()]:
        raise UserError(f"{missing[0]}: is missing")
    ways = {name: loads(folder, workers, conditions) for name, folder in folders.items()}
    for way in ways.values():
        way(0)  # libraries come into the page cache, too
    runs = interleave.timed(ways, conditions, f"{model.name} {kind}", itemgetter("others"))
    return {"model": model.name, "compute_type": kind, "workers": workers, "peer": PEER, **compared(runs)}


def compared(runs: dict[str, list[Run]]) -> dict[str, Any]:
    """The medians and extremes of both sides, and of their ratios run by run."""
    row: dict[str, Any] = {"others": max(run["others"] or 0.0 for used in runs.values() for run in used)}
    for name, fields in SUMS.items():
        ours, theirs = ([sum(run[field] for field in fields) for run in runs[engine]] for engine in ("native", PEER))
        ratio = Spread.of(one / other for one, other in zip(ours, theirs, strict=True))
        row |= ratio.fields(f"ratio_{name}") | Spread.of(ours).fields(name) | Spread.of(theirs).fields(f"peer_{name}")
    return row


def table(rows: list[dict[str, Any]]) -> str:
    """A line for each comparison: native, CTranslate2, and their ratio with its spread."""
    lines = []
    for row in rows:
        line = {"model": row["model"], "type": row["compute_type"], "workers": str(row["workers"])}
        for column, (name, scale) in COLUMNS.items():
            ours, theirs = row[name] * scale, row[f"peer_{name}"] * scale
            line[column] = f"{ours:.1f} : {theirs:.1f} = {Spread.read(row, f'ratio_{name}'):.2f}"
        lines.append(line)
    return markdown.table(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, nargs="+", required=True, help="folders of systems, results/X/models/Y")
    parser.add_argument("--types", nargs="+", default=["float32", "int8"])
    parser.add_argument("--workers", type=positive, nargs="+", default=[1, 2])
    in_process.options(parser)
    args = parser.parse_args()
    conditions = pick(Conditions, args)
    wanted = [(model, kind, workers) for model in args.models for kind in args.types for workers in args.workers]
    shared = in_process.shared_fields(conditions) | {"peer_settings": cpu.settings()}
    rows = [record(*case, conditions) | shared for case in wanted]
    write_json(args.output, rows)
    write_text(args.output.with_suffix(".md"), markdown.document(TITLE, table(rows)))


if __name__ == "__main__":
    command(main)
