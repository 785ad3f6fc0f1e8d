"""Score the translations of a study and join all measurement records into one list.

BLEU and chrF are sacreBLEU's, on detokenised, cased text. The significance of a difference in BLEU is sacreBLEU's
paired bootstrap (Koehn 2004, centred as in Moses): each record against the teacher at full precision (CTranslate2,
float32, beam 4, no map), and a distilled student against its control decoded in the same way: its twin, if one control
learned from the same sentences. The record says what sets the two apart.

Many outputs are equal, or equal in most sentences: statistics are computed once for each different sentence. What was
measured for its speed only has no scores.

The dev set decides which model is the best one. It is no test set, so no record is about it; each record has the BLEU
of its own configuration there, as ``dev_bleu``.
"""

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.metrics.base import Metric

from decode import twins
from decode.measure import named_path
from decode.measurements import CONFIGURATION, Record, full_precision, of_test_set
from decode.twins import Learned
from formats import records
from formats.errors import UserError, command
from formats.files import read_json, write_json
from formats.progress import progress

SEED = 12345  # sacreBLEU's own
SCORES = ("bleu", "bleu_signature", "chrf", "chrf_signature")
SETTINGS = CONFIGURATION[1:]  # how a system is decoded


class Scorer:
    """One metric against the references of one test set; remembers the statistics of every sentence it has seen."""

    def __init__(self, metric: Metric):
        self._metric = metric
        self._seen: dict[tuple[int, str], list[float]] = {}

    @property
    def signature(self) -> str:
        return str(self._metric.get_signature())

    def statistics(self, outputs: list[str]) -> np.ndarray:
        """Sufficient statistics, float64 (sentences, statistics)."""
        rows = []
        for number, (output, reference) in enumerate(zip(outputs, self._metric._ref_cache, strict=True)):
            if (number, output) not in self._seen:
                hypothesis = self._metric._preprocess_segment(output)
                self._seen[number, output] = self._metric._compute_segment_statistics(hypothesis, reference)
            rows.append(self._seen[number, output])
        return np.array(rows, np.float64)

    def score(self, total: np.ndarray) -> float:
        """The corpus score of summed statistics."""
        return self._metric._compute_score_from_stats(list(total)).score


class Bootstrap:
    """Resamples of a test set of n sentences, the same for all systems."""

    def __init__(self, sentences: int, samples: int):
        drawn = np.random.default_rng(SEED).choice(sentences, size=(samples, sentences), replace=True)
        self._counts = np.stack([np.bincount(row, minlength=sentences) for row in drawn]).astype(np.float64)

    def scores(self, scorer: Scorer, statistics: np.ndarray) -> np.ndarray:
        """The score of each resample, float64 (samples,)."""
        return np.array([scorer.score(total) for total in self._counts @ statistics])


def p_value(scores: np.ndarray, baseline: np.ndarray, difference: float) -> float:
    """Of a difference in score between two systems on the same resamples, as sacreBLEU computes it.

    Systems without any difference have 1, where sacreBLEU's formula takes them for different.
    """
    differences = np.abs(scores - baseline)
    if not differences.any():
        return 1.0
    beyond = np.count_nonzero(differences - differences.mean() > abs(difference))
    return (beyond + 1) / (len(scores) + 1)


class TestSet:
    """The references of one test set, and what is known of every output: scores and resampled BLEU."""

    def __init__(self, path: Path, language: str, samples: int):
        references = [[record[1] for record in records.read(path)]]
        try:
            self._bleu = Scorer(BLEU(trg_lang=language, references=references))
        except (RuntimeError, ImportError) as error:  # the tokenizer of some languages is a package of its own
            raise UserError(f"BLEU for the target language {language}: {error}") from error
        self._chrf = Scorer(CHRF(references=references))
        self._sentences = len(references[0])
        self._bootstrap = Bootstrap(self._sentences, samples)
        self._known: dict[tuple[str, ...], tuple[dict[str, Any], np.ndarray]] = {}

    def score(self, path: Path) -> tuple[dict[str, Any], np.ndarray]:
        """Scores with signatures, and BLEU of the resamples. Equal outputs are scored once."""
        outputs = tuple(path.read_text(encoding="utf-8").split("\n")[:-1])
        if len(outputs) != self._sentences:
            raise UserError(f"{path}: {len(outputs)} lines, but its test set has {self._sentences}; decode it again")
        if outputs not in self._known:
            statistics = self._bleu.statistics(list(outputs))
            scores = {
                "bleu": self._bleu.score(statistics.sum(0)),
                "bleu_signature": self._bleu.signature,
                "chrf": self._chrf.score(self._chrf.statistics(list(outputs)).sum(0)),
                "chrf_signature": self._chrf.signature,
            }
            self._known[outputs] = scores, self._bootstrap.scores(self._bleu, statistics)
        return self._known[outputs]


