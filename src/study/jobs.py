"""The jobs of a study on a cluster, as the rules divide its work: what each takes, reserves and waits for.

Not counted, as no benchmark has their rates: fetching, which the network bounds, the conversion of teachers from
elsewhere, dropping the worst pairs, and making the map from the phrase table.
"""

from collections.abc import Iterator
from typing import Any

from study.benchmarked import Rate
from study.cluster import Jobs
from study.systems import System
from study.work import JOB_STARTS, MODEL_JOBS, REPORT_JOBS, Stage, Work

# Of choosing targets: CPU seconds of a comparison (EPYC of Zen 4, Multi30k, lists of 8), and how their number grows
# with the hypotheses.
CHOICE = {"interpolated": 75e-6, "mbr": 14e-6}
POWERS = {"interpolated": 1, "mbr": 2}
THREADS = 2  # of the rules vocabulary and encode; the second one counts as no gain


class Planned:
    """Makes the jobs of a study. text: seconds of a core per pair or line (study.benchmarked)."""

    def __init__(self, work: Work, text: dict[str, Rate]):
        self._work, self._study, self._config = work, work.study, work.config
        self._seconds = {name: rate.seconds for name, rate in text.items()}
        self._start = JOB_STARTS * work.rates.python

    def jobs(self) -> list[Jobs]:
        """All groups of jobs, in the order of the stages. The name of a group begins with that of its rule."""
        parts = (
            self._corpora(),
            self._distillation(),
            self._epochs(),
            self._trainings(),
            self._alignment(),
            self._end(),
        )
        groups = [group for part in parts for group in part]
        order = list(Stage)
        return sorted(groups, key=lambda group: order.index(group.stage))

    def _group(self, name: str, stage: Stage, total: float, number: int = 1, **what: Any) -> Jobs:
        """``total`` seconds of work in ``number`` equal jobs, each of which has to start."""
        return Jobs(name, stage, number, total / max(number, 1) + self._start, **what)

    def _read(self, corpora: list[str]) -> float:
        """Seconds to read these corpora for a draw, as pairs."""
        return sum(self._work.sizes[name] for name in corpora) * self._seconds["draw: read"]

    # Texts

    def _corpora(self) -> Iterator[Jobs]:
        shards = self._config["cleaning_shards"]
        for name, lines in self._work.sizes.items():
            sides = len(self._study.languages(name)) / 2  # of a pair
            entry = self._config["corpora"][name]
            if entry["sample"]:
                subset = self._work.read[name] * sides * self._seconds["subset"]
                yield self._group(f"subset {name}", Stage.SUBSETS, subset)
            cleaned = lines * sides * self._seconds["clean"]
            yield self._group(f"clean {name}", Stage.CLEANING, cleaned, shards, after=[f"subset {name}"])
            way = "gather, drop duplicates" if entry["cleaning"]["duplicates"] else "gather"
            gathered = lines * sides * self._seconds[way]
            yield self._group(f"gather_clean {name}", Stage.GATHERING, gathered, after=[f"clean {name}"])

    def _mixed(self, mixture: str) -> tuple[list[str], list[str]]:
        """The corpora of a mixture, and the groups of jobs that make them."""
        corpora = list(self._study.weights(mixture))
        translations = self._study.translations(mixture)
        made = f"gather_distilled {' '.join(translations)}" if translations else "gather_clean"
        return corpora, [f"{made} {name}" for name in corpora]

    # Distillation

    def _distillation(self) -> Iterator[Jobs]:
        work, shards = self._work, self._config["distillation"]["shards"]
        gpus = int(work.teachers_on_gpu)
        for corpus, sentences in work.sizes.items():
            for teacher in work.translators(corpus):
                after = [f"gather_clean {corpus}", f"train {teacher}"]
                seconds = work.translation_seconds(teacher, sentences)
                name = f"translate_shard {teacher} {corpus}"
                yield self._group(name, Stage.TRANSLATION, seconds, shards, gpus=gpus, after=after)
            lists = [f"translate_shard {teacher} {corpus}" for teacher in work.translators(corpus)]
            if work.rescored(corpus):
                seconds = work.rescoring_seconds(sentences)
                name = f"rescore_shard {corpus}"
                yield self._group(name, Stage.RESCORING, seconds, shards, gpus=gpus, after=lists)
            yield from self._selections(corpus, sentences, [*lists, f"rescore_shard {corpus}"])

    def _selections(self, corpus: str, sentences: int, lists: list[str]) -> Iterator[Jobs]:
        for teacher, targets in sorted(self._work.selected.get(corpus, ())):
            name, shards = f"{teacher} {targets} {corpus}", self._config["distillation"]["shards"]
            compared = self._config["distillation"]["n_best"] ** POWERS.get(targets, 0)
            seconds = sentences * (self._seconds["select"] + CHOICE.get(targets, 0) * compared)
            yield self._group(f"select_shard {name}", Stage.SELECTION, seconds, shards, after=lists)
            pairs = sentences * (self._config["distillation"]["n_best"] if targets == "all" else 1)
            gathered, after = pairs * self._seconds["gather"], [f"select_shard {name}"]
            yield self._group(f"gather_distilled {name}", Stage.SELECTION, gathered, after=after)

    # Vocabulary, epochs, trainings

    def _epochs(self) -> Iterator[Jobs]:
        epochs, seconds = self._config["distillation"]["epochs"], self._seconds
        for mixture in sorted({system.mixture for system in self._work.trained}):
            (corpora, made), pairs = self._mixed(mixture), self._work.epoch(mixture)
            drawn = self._read(corpora) + pairs * seconds["draw: write"]
            yield self._group(f"sample {mixture}", Stage.EPOCHS, drawn * epochs, epochs, after=made)
            what = {"cores": THREADS, "after": [f"sample {mixture}", "vocabulary"]}
            yield self._group(f"encode {mixture}", Stage.EPOCHS, pairs * seconds["encode"] * epochs, epochs, **what)
        yield self._vocabulary()

    def _vocabulary(self) -> Jobs:
        vocabulary, seconds = self._config["vocabulary"], self._seconds
        of, train = vocabulary["of"], self._study.corpora["train"]
        lines = 2 * (self._work.epoch(of) if of else sum(self._work.sizes[name] for name in train))
        total = lines * seconds["vocabulary: read"] + min(vocabulary["sentences"], lines) * seconds["vocabulary: learn"]
        after = [f"sample {of}"] if of else [f"gather_clean {name}" for name in train]
        return self._group("vocabulary", Stage.VOCABULARY, total, cores=THREADS, after=after)

    def _trainings(self) -> Iterator[Jobs]:
        for system in self._work.trained:
            stage = Stage.TEACHERS if system.role == "teacher" else Stage.STUDENTS
            after = [f"encode {system.mixture}", f"train {system.start_from}"]
            yield self._group(
                f"train {system.name}", stage, self._training(system), after=after, **self._reserved(system)
            )

    def _training(self, system: System) -> float:
        """Seconds on the clock; several GPUs count as so many times as fast."""
        reserved = self._reserved(system)
        return self._work.training_seconds(system) / (reserved["gpus"] or reserved["cores"])

    def _reserved(self, system: System) -> dict[str, int]:
        gpus = system.training["gpus"] if self._work.trained_on_gpu(system) else 0
        return {"cores": system.training["threads"], "gpus": gpus}

    # From the texts to the map, and what follows

    def _alignment(self) -> Iterator[Jobs]:
        alignment, seconds = self._config["alignment"], self._seconds
        corpora, made = self._mixed(self._study.aligned_mixture)
        pairs = sum(self._work.sizes[name] for name in corpora)
        drawn = self._read(corpora) + pairs * seconds["draw: write"]
        yield self._group("alignment_corpus", Stage.ALIGNMENT, drawn, after=made)
        taught, after = (
            min(pairs, alignment["pairs"]) * seconds["teach the aligner"],
            ["alignment_corpus", "vocabulary"],
        )
        yield self._group("alignment_probabilities", Stage.ALIGNMENT, taught, after=after)
        shards, aligned = alignment["shards"], pairs * (seconds["encode"] + seconds["align"])
        yield self._group("align_shard", Stage.ALIGNMENT, aligned, shards, after=["alignment_probabilities"])
        extracted = pairs * seconds["extract phrases"]
        yield self._group("extract_shard", Stage.ALIGNMENT, extracted, shards, after=["align_shard"])
        yield self._group("phrase_table", Stage.ALIGNMENT, pairs * seconds["merge phrases"], after=["extract_shard"])

    def _end(self) -> Iterator[Jobs]:
        systems = [system.name for system in self._work.trained]
        exported = [f"export {name}" for name in systems]
        for name, export in zip(systems, exported, strict=True):
            yield self._group(export, Stage.EXPORT, 0, MODEL_JOBS, after=[f"train {name}", "phrase_table"])
        timed = sum(map(self._work.timing_seconds, self._work.measured))
        yield self._group("benchmark", Stage.TIMING, timed, cores=None, after=exported)
        yield self._group("report", Stage.REPORT, 0, REPORT_JOBS, after=["benchmark"])


def jobs(work: Work, text: dict[str, Rate]) -> list[Jobs]:
    """All groups of jobs of a study, in the order of the stages."""
    return Planned(work, text).jobs()
