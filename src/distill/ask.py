"""Ask a language model behind HTTP for the translations of a shard: an n-best list for every sentence.

Answers are kept in a file of the study's teacher, so that a killed or repeated run asks for nothing twice. The key of
the server comes from an environment variable and goes nowhere else.
"""

import argparse
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from common import folder_lock
from common.batch_job import BatchJob
from common.document import argument
from distill import n_best_lists
from distill.http_teacher.counts import told
from distill.http_teacher.teacher import HttpTeacher
from distill.n_best_lists import NBestList
from distill.settings import AskingSettings
from formats import records
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import write_json
from nmt_frontier.progress import progress

CHECKPOINT = 20  # sentences between two places at which a job may end


def until_the_end(lists: Iterator[NBestList], what: str, total: int) -> Iterator[records.Record]:
    """The lists as records. Raises JobEndsError when the job has to end; all answers so far are kept."""
    job = BatchJob(what)
    for number, n_best_list in enumerate(progress(lists, what, total, "sentence"), 1):
        yield n_best_lists.record(n_best_list)
        if number % CHECKPOINT == 0 and number < total:
            job.checkpoint(f"sentence {number:,} of {total:,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", type=argument(AskingSettings), help="JSON of distill.settings")
    parser.add_argument("--teacher", required=True, help="its name in the study")
    parser.add_argument("--input", type=there, required=True, help="records; the first column is translated")
    parser.add_argument("--shard", type=records.shard, help="K/N: the k-th of n parts of it (default: all of it)")
    parser.add_argument("--answers", type=Path, required=True, help="folder of the answers that are kept")
    parser.add_argument("--output", type=Path, required=True, help="n-best lists; counts go to a JSON beside them")
    args = parser.parse_args()

    what, total = f"ask {args.teacher} {records.name(args.output)}", records.count(args.input, args.shard)
    own = args.output.with_name(f".{args.output.name}.asked")
    with folder_lock.held(own):
        teacher = HttpTeacher(args.settings, args.answers, args.teacher)
        sources = (record[0] for record in records.read(args.input, args.shard))
        with closing(teacher.n_best(sources)) as lists:
            written, checksum = records.write(args.output, until_the_end(lists, what, total))
        counts = teacher.counts()
        write_json(records.info(args.output), {"lines_out": written, "sha256": checksum, **counts})
    print(f"{what}: {told(counts)}", file=sys.stderr)
    shutil.rmtree(own)  # after the lock in it is closed: NFS keeps open files


if __name__ == "__main__":
    command(main)
