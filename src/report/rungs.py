"""The rows of a paper's table that was measured row by row (papers.marian2018.tables, papers.wnmt2018.table3)."""

from formats import measurement
from formats.measurement import Measurement
from report import claims, table_parts

read = measurement.read

NOTE = """
Each row decodes on one core as the paper's row of this name does. Target tokens over the time from text to text, the
median with the slowest and the fastest run. × the first row: run by run, the median with the lowest and the highest.
"batch": sentences, or tokens. {conditions}
"""


def table(records: list[Measurement]) -> str:
    rows = [row(record, records) for record in records]
    return table_parts.page(
        "A paper's table, row by row", rows, NOTE.format(conditions=table_parts.conditions(records))
    )


def row(record: Measurement, records: list[Measurement]) -> dict[str, str]:
    how, first = record.decoding, records[0]
    compared = how.sentences == first.decoding.sentences and record is not first
    return {
        "": claims.row_name(record.place),
        "system": record.system.name,
        "engine": how.engine_label or "",
        "type": how.compute_type,
        "beam": str(how.beam_size),
        "batch": f"{how.batch_sentences} s" if how.batch_sentences else f"{how.batch_tokens} t",
        "sentences": str(how.sentences),
        "target tokens/s": table_parts.speed(record, records),
        "× the first row": table_parts.times(record, first) if compared else "",
        "candidates": table_parts.candidates(record),
        **table_parts.resources(record),
    }
