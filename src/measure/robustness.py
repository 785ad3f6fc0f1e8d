"""Translate the perturbed versions of a test set (measure.perturb), score them, and count what is lost.

Each system is decoded as it is shipped, with its vocabulary map where it has one, and by the native engine where that
is installed. Nothing is timed. Versions with other case are scored without regard to case.
"""

import argparse
import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.chrf import CHRF

from findings.loops import looping, said_twice
from findings.metrics import bleu
from findings.survival import survive
from formats import records
from formats.robustness import Robustness, RobustnessRow, TranslatedInputs
from measure.configuration import ModelFolder
from measure.perturb import CASE, CLEAN, JOINED, PERTURBATIONS, SUITE, WORDS
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import sha256, write_json, write_text
from nmt_frontier.progress import progress
from nmt_frontier.search.native import Native
from nmt_frontier.text.items import KINDS
from nmt_frontier.translator import Translator

LONG = 3  # times the length that is expected
SHORT = 10  # characters more that even one word may take
RECASED = (CLEAN, "upper_case", "title_case")  # the lists that are also translated with --recase
Lines = list[tuple[str, ...]]
Decoded = tuple[Translator, dict[str, TranslatedInputs]]


def installed(models: Iterable[ModelFolder]) -> list[ModelFolder]:
    """A folder for each system and type: that of the native engine where it is there and can decode here.

    Raises UserError for a system that no installed engine decodes.
    """
    folders: dict[tuple[str | None, str], list[ModelFolder]] = {}
    for model in models:
        about = model.description
        folders.setdefault((about.system, about.quantization), []).append(model)
    chosen = []
    for candidates in folders.values():
        able = [model for model in candidates if model.engine.supported()]
        if not able:
            raise UserError(f"{candidates[0].path}: its engine is not installed; install it, or leave the system out")
        chosen.append(min(able, key=lambda model: model.engine is not Native))
    return chosen


class Lists:
    """The lists of a folder of measure.perturb, and their metrics. Empty ones are left out."""

    def __init__(self, folder: Path, language: str):
        paths = ((name, folder / f"{name}{records.SUFFIX}") for name in (CLEAN, *PERTURBATIONS, JOINED, WORDS, SUITE))
        self.lines: dict[str, Lines] = {name: lines for name, path in paths if (lines := list(records.read(path)))}
        self._language = language
        clean = self.lines[CLEAN]
        # Languages and scripts need more or fewer characters for the same.
        self._ratio = sum(len(row[1]) for row in clean) / max(sum(len(row[0]) for row in clean), 1)

    def metrics(self, name: str) -> dict[str, Metric]:
        """What a list is scored with, by the name of the score."""
        found: dict[str, Metric] = {}
        if name not in (WORDS, SUITE) and name not in CASE:
            found |= {"bleu": bleu(self._language), "chrf": CHRF()}
        if name == CLEAN or name in CASE:
            found |= {"bleu_lowercased": bleu(self._language, lowercase=True), "chrf_lowercased": CHRF(lowercase=True)}
        return found

    def signatures(self) -> dict[str, str]:
        """Those of all scores, which name the number of references only after a score."""
        references = [[row[1] for row in self.lines[CLEAN]]]
        found = {}
        for key, metric in self.metrics(CLEAN).items():
            metric.corpus_score(references[0], references)
            found[key] = str(metric.get_signature())
        return found

    def translated(self, name: str, outputs: Sequence[str]) -> TranslatedInputs:
        """The scores and counts of the translations of a list."""
        lines = self.lines[name]
        references = [[row[1] for row in lines]]
        scores = {key: metric.corpus_score(outputs, references).score for key, metric in self.metrics(name).items()}
        pairs = [(row[0], output) for row, output in zip(lines, outputs, strict=True)]
        short = pairs if name in (WORDS, SUITE) else []
        counts = {
            "loops": sum(looping(output) and not looping(source) for source, output in pairs),
            "empty": sum(not output.strip() and bool(source.strip()) for source, output in pairs),
            "long": sum(len(output) > LONG * self._ratio * len(source) + SHORT for source, output in pairs),
            "twice": sum(said_twice(output) and not said_twice(source) for source, output in short),
        }
        found = {"sentences": len(lines), **scores, "survived": survived(lines, outputs), **counts}
        return cast(TranslatedInputs, found)