def compare(name: str, record: Record, other: Record | None, resamples: dict[str, np.ndarray]) -> Record:
    """Difference in BLEU to another record and its p-value; None where there is no other, or no score."""
    if other is None or record["bleu"] is None:
        return {f"bleu_delta_{name}": None, f"bleu_p_{name}": None}
    difference = record["bleu"] - other["bleu"]
    p = p_value(resamples[record["output"]], resamples[other["output"]], difference)
    return {f"bleu_delta_{name}": difference, f"bleu_p_{name}": p}


def control(record: Record, measured: list[Record], learned: dict[str, Learned]) -> Record | None:
    """The same student trained on the original data and decoded in the same way: the twin, if there is one."""
    if record["role"] != "student":
        return None
    equal = ("student", "seed", *SETTINGS)
    found = [r for r in measured if r["role"] == "control" and all(r.get(key) == record.get(key) for key in equal)]
    known = [r for r in found if {r["system"], record["system"]} <= learned.keys()]
    same = (r for r in known if twins.same_sentences(learned[record["system"]], learned[r["system"]]))
    return next(same, found[0] if found else None)


def comparisons(
    record: Record,
    measured: list[Record],
    resamples: dict[str, np.ndarray],
    teacher: str | None,
    learned: dict[str, Learned],
) -> Record:
    """What sets a record apart from the teacher and its control. resamples: BLEU of the resamples by output.

    ``control`` is the name of the control, ``control_difference`` what sets their trainings apart.
    """
    measured = of_test_set(measured, record["test_set"])
    reference = full_precision(measured, teacher) if teacher else None
    other = control(record, measured, learned)
    against = compare("teacher", record, reference, resamples) | compare("control", record, other, resamples)
    names = (record["system"], other["system"]) if other else ()
    both = [learned[name] for name in names if name in learned]
    about = {"teacher": teacher, "control": other and other["system"]}
    return against | about | {"control_difference": twins.difference(*both) if len(both) == 2 else None}


def dev_scores(found: list[tuple[Path, Record]], dev: Path, language: str) -> dict[tuple, float]:
    """BLEU on the dev set by configuration."""
    test_set = TestSet(dev, language, samples=1)  # nothing is tested on it
    outputs = progress(found, "scoring the dev set", total=len(found), unit="output")
    return {configured(row): test_set.score(path.parent / row["output"])[0]["bleu"] for path, row in outputs}


def configured(record: Record) -> tuple:
    return tuple(record[name] for name in CONFIGURATION)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, nargs="+", required=True, help="JSON lists of decode.benchmark")
    parser.add_argument("--test-sets", type=named_path, nargs="+", required=True, help="name=path of records")
    parser.add_argument("--dev", type=named_path, help="name=path of the dev set, by which the best model is chosen")
    parser.add_argument("--target-language", required=True, help="sacreBLEU chooses its tokenizer by it")
    parser.add_argument("--teacher", help="the system that all others are held against")
    parser.add_argument("--learned", type=Path, nargs="+", default=[], help="JSON of distill.learned of the systems")
    parser.add_argument("--samples", type=int, default=1000, help="resamples of the bootstrap")
    parser.add_argument("--config-hash", help="of the study's configuration, noted in every record")
    parser.add_argument("--output", type=Path, required=True, help="JSON list of all records with scores to write")
    args = parser.parse_args()

    test_sets = {name: TestSet(path, args.target_language, args.samples) for name, path in args.test_sets}
    measured: list[Record] = []
    resamples: dict[str, np.ndarray] = {}
    found = [(path, record) for path in args.records for record in read_json(path)]
    dev, dev_path = args.dev or (None, None)
    on_dev = [(path, record) for path, record in found if record["test_set"] == dev]
    scored = dev_scores(on_dev, dev_path, args.target_language) if dev else {}
    found = [(path, record) for path, record in found if record["test_set"] != dev]
    for path, record in progress(found, "scoring", total=len(found), unit="output"):
        if record["test_set"] not in test_sets:
            raise UserError(f"{path}: test set {record['test_set']} is not among --test-sets")
        output = path.parent / record["output"]
        place = os.path.relpath(output, args.output.parent)
        scores = dict.fromkeys(SCORES)
        if not record.get("speed_only"):
            scores, resamples[place] = test_sets[record["test_set"]].score(output)
        about = {"output": place, "config_hash": args.config_hash}
        about |= {"dev_set": dev, "dev_bleu": scored.get(configured(record))}
        measured.append(record | scores | about)
    learned = twins.read(args.learned)
    rows = (record | comparisons(record, measured, resamples, args.teacher, learned) for record in measured)
    write_json(args.output, list(rows))


if __name__ == "__main__":
    command(main)
