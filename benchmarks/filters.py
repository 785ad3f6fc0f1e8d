"""What filters find in a damaged text, and how many good pairs they drop (configs/filters.yaml).

Bounds are chosen on one half of the pairs of benchmarks/filters_damage.py: those that drop 95 % of the damaged pairs
and the fewest good ones, and those that drop 3 % of the good pairs and the most damaged ones. The other half says what
they are worth. The second bounds also filter the text that models learn from (configs/filters-models.yaml). The scores,
and what the rules drop, are those that the study has made.
"""

import argparse
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from filters_bounds import Drops, Filter, Numbers, bounds, dropped, weighed
from filters_damage import GOOD, MODELS, SAME, SHARES, lines, write
from numpy.typing import NDArray

from formats import records
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json
from study import config
from study.plan import StudyPlan

NOISY, RULES, PUNCTUATION = SAME  # corpora of the study with the text
MARK = "terminal_punctuation"  # the reason of the last of them
FOUND, LOST = 0.95, 0.03
WITH_EMBEDDINGS = "weighed-embeddings"
LEARNED = (RULES, "hardrules", "rules-alignment", WITH_EMBEDDINGS)
PROBABILITIES, LEAST = ("translation",), 1e-6  # to which they are rounded
LANGUAGE = "language"  # the reason of langid.py
INSIDE = re.compile(r"[.!?…] ")
SHORT = "not_too_short"  # the rule of bicleaner-hardrules that drops one and two words


