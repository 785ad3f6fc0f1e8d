"""Tables 2 and 4 of Marian at WNMT 2018 in the native engine, row by row (experiments.table_rows).

All rows decode greedily in batches of 384 tokens, the paper's words of a batch; those of Table 2 also one sentence at a
time, of half as many. The vocabulary map stands for the shortlist, and weights that are laid out for every product for
the row before memoization. Auto-tuning keeps 16 bits for every product (papers.marian2018.auto_tuning), so that row 5
of Table 2 is row 4. Row 7 is missing: it clips what products in float32 read.
"""

from dataclasses import replace

from experiments import table_rows
from experiments.table_rows import TableRow
from formats.measurement import RecordPlace
from nmt_frontier.errors import command
from report.claims import MARIAN, SINGLE

BATCH = 384  # tokens


def of(system: str, type: str, vocabulary_map: bool = True, without: frozenset[str] = frozenset()) -> TableRow:
    return TableRow(system, type, vocabulary_map=vocabulary_map, without=without, batch_tokens=BATCH)


TABLE_2 = {
    "1": of("marian-base-aan", "float32", vocabulary_map=False),
    "2": of("marian-base-aan", "float32"),
    "3": of("marian-base-aan", "int16", without=frozenset({"packed"})),
    "4": of("marian-base-aan", "int16"),
    "5": of("marian-base-aan", "int16"),
    "6": of("marian-big", "float32"),
    "8": of("marian-big", "int8"),
}
TABLE_4 = {
    "7": of("marian-big", "float32"),
    "7i": of("marian-big", "int8"),
    "10": of("marian-base", "float32"),
    "10i": of("marian-base", "int16"),
    "13": of("marian-base-aan", "float32"),
    "13i": of("marian-base-aan", "int16"),
    "14": of("marian-small", "float32"),
    "14i": of("marian-small", "int16"),
    "15i": of("marian-small-aan", "int16"),
    "16i": of("marian-small-aan-gated", "int16"),
    "17": of("marian-small-aan-plain", "float32"),
    "17i": of("marian-small-aan-plain", "int16"),
    "23i": of("marian-tiny-256-aan-plain", "int16"),
    "24i": of("marian-tiny-192-aan-plain", "int16"),
}
TABLES = {"2": TABLE_2, "4": TABLE_4}


def places(table: str) -> dict[RecordPlace, TableRow]:
    """The rows of a table, those of Table 2 also one sentence at a time."""
    rows = {RecordPlace(MARIAN, table, number): row for number, row in TABLES[table].items()}
    single = {replace(place, way=SINGLE): row._replace(batch_sentences=1, share=0.5) for place, row in rows.items()}
    return rows | (single if table == "2" else {})


def main() -> None:
    parser = table_rows.parser(__doc__)
    parser.add_argument("--table", choices=TABLES, required=True)
    args = parser.parse_args()

    table_rows.measure(places(args.table), table_rows.by_system(args.models), args)


if __name__ == "__main__":
    command(main)