def survived(lines: Lines, outputs: Sequence[str]) -> dict[str, list[int]]:
    """By kind of what must survive: the lines where it does, and all of that kind."""
    found: dict[str, list[int]] = {}
    for (_, _, kind, kept), output in zip(lines, outputs, strict=True):
        if kept:
            counts = found.setdefault(kind, [0, 0])
            counts[0] += survive(kept.split(), output)
            counts[1] += 1
    return found


def decoded(model: Path, names: Iterable[str], lists: Lists, folder: Path | None, **options: Any) -> Decoded:
    """The translator, closed, and the scores and counts of some lists. folder: to write the translations into."""
    translator = Translator(model, **options)
    about = translator.description
    ways = [f"beam{options['beam_size']}", *["protected"] * bool(options["protect"]), *["recased"] * options["recase"]]
    named = f"{about.system or model.parent.name}, {model.name}, {', '.join(ways)}"
    names = [name for name in names if name in lists.lines]
    found: dict[str, TranslatedInputs] = {}
    for name in progress(names, named, len(names), "list"):
        outputs = list(translator.translate(row[0] for row in lists.lines[name]))
        found[name] = lists.translated(name, outputs)
        if folder:
            path = folder / f"{about.system}.{model.name}.{'.'.join(ways)}.{name}.txt"
            write_text(path, "".join(f"{line}\n" for line in outputs))
    translator.close()
    return translator, found


def rows(
    models: Iterable[ModelFolder], beam_sizes: Sequence[int], lists: Lists, args: argparse.Namespace
) -> Iterable[RobustnessRow]:
    """Every system with every beam, and those that learned it also with protection.

    The translations are written into the folder ``args.translations``.
    """
    for model in models:
        about = model.description
        ways = (False, True) if about.system in args.protected else (False,)
        for beam_size, protected in itertools.product(beam_sizes, ways):
            options = {"beam_size": beam_size, "vocabulary_map": args.vocabulary_map, "workers": args.threads}
            options |= {"protect": KINDS if protected else (), "recase": False}
            translator, found = decoded(model.path, lists.lines, lists, args.translations, **options)
            _, recased = decoded(model.path, RECASED, lists, args.translations, **options | {"recase": True})
            row = RobustnessRow(
                system=about.system or model.path.parent.name,
                role=about.role or "imported",
                engine=about.engine,
                compute_type=about.quantization,
                beam_size=beam_size,
                vocabulary_map=translator.search.vocabulary_map,
                lists=found,
                recased=recased,
            )
            if protected:
                row["protected"] = True
            yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--models", type=ModelFolder.read, nargs="+", required=True, help="model folders, of several engines"
    )
    parser.add_argument("--inputs", type=there, required=True, help="folder of measure.perturb")
    parser.add_argument("--test-set", required=True, help="name of the test set, for the report")
    parser.add_argument("--languages", nargs=2, required=True, metavar=("SOURCE", "TARGET"), help="their codes")
    parser.add_argument("--seed", type=int, default=1, help="of measure.perturb, for the report")
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=[1])
    parser.add_argument("--no-vocabulary-map", dest="vocabulary_map", action="store_false")
    parser.add_argument("--protected", nargs="+", default=[], help="systems that are also decoded with protection")
    parser.add_argument("--threads", type=positive, default=1, help="cores to use (default: %(default)s)")
    parser.add_argument("--config-hash", help="of the study's configuration")
    parser.add_argument("--translations", type=Path, help="folder to write the translations into")
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    args = parser.parse_args()

    lists = Lists(args.inputs, args.languages[1])
    result: Robustness = {
        "config_hash": args.config_hash,
        "test_set": args.test_set,
        "sha256": sha256(args.inputs / f"{CLEAN}{records.SUFFIX}"),
        "languages": args.languages,
        "seed": args.seed,
        "signatures": lists.signatures(),
        "rows": list(rows(installed(args.models), args.beam_sizes, lists, args)),
    }
    write_json(args.output, result)


if __name__ == "__main__":
    command(main)
