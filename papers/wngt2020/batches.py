"""Tables 5 and 6 with the batches of OpenNMT-tf's automatic configuration, and what packing brings with the map.

The paper prints the batches of its optimised rows only. OpenNMT-tf 2.10.1 (2020) has 32 sentences a batch where it is
given ``--auto_config``, of similar length: in buckets of five pieces, here by sorting. The benchmark of CTranslate2 of
that year gives it that, and CTranslate2 32 sentences in the order of the text. The rows of the native engine have the
settings of table 6, optimised. The command is in results/reference/wngt2020-speed/README.md.
"""

from experiments import table_rows
from experiments.table_rows import TableRow
from findings.comparison import BASELINE, BEAM, CTRANSLATE2
from formats.measurement import RecordPlace
from nmt_frontier.errors import command
from report.claims import WNGT

BASE, SMALL = "wngt2020-base", "wngt2020-4-3"
OWN = 32  # sentences of a batch in OpenNMT-tf's automatic configuration
IN_ORDER = frozenset({"sorting", "overlap"})
ROWS = {  # by keys of their places
    "greedy": TableRow(BASE, engine=BASELINE, batch_sentences=OWN),
    "ctranslate2": TableRow(BASE, engine=CTRANSLATE2, batch_sentences=OWN, without=IN_ORDER),
    "int8": TableRow(BASE, "int8", CTRANSLATE2, batch_sentences=OWN, without=IN_ORDER),
    "sorting": TableRow(BASE, "int8", CTRANSLATE2, batch_sentences=OWN, without=IN_ORDER - {"sorting"}),
    "native": TableRow(BASE, "int8", vocabulary_map=True, without=frozenset({"packed"})),
    "packed": TableRow(BASE, "int8", vocabulary_map=True),
    "beam": TableRow(SMALL, engine=BASELINE, beam_size=BEAM, batch_sentences=OWN),
}


def main() -> None:
    args = table_rows.parser(__doc__).parse_args()
    rows = {RecordPlace(WNGT, row=name): row for name, row in ROWS.items()}
    table_rows.measure(rows, table_rows.by_system(args.models), args)


if __name__ == "__main__":
    command(main)
