"""Tables 2 and 4 of Marian at WNMT 2018 in the native engine, row by row (experiments.table_rows).

All rows decode greedily in batches of 384 tokens, the paper's words of a batch; those of Table 2 also one sentence at a
time, of half as many. The vocabulary map stands for the shortlist, and weights that are laid out for every product for
the row before memoization. Auto-tuning keeps 16 bits for every product (papers.marian2018.auto_tuning), so that row 5
of Table 2 is row 4. Row 7 is missing: it clips what products in float32 read.
"""

from experiments import table_rows
from experiments.table_rows import Row
from nmt_frontier.errors import command

BATCH = 384  # tokens
ALONE = ", one sentence at a time"  # the rungs of rows that decode so end with it


def of(system: str, type: str, vocabulary_map: bool = True, without: frozenset[str] = frozenset()) -> Row:
    return Row(system, type, vocabulary_map=vocabulary_map, without=without, batch_tokens=BATCH)


TABLE_2 = {
    "(1) Transformer-base-AAN": of("marian-base-aan", "float32", vocabulary_map=False),
    "(2) +shortlist": of("marian-base-aan", "float32"),
    "(3) +int16": of("marian-base-aan", "int16", without=frozenset({"packed"})),
    "(4) +memoization": of("marian-base-aan", "int16"),
    "(5) +auto-tuning": of("marian-base-aan", "int16"),
    "(6) Transformer-big": of("marian-big", "float32"),
    "(8) +int8 (+mem.)": of("marian-big", "int8"),
}
TABLE_4 = {
    "(7) Transformer-big": of("marian-big", "float32"),
    "(7i) Transformer-big-int8": of("marian-big", "int8"),
    "(10) Transformer-base": of("marian-base", "float32"),
    "(10i) Transformer-base-int16": of("marian-base", "int16"),
    "(13) Transformer-base-AAN": of("marian-base-aan", "float32"),
    "(13i) Transformer-base-AAN-int16": of("marian-base-aan", "int16"),
    "(14) Transformer-small": of("marian-small", "float32"),
    "(14i) Transformer-small-int16": of("marian-small", "int16"),
    "(15i) Transformer-small-AAN-int16": of("marian-small-aan", "int16"),
    "(16i) Transformer-small-AAN-int16 -ffn": of("marian-small-aan-gated", "int16"),
    "(17) Transformer-small-AAN -ffn -gate": of("marian-small-aan-plain", "float32"),
    "(17i) Transformer-small-AAN-int16 -ffn -gate": of("marian-small-aan-plain", "int16"),
    "(23i) Transformer-tiny-256-AAN-int16 -ffn -gate": of("marian-tiny-256-aan-plain", "int16"),
    "(24i) Transformer-tiny-192-AAN-int16 -ffn -gate": of("marian-tiny-192-aan-plain", "int16"),
}
TABLES = {"2": TABLE_2, "4": TABLE_4}


def alone(row: Row) -> Row:
    return row._replace(batch_sentences=1, share=0.5)


def main() -> None:
    parser = table_rows.parser(__doc__)
    parser.add_argument("--table", choices=TABLES, required=True)
    args = parser.parse_args()

    rows = dict(TABLES[args.table])
    if args.table == "2":
        rows |= {f"{name}{ALONE}": alone(row) for name, row in rows.items()}
    table_rows.measure(rows, table_rows.by_system(args.models), args)


if __name__ == "__main__":
    command(main)
