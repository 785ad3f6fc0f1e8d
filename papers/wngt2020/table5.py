"""Table 5 of WNGT 2020 in the native engine, row by row (experiments.table_rows), above OpenNMT-tf, greedy.

The rows are Base's. CTranslate2 packs matrices with oneMKL only, which it takes on Intel's CPUs; the native engine does
so on all, and lays its weights out for every product in the rows before. The stages do not overlap, as in the paper.
"""

from experiments import table_rows
from experiments.table_rows import Row
from findings.comparison import BASELINE
from nmt_frontier.errors import command

SYSTEM = "wngt2020-base"
PLAIN = frozenset({"sorting", "overlap", "packed"})
ROWS = {
    "(1) OpenNMT-tf": Row(SYSTEM, engine=BASELINE, without=PLAIN - {"packed"}),
    "(2) CTranslate2": Row(SYSTEM, without=PLAIN),
    "(3) + int8": Row(SYSTEM, "int8", without=PLAIN),
    "(4) + local sorting": Row(SYSTEM, "int8", without=PLAIN - {"sorting"}),
    "(5) + packed GEMM": Row(SYSTEM, "int8", without=frozenset({"overlap"})),
    "(6) + vocabulary reduction": Row(SYSTEM, "int8", vocabulary_map=True, without=frozenset({"overlap"})),
}


def main() -> None:
    args = table_rows.parser(__doc__).parse_args()
    table_rows.measure(ROWS, table_rows.by_system(args.models), args)


if __name__ == "__main__":
    command(main)
