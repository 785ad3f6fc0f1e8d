"""Output in parts, so that a job that is killed or ends in time continues after the last whole part.

The parts lie in ``.<name of the output>.parts`` beside the output until it is whole. Parts and the teacher's batches
end after the same records in every run: the output has the same bytes, however often the work was interrupted.
"""

import shutil
from argparse import Namespace
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import TypedDict, TypeVar

from common import folder_lock
from common.batch_job import BatchJob
from formats import records
from formats.records import Record
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, sha256, write_json
from nmt_frontier.progress import progress

RECORDS = 20_000  # in a part: minutes of a teacher on one core
SPEED = ("threads", "batch_tokens")  # options that are not meant to change results; scores of CTranslate2's int8 may
KEY = "key.json"

Item = TypeVar("Item")
Made = Callable[[list[Item]], Iterable[Record]]


class PartsKey(TypedDict):
    """What an output depends on. files: path and checksum of each."""

    options: dict[str, str]
    files: list[list[str]]


class Written(TypedDict):
    """The JSON beside an output, which names the teachers, too."""

    lines_out: int
    sha256: str


def write(
    path: Path, key: PartsKey, items: Iterable[Item], total: int, made: Made[Item], what: str,
    counts: Callable[[int, str], Written], size: int | None = None,
) -> None:  # fmt: skip
    """Write the records of ``items``, in order, and the JSON beside them; then delete the parts.

    key: what the records depend on; parts of another key are deleted. total: number of items. made: turns the items of
    a part into as many records. what: the work, such as ``translate 1-of-4``. counts: makes the JSON from the number of
    records and their checksum. size: of a part whose records are made together. Raises JobEndsError if the job ends,
    and UserError for another number of items or if another process makes the same parts.
    """
    job, size, block = BatchJob(what), size or RECORDS, size or 1
    folder = path.with_name(f".{path.name}.parts")
    with folder_lock.held(folder):
        begin(folder, key)
        parts = [folder / f"{start}{records.SUFFIX}" for start in range(0, total, size)]
        done = sum(part.exists() for part in parts)  # they are made in order
        rest = islice(items, done * size, None)
        making = (record for _ in parts[done:] for record in made([*islice(rest, size)]))
        stream = progress(making, what, total - min(done * size, total), "sentence", block=block)
        for number, part in enumerate(parts[done:], done + 1):
            records.write(part, islice(stream, size))
            if part != parts[-1]:
                job.checkpoint(f"sentence {number * size:,} of {total:,}")
        if [*stream, *rest]:  # reading the stream to its end closes the progress bar
            raise UserError(f"{path}: its input has more than {total:,} lines; was it changed meanwhile?")
        result = records.write_blocks(path, (text for part in parts for text in records.frames(part)))
        if result[0] < total:
            path.unlink()
            raise UserError(f"{path}: its input has {result[0]:,} lines, not {total:,}; was it changed meanwhile?")
        write_json(records.info(path), counts(*result))
    shutil.rmtree(folder)  # after the lock in it is closed: NFS keeps open files


def begin(folder: Path, key: PartsKey) -> None:
    """Delete parts of another key."""
    if (folder / KEY).exists() and read_json(folder / KEY) == key:
        return
    for path in folder.iterdir():
        if path.name != folder_lock.NAME:
            path.unlink()
    write_json(folder / KEY, key)


def key(args: Namespace, files: Iterable[Path | None]) -> PartsKey:
    """A key of the options that decide on a command's results, and of the files that it reads.

    The checksum of a corpus comes from the JSON beside it: otherwise each of many shards would read the whole corpus.
    """
    paths = [path for file in filter(None, files) for path in (sorted(file.iterdir()) if file.is_dir() else [file])]
    return {
        "options": {name: str(value) for name, value in vars(args).items() if name not in SPEED},
        "files": [[str(path), _checksum(path)] for path in paths],  # a teacher converted again has the same bytes
    }


def _checksum(path: Path) -> str:
    info = records.info(path)
    counts = read_json(info) if path.name.endswith(records.SUFFIX) and info.exists() else {}
    return counts.get("sha256") or sha256(path)
