"""Table 5 of WNGT 2020 in the native engine, row by row (experiments.table_rows), above OpenNMT-tf, greedy.

The rows are Base's. CTranslate2 packs matrices with oneMKL only, which it takes on Intel's CPUs; the native engine does
so on all, and lays its weights out for every product in the rows before. The stages do not overlap, as in the paper.
"""

from experiments import table_rows
from experiments.table_rows import TableRow
from findings.comparison import BASELINE
from formats.measurement import RecordPlace
from nmt_frontier.errors import command
from report.claims import WNGT

TABLE, SYSTEM = "5", "wngt2020-base"
PLAIN = frozenset({"sorting", "overlap", "packed"})
ROWS = {
    "1": TableRow(SYSTEM, engine=BASELINE, without=PLAIN - {"packed"}),
    "2": TableRow(SYSTEM, without=PLAIN),
    "3": TableRow(SYSTEM, "int8", without=PLAIN),
    "4": TableRow(SYSTEM, "int8", without=PLAIN - {"sorting"}),
    "5": TableRow(SYSTEM, "int8", without=frozenset({"overlap"})),
    "6": TableRow(SYSTEM, "int8", vocabulary_map=True, without=frozenset({"overlap"})),
}


def main() -> None:
    args = table_rows.parser(__doc__).parse_args()
    rows = {RecordPlace(WNGT, TABLE, number): row for number, row in ROWS.items()}
    table_rows.measure(rows, table_rows.by_system(args.models), args)


if __name__ == "__main__":
    command(main)
