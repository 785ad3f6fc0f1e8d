"""Table 3 of OpenNMT at WNMT 2018, each row in the kind of program it had (experiments.table_rows).

The paper's Transformers ran in TensorFlow, here in OpenNMT-tf, and its RNNs in a C++ program, here in the native
engine: in float32, the rows with "quantize runtime" and "opt" in 16 bits, those with "vmap" and "opt" with the
vocabulary map. All search with a beam of 2, the paper's for its submission. "Direct" and "distilled" are trainings, and
weights that are rounded while they load decode as fast as others, so that some rows are one measurement.
"""

from experiments import table_rows
from experiments.table_rows import Row
from findings.comparison import BASELINE
from nmt_frontier.errors import command

BEAM = 2


def rnn(size: str, type: str = "float32", vocabulary_map: bool = False) -> Row:
    return Row(f"wnmt2018-rnn-{size}", type, beam_size=BEAM, vocabulary_map=vocabulary_map)


ROWS = {
    "(1) Transformer Large": Row("wnmt2018-large", engine=BASELINE, beam_size=BEAM),
    "(2) Transformer Base": Row("wnmt2018-base", engine=BASELINE, beam_size=BEAM),
    "(3) direct RNN Large": rnn("large"),
    "(4) direct RNN Small": rnn("small"),
    "(5) distilled RNN Small": rnn("small"),
    "(6) distilled RNN Small-opt": rnn("small", "int16", vocabulary_map=True),
    "(7) distilled RNN Tiny": rnn("tiny"),
    "(8) distilled RNN Tiny, quantize runtime": rnn("tiny", "int16"),
    "(9) distilled RNN Tiny, quantize runtime, vmap": rnn("tiny", "int16", vocabulary_map=True),
    "(10) distilled RNN Tiny-opt": rnn("tiny", "int16", vocabulary_map=True),
}


def main() -> None:
    args = table_rows.parser(__doc__).parse_args()
    table_rows.measure(ROWS, table_rows.by_system(args.models), args)


if __name__ == "__main__":
    command(main)
