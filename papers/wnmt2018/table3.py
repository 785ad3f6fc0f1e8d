"""Table 3 of OpenNMT at WNMT 2018, each row in the kind of program it had (experiments.table_rows).

The paper's Transformers ran in TensorFlow, here in OpenNMT-tf, and its RNNs in a C++ program, here in the native
engine: in float32, the rows with "quantize runtime" and "opt" in 16 bits, those with "vmap" and "opt" with the
vocabulary map. All search with a beam of 2, the paper's for its submission. "Direct" and "distilled" are trainings, and
weights that are rounded while they load decode as fast as others, so that some rows are one measurement.
"""

from experiments import table_rows
from experiments.table_rows import TableRow
from findings.comparison import BASELINE
from formats.measurement import RecordPlace
from nmt_frontier.errors import command
from report.claims import WNMT

TABLE, BEAM = "3", 2


def rnn(size: str, type: str = "float32", vocabulary_map: bool = False) -> TableRow:
    return TableRow(f"wnmt2018-rnn-{size}", type, beam_size=BEAM, vocabulary_map=vocabulary_map)


ROWS = {
    "1": TableRow("wnmt2018-large", engine=BASELINE, beam_size=BEAM),
    "2": TableRow("wnmt2018-base", engine=BASELINE, beam_size=BEAM),
    "3": rnn("large"),
    "4": rnn("small"),
    "5": rnn("small"),
    "6": rnn("small", "int16", vocabulary_map=True),
    "7": rnn("tiny"),
    "8": rnn("tiny", "int16"),
    "9": rnn("tiny", "int16", vocabulary_map=True),
    "10": rnn("tiny", "int16", vocabulary_map=True),
}


def main() -> None:
    args = table_rows.parser(__doc__).parse_args()
    rows = {RecordPlace(WNMT, TABLE, number): row for number, row in ROWS.items()}
    table_rows.measure(rows, table_rows.by_system(args.models), args)


if __name__ == "__main__":
    command(main)
