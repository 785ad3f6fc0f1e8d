"""Output that is made in parts, so that a job that is killed or ends in time goes on after the last whole part.

The parts lie in ``.<name of the output>.parts`` beside the output until it is whole. They end after the same records in
every run, and so do the batches of the teacher: the output has the same bytes, however often the work was interrupted.
"""

import shutil
from argparse import Namespace
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from common import folder_lock
from common.batch_job import BatchJob
from common.errors import UserError
from common.files import read_json, sha256, write_json
from common.progress import progress
from formats import records
from formats.records import Record

RECORDS = 20_000  # of a part: minutes of a teacher on one core
SPEED = ("threads", "batch_tokens")  # options on which no result is meant to depend; scores of CTranslate2's int8 may
KEY = "key.json"

Item = TypeVar("Item")
Made = Callable[[list[Item]], Iterable[Record]]


def write(
    path: Path,
    key: dict[str, Any],
    items: Iterable[Item],
    total: int,
    made: Made[Item],
    what: str,
    counts: Callable[[int, str], dict[str, Any]],
) -> None:
    """Write the records of ``items``, in order, and the JSON beside them; then delete the parts.

    key: what the records depend on; parts of another key are deleted. total: the number of items. made: gives the
    records of a part of the items, one for each. what: the work, such as ``translate 1-of-4``. counts: gives the JSON,
    of the number of records and their checksum. Raises JobEndsError where the job ends, and UserError for another
    number of items, or if another process makes the same parts.
    """
    job = BatchJob(what)
    folder = path.with_name(f".{path.name}.parts")
    with folder_lock.held(folder):
        begin(folder, key)
        parts = [folder / f"{start}{records.SUFFIX}" for start in range(0, total, RECORDS)]
        done = sum(part.exists() for part in parts)  # they are made in order
        rest = islice(items, done * RECORDS, None)
        stream = (record for _ in parts[done:] for record in made([*islice(rest, RECORDS)]))
        stream = progress(stream, what, total - min(done * RECORDS, total), "sentence")
        for number, part in enumerate(parts[done:], done + 1):
            records.write(part, islice(stream, RECORDS))
            if part != parts[-1]:
                job.checkpoint(f"sentence {number * RECORDS:,} of {total:,}")
        if [*stream, *rest]:  # at its end, the stream reports that the work is done
            raise UserError(f"{path}: its input has more than {total:,} lines; was it changed meanwhile?")
        result = records.write_blocks(path, (text for part in parts for text in records.frames(part)))
        if result[0] < total:
            path.unlink()
            raise UserError(f"{path}: its input has {result[0]:,} lines, not {total:,}; was it changed meanwhile?")
        write_json(records.info(path), counts(*result))
    shutil.rmtree(folder)  # not while the lock in it is open: NFS keeps the name of an open file


def begin(folder: Path, key: dict[str, Any]) -> None:
    """Delete the parts in the folder if they are of another key."""
    if (folder / KEY).exists() and read_json(folder / KEY) == key:
        return
    for path in folder.iterdir():
        if path.name != folder_lock.NAME:
            path.unlink()
    write_json(folder / KEY, key)


def key(args: Namespace, files: Iterable[Path | None]) -> dict[str, Any]:
    """Changes with the options of a command that decide on its results, and with the files that it reads.

    A corpus counts by the checksum in the JSON beside it, as each of many shards would read all of it.
    """
    paths = [path for file in filter(None, files) for path in (sorted(file.iterdir()) if file.is_dir() else [file])]
    return {
        "options": {name: str(value) for name, value in vars(args).items() if name not in SPEED},
        "files": [[str(path), _checksum(path)] for path in paths],  # a teacher converted again has the same bytes
    }


def _checksum(path: Path) -> str:
    info = records.info(path)
    told = read_json(info) if path.name.endswith(records.SUFFIX) and info.exists() else {}
    return told.get("sha256") or sha256(path)