class Text:
    """The damaged text. kinds, parts, corpora: of each pair; number: pairs."""

    def __init__(self, study: StudyPlan, folder: Path):
        self._study, self._folder = study, folder
        _, kinds, parts, corpora = zip(*(line.split("\t") for line in lines(folder / "labels.tsv.gz")), strict=True)
        self.kinds, self.parts, self.corpora = np.array(kinds), np.array(parts, int), np.array(corpora)
        self.noise, self.number = self.kinds != GOOD, len(kinds)
        self.pairs = [line.split("\t")[:2] for line in lines(folder / f"{NOISY}.tsv.gz")]

    def scores(self, name: str, files: list[Path] | None = None) -> Numbers:
        """A score of each pair; nan where there is none. files: K-of-N, of shards of the study's text."""
        found = np.full(self.number, np.nan)
        for file in files or [*map(Path, self._study.scores.files(NOISY, name))]:
            shard = records.shard(records.name(file).replace("-of-", "/"))
            pairs = records.read(self._study.paths.unfiltered(NOISY), shard)
            numbers = [int(float(record[2])) for record in pairs]
            found[numbers] = [float(record[0]) for record in records.read(file)]
        return found

    def reasons(self, corpus: str) -> NDArray[np.str_]:
        """Why the rules of a corpus of the study drop each pair; empty where they do not."""
        found = np.full(self.number, "", "U20")
        path = Path(self._study.paths.unfiltered(corpus))
        for reason, _, _, number in records.read(path.with_name(f"{corpus}.rejected{records.SUFFIX}")):
            found[int(float(number))] = reason
        return found

    def hardrules(self, path: Path) -> tuple[Drops, Drops]:
        """What bicleaner-hardrules drops, and what by other rules than SHORT."""
        said = [line.rsplit("\t", 1)[1] for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
        every = [[] if each == "keep" else each.split("+") for each in said]
        others = [[rule for rule in rules if not rule.startswith(SHORT)] for rules in every]
        return np.array([*map(bool, every)]), np.array([*map(bool, others)])

    def surface(self) -> list[Numbers]:
        """Of each pair: the source's words, the ratio of both lengths, whether one side alone begins with a capital,
        and how many more sentences end inside the target."""
        words = np.array([[len(side.split()) for side in pair] for pair in self.pairs], float)
        characters = np.array([[len(side) for side in pair] for pair in self.pairs], float)
        capitals = np.array([[side[:1].isupper() for side in pair] for pair in self.pairs])
        inside = np.array([[len(INSIDE.findall(side)) for side in pair] for pair in self.pairs], float)
        ratio = np.log(characters[:, 1] / characters[:, 0])
        return [np.log(words[:, 0]), ratio, 1.0 * (capitals[:, 0] != capitals[:, 1]), inside[:, 1] - inside[:, 0]]


def filters(
    text: Text, scores: list[str], hardrules: Path | None, embeddings: list[Path], other: list[str]
) -> list[Filter]:
    """All that are compared; those of embeddings have only the pairs with one.

    other: corpora that weights and bounds are also learned from alone, for the rest.
    """
    reasons, mark = text.reasons(RULES), text.reasons(PUNCTUATION) == MARK
    found = {name: text.scores(name) for name in scores}
    known = ~np.isnan(np.sum([*found.values()], 0))
    rules = (reasons != "") & (reasons != LANGUAGE)
    learn = known & ~rules & (text.parts == 1)
    logarithms = [np.log(np.maximum(score, LEAST)) if name in PROBABILITIES else score for name, score in found.items()]
    features = [*logarithms, 1.0 * mark, *text.surface()]
    none = np.zeros(text.number, bool)
    rows = [
        Filter(RULES, reasons != "", known),
        Filter("rules-without-langid", rules, known),
        Filter(PUNCTUATION, mark, known),
        *(Filter(name, none, known, {name: score}) for name, score in found.items()),
        *(Filter(f"rules-{name}", rules, known, {name: score}) for name, score in found.items()),
        Filter("combined", rules | mark, known, found),
        Filter("weighed", rules, known, {"weighed": weighed(features, text.noise, learn)}),
    ]
    if other:
        own = np.isin(text.corpora, other)
        learned = Filter("weighed", rules, known, {"weighed": weighed(features, text.noise, learn & own)})
        rows += by_other_text([row for row in rows if row.name in ("combined", "weighed")], learned, known, own)
    if hardrules:
        names = ("hardrules", "hardrules-but-short")
        rows += [Filter(name, drops, known) for name, drops in zip(names, text.hardrules(hardrules), strict=True)]
    if embeddings:
        margin = text.scores("embeddings", embeddings)
        few = known & ~np.isnan(margin)
        every = weighed([*features, margin], text.noise, few & learn)
        rows += [replace(row, pairs=few) for row in rows if row.name in (*found, "combined", "weighed")]
        rows.append(Filter("embeddings", none, few, {"embeddings": margin}))
        rows.append(Filter(WITH_EMBEDDINGS, rules, few, {"weighed": every}))
    return rows


def by_other_text(some: list[Filter], learned: Filter, known: Drops, own: Drops) -> list[Filter]:
    """Filters on the pairs that are not a user's own, with bounds that these have chosen alone, and with those of all.

    learned: the one of them whose weights the own pairs have learned, with these weights.
    """
    others = [learned if row.name == learned.name else row for row in some]
    return [
        *(replace(row, name=f"{row.name}, by other text", pairs=known & ~own, chosen=known & own) for row in others),
        *(replace(row, name=f"{row.name}, by all text", pairs=known & ~own, chosen=known) for row in some),
    ]


def counted(text: Text, drops: Drops, pairs: Drops) -> dict[str, Any]:
    """What a filter does to these pairs, in per cent."""

    def share(of: Drops) -> float:
        return round(100 * float(drops[of & pairs].mean()), 2)

    kinds = {kind: share(text.kinds == kind) for kind in SHARES}
    precision = round(100 * float(text.noise[drops & pairs].mean()), 2) if (drops & pairs).any() else None
    return {"found": share(text.noise), "lost": share(~text.noise), "precision": precision, "kinds": kinds}


def measured(text: Text, each: Filter) -> dict[str, Any]:
    """The record of a filter."""
    choose = (text.parts == 1) & (each.pairs if each.chosen is None else each.chosen)
    measure = (text.parts == 2) & each.pairs
    row: dict[str, Any] = {"filter": each.name, "pairs": int(measure.sum())}
    if not each.scores:
        return row | {"always": counted(text, each.ruled, measure)}
    for name, limit in (("found", FOUND), ("lost", LOST)):
        if chosen := bounds(each, text.noise, choose, **{name: limit}):
            rounded = {score: round(value, 4) for score, value in chosen.items()}
            row[f"{name} {limit}"] = {"bounds": rounded, **counted(text, dropped(each, chosen), measure)}
    return row


def texts(text: Text, some: list[Filter], folder: Path) -> list[dict[str, Any]]:
    """Write what models learn from: the clean text, the noisy one, its good pairs alone, and for each filter all of it,
    with 1 for the pairs that it keeps, else 0. It may drop 3 % of the good pairs of the other text. Returns how many it
    keeps, and what it finds. Raises UserError where a pair has no score."""
    own = np.flatnonzero(text.parts == MODELS)
    clean = lines(folder / "clean.tsv.gz")
    write(folder / "models/clean.tsv.gz", ((clean[place],) for place in own))
    write(folder / "models/noisy.tsv.gz", (tuple(text.pairs[place]) for place in own))
    write(folder / "models/good.tsv.gz", (tuple(text.pairs[place]) for place in own if not text.noise[place]))
    rows = []
    for each in some:
        if any(np.isnan(score[own]).any() for score in each.scores.values()):
            raise UserError(f"{each.name}: some pairs that models learn from have no score; give embeddings of all")
        chosen = bounds(each, text.noise, each.pairs & (text.parts == 1), lost=LOST) if each.scores else {}
        drops = dropped(each, chosen or {})
        write(folder / f"models/{each.name}.tsv.gz", ((*text.pairs[place], int(not drops[place])) for place in own))
        row: dict[str, Any] = {"filter": each.name, "kept": int((~drops[own]).sum())}
        rows.append(row | counted(text, drops, text.parts == MODELS))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=there, required=True, help="configuration of the study, which has the scores")
    parser.add_argument("--text", type=there, required=True, help="folder of filters_damage.py")
    own = "of the study (default: %(default)s)"
    parser.add_argument("--scores", nargs="+", default=["alignment"], metavar="SCORE", help=own)
    parser.add_argument("--hardrules", type=there, help="what bicleaner-hardrules --annotated_output has written")
    embeddings = "files of scores.embeddings, K-of-N.tsv.zst"
    parser.add_argument("--embeddings", type=there, nargs="*", default=[], help=embeddings)
    other = "corpora of it that weights and bounds are also learned from alone, to filter the others"
    parser.add_argument("--other", nargs="*", default=[], metavar="CORPUS", help=other)
    learned = "filters whose pairs are written for configs/filters-models.yaml (default: %(default)s)"
    parser.add_argument("--learned", nargs="*", default=[*LEARNED], metavar="FILTER", help=learned)
    parser.add_argument("--output", type=Path, required=True, help="JSON")
    args = parser.parse_args()

    text = Text(StudyPlan(config.read(args.config)), args.text)
    compared = filters(text, args.scores, args.hardrules, args.embeddings, args.other)
    rows = [measured(text, each) for each in compared]
    kinds = {kind: int((text.kinds[text.parts != MODELS] == kind).sum()) for kind in (GOOD, *SHARES)}
    first = {each.name: each for each in reversed(compared)}  # of all pairs, not of those with embeddings alone
    models = texts(text, [first[name] for name in args.learned], args.text)
    write_json(args.output, {"command": shlex.join(sys.argv), "pairs": kinds, "filters": rows, "models": models})
    for row in [*rows, *models]:
        print(row)


if __name__ == "__main__":
    command(main)
