"""The gap between teacher and students as tables in Markdown: scores, comparisons, sentences where they differ most."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tabulate import tabulate

from decode.gap_plot import label, read
from formats.errors import command
from formats.files import write_text

SIGNIFICANT = 0.05
NONE = "–"
NOTE = """Mean over the seeds, with the lowest and the highest. "to the teacher": difference in BLEU to {teacher} with
beam {teacher_beam}; a star where the paired bootstrap finds it significant (p < 0.05) for every seed. "like the
teacher": BLEU against the teacher's output, and the share of sentences that are the same. "lower-cased": BLEU without
regard to case, for comparison with papers that report it. "sentences": how many the training saw, each counted once."""
APART = """What sets the two trainings apart is in the column "difference". Only twins, which learned from the same
sentences, say what distillation is worth; where one training saw more sentences than the other, they are counted."""


def mean(rows: list[dict[str, Any]], key: str) -> float:
    return sum(row[key] for row in rows) / len(rows)


def star(p_values: list[float]) -> str:
    return "\\*" if max(p_values) < SIGNIFICANT else ""


def scores(test_set: dict[str, Any]) -> Iterator[dict[str, str]]:
    """A row for each group and beam size."""
    for beam, found in test_set["beams"].items():
        for group in found["groups"]:
            rows = [row for row in found["systems"] if label(row) == label(group)]
            p_values = [row["bleu_p_teacher"] for row in rows]
            spread = f" ({group['bleu_min']:.2f} to {group['bleu_max']:.2f})" if group["seeds"] > 1 else ""
            yield {
                "system": label(group),
                "search": "greedy" if beam == "beam 1" else beam,
                "seeds": group["seeds"],
                "sentences": f"{group['sentences']:,}" if group["sentences"] else NONE,
                "BLEU": f"{group['bleu']:.2f}{spread}",
                "lower-cased": f"{mean(rows, 'bleu_lowercased'):.2f}",
                "chrF": f"{mean(rows, 'chrf'):.2f}",
                "to the teacher": f"{mean(rows, 'bleu_delta_teacher'):+.2f}{star(p_values)}",
                "like the teacher": f"{mean(rows, 'agreement_bleu'):.1f}, {mean(rows, 'agreement_exact'):.0%} the same",
            }


def comparisons(test_set: dict[str, Any]) -> Iterator[dict[str, str]]:
    """A row for each student, pair of mixtures and beam size."""
    for beam, found in test_set["beams"].items():
        for pair in found["comparisons"]:
            each = ", ".join(
                f"{delta:+.2f} (p = {p:.3f})" for delta, p in zip(pair["bleu_deltas"], pair["bleu_p"], strict=True)
            )
            yield {
                "student": pair["student"],
                "search": "greedy" if beam == "beam 1" else beam,
                "learned from": pair["mixture"],
                "rather than": pair["than"],
                "difference": pair["difference"] or NONE,
                "BLEU": f"{pair['bleu_delta']:+.2f}{star(pair['bleu_p'])}",
                "seed by seed": each,
            }


def sentences(test_set: dict[str, Any]) -> str:
    different = test_set["most_different"]
    parts = [f"### Where {different['system']} differs most from the teacher\n"]
    for sentence in different["sentences"]:
        rows = [[name, sentence[name].replace("|", "\\|")] for name in ("source", "reference", "teacher", "student")]
        head = [f"line {sentence['line']}", f"chrF {sentence['chrf']:.1f}"]
        parts.append(tabulate(rows, head, "pipe", disable_numparse=True) + "\n")
    return "\n".join(parts)


def markdown(gap: dict[str, Any]) -> str:
    parts = ["# The gap between teacher and students\n", NOTE.format(**gap) + "\n"]
    for name, test_set in gap["test_sets"].items():
        parts += [
            f"## {name}, {test_set['sentences']:,} sentences\n",
            tabulate(scores(test_set), "keys", "pipe", disable_numparse=True) + "\n",
        ]
        if pairs := list(comparisons(test_set)):
            parts += ["### What it learned from\n", APART + "\n", tabulate(pairs, "keys", "pipe") + "\n"]
        parts.append(sentences(test_set))
    beams = [found for test_set in gap["test_sets"].values() for found in test_set["beams"].values()]
    signatures = {row["bleu_signature"] for found in beams for row in found["systems"]}
    sums = ", ".join(f"{name} sha256 {test_set['sha256'][:12]}" for name, test_set in gap["test_sets"].items())
    parts.append(f"sacreBLEU: {', '.join(sorted(signatures))}. Configuration {gap['config_hash']}; {sums}.\n")
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gap", type=Path, required=True, help="JSON of decode.gap")
    parser.add_argument("--output", type=Path, required=True, help="Markdown to write")
    args = parser.parse_args()
    write_text(args.output, markdown(read(args.gap)))


if __name__ == "__main__":
    command(main)
