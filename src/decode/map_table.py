"""Vocabulary maps side by side: what they allow, what they cost and what they save (Table 1 of WNMT 2018)."""

import argparse
from pathlib import Path
from typing import Any

from tabulate import tabulate

from decode.measurements import repeats
from formats.errors import UserError, command
from formats.files import read_json, write_text

NOTE = """{system}, {quantization}, {sentences} sentences of {test_set}, greedy, one core ({cpu}), {repeats}, all maps
in turn. "own": share of the pieces that the model says with its whole vocabulary which the map allows; "reference":
the same of the references. "candidates": pieces that the output layer computes, those of a sentence for each piece of
its source, and those of a sentence or of a batch of so many pieces, which are the union over its sentences; means.
"times faster": decoding without loading and tokenization, against the whole vocabulary; the median of the runs, the
lowest and the highest. BLEU is the difference to the whole vocabulary, a star where the paired bootstrap finds it
significant (p < 0.05). The bold map is used by the study: of those that allow at least {coverage} % of the model's
own pieces of the dev set, the one with the fewest candidates there{none}.

BLEU of the whole vocabulary: {bleu:.2f} ({signature}).
"""
SIGNIFICANT = 0.05


def joined(coverage: dict[str, Any], timing: dict[str, Any]) -> list[dict[str, Any]]:
    """The maps of the grid, each with its timed rows by batch size. Raises UserError where one was not timed."""
    timed: dict[str, dict[int, dict[str, Any]]] = {}
    for row in timing["rows"]:
        timed.setdefault(row["map"], {})[row["batch_tokens"]] = row
    if "bleu" not in timing["rows"][0]:
        raise UserError("the maps were timed without BLEU; time them on the whole test set, without --steps")
    if missing := [row["map"] for row in coverage["maps"] if row["map"] not in timed]:
        raise UserError(f"the map {missing[0]} was not timed; time all maps of the grid")
    return [{**row, "timed": timed[row["map"]]} for row in coverage["maps"]]


def row(found: dict[str, Any], picked: bool) -> dict[str, str]:
    knobs = {
        "n": found["max_ngram"],
        "min. frequency": found["min_frequency"],
        "meanings": found["meanings"],
        "always on": f"{found['unaligned']} + {found['most_frequent']}",
        "counted": found["counted"],
    }
    cells = {name: f"**{value}**" if picked else f"{value}" for name, value in knobs.items()}
    cells |= {
        "n-grams": f"{found['ngrams']:,}",
        "KB": f"{found['bytes'] / 1000:,.0f}",
        "own %": f"{found['own']:.2f}",
        "reference %": f"{found['reference']:.2f}",
        "candidates a source piece": f"{found['candidates_per_token']:.1f}",
    }
    for tokens, timed in found["timed"].items():
        where = "sentence by sentence" if tokens == 1 else f"{tokens} pieces"
        cells[f"candidates, {where}"] = f"{timed['candidates']:,.0f}"
        cells[f"times faster, {where}"] = (
            "{times_faster:.2f} ({times_faster_min:.2f} to {times_faster_max:.2f})".format(**timed)
        )
        star = "\\*" if timed["bleu_p"] < SIGNIFICANT else ""
        cells[f"BLEU, {where}"] = f"{timed['bleu_delta']:+.2f}{star}"
    return cells


def markdown(dev: dict[str, Any], coverage: dict[str, Any], timing: dict[str, Any]) -> str:
    whole = next(row for row in timing["rows"] if row["map"] == "whole")
    fallback = "" if dev["picked"]["own"] >= dev["coverage"] else " (none does; this one allows the most)"
    note = NOTE.format(
        **{**timing["model"], **timing, "bleu": whole["bleu"]},
        repeats=repeats([timing]),
        signature=whole["bleu_signature"],
        coverage=dev["coverage"],
        none=fallback,
    )
    rows = [row(found, found["map"] == dev["picked"]["map"]) for found in joined(coverage, timing)]
    return f"# Vocabulary maps\n\n{note}\n{tabulate(rows, headers='keys', tablefmt='pipe', disable_numparse=True)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dev", type=Path, required=True, help="JSON of export.coverage that picked the map")
    parser.add_argument("--coverage", type=Path, required=True, help="JSON of export.coverage, of the test set")
    parser.add_argument("--timing", type=Path, required=True, help="JSON of decode.map_timing, of the test set")
    parser.add_argument("--output", type=Path, required=True, help="Markdown to write")
    args = parser.parse_args()
    write_text(args.output, markdown(*map(read_json, (args.dev, args.coverage, args.timing))))


if __name__ == "__main__":
    command(main)
