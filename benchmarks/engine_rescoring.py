"""Two ways in which teachers translate together: token by token, and rescoring of the n-best lists of each.

Both search with the same beam and without a vocabulary map, as teachers do; of the rescored lists the best translation
counts. BLEU of the first two, three and so on of some models, and the p-value of the difference (paired bootstrap).
"""

import argparse
import tempfile
from pathlib import Path

from distill.n_best_lists import NBestList, ranked
from distill.rescore import rescored
from distill.teacher import Teacher
from distill.tokenization import SentencePiece
from formats import records
from measure.bootstrap import TestSet
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import command
from nmt_frontier.files import write_json, write_text

SAMPLES = 1000  # of the bootstrap


def teacher(models: list[Path]) -> Teacher:
    """One model, or several token by token. All have the vocabulary of the first."""
    pieces = SentencePiece(models[0] / "sentencepiece.model")
    return Teacher(models[0], [pieces, pieces], others=models[1:])


def compared(models: list[Path], test_set: Path, beam_size: int, n_best: int, folder: Path) -> list[dict[str, object]]:
    """A row for every number of models from two on."""
    sources, scored = [source for source, _ in records.pairs(test_set)], TestSet(test_set, "", SAMPLES)
    alone = [teacher([model]) for model in models]
    own = [[*each.translate(sources, beam_size, n_best)] for each in alone]

    def output(name: str, lists: list[NBestList]) -> Path:
        """The best translations; a source without one has an empty line."""
        lines = (each.hypotheses[0].text if each.hypotheses else "" for each in lists)
        write_text(folder / name, "".join(f"{line}\n" for line in lines))
        return folder / name

    rows = []
    for count in range(2, len(models) + 1):
        merged = [
            NBestList(source, ranked(one for each in lists for one in each))
            for source, *lists in zip(sources, *own[:count], strict=True)
        ]
        again = output("rescored", [*rescored(merged, alone[:count], 1)])
        lists = teacher(models[:count]).translate(sources, beam_size, 1)
        together = output("together", [NBestList(*pair) for pair in zip(sources, lists, strict=True)])
        difference, p = scored.difference(together, again)
        rows.append(
            {
                "models": [f"{model.parent.name}/{model.name}" for model in models[:count]],
                "beam_size": beam_size,
                "n_best": n_best,
                "bleu_together": scored.score(together)[0]["bleu"],
                "bleu_rescored": scored.score(again)[0]["bleu"],
                "difference": difference,
                "p": p,
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=there, nargs="+", required=True, help="native model folders of one vocabulary")
    parser.add_argument("--beam-size", type=positive, default=4)
    parser.add_argument("--n-best", type=positive, default=4, help="translations of each model (default: %(default)s)")
    parser.add_argument("--test-set", type=there, required=True, help="records of sources and references")
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = compared(args.models, args.test_set, args.beam_size, args.n_best, Path(folder))
    write_json(args.output, rows)
    for row in rows:
        print(row)


if __name__ == "__main__":
    command(main)
