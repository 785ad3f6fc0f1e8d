"""The jobs of a study on a cluster: what each takes, reserves and waits for, and how long all take on its nodes.

Not counted, as no benchmark has their rates: fetching, which the network bounds, the conversion of teachers from
elsewhere, dropping the worst pairs, and making the map from the phrase table.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from common.errors import UserError
from formats.cost import Price
from study.rates import Rate
from study.systems import System
from study.workload import JOB_STARTS, MODEL_JOBS, REPORT_JOBS, Stage, Work

# Of choosing targets: CPU seconds of a comparison (EPYC of Zen 4, Multi30k, lists of 8), and how their number grows
# with the hypotheses.
CHOICE = {"interpolated": 75e-6, "mbr": 14e-6}
POWERS = {"interpolated": 1, "mbr": 2}
THREADS = 2  # of the rules vocabulary and encode; the second one counts as no gain


class Node(NamedTuple):
    """A machine of the cluster; all are alike."""

    cores: int
    gpus: int
    usd_per_hour: float

    @classmethod
    def of(cls, price: Price) -> "Node":
        return cls(price["cores"], price.get("gpus", 0), price["usd_per_hour"])


class Jobs(NamedTuple):
    """Equal jobs, which start when all jobs of the groups in ``after`` have ended.

    seconds: of each. cores: that each reserves; None for a node of its own. after: names of groups.
    """

    name: str
    stage: str
    number: int
    seconds: float
    cores: int | None = 1
    gpus: int = 0
    after: Sequence[str] = ()

    def share(self, node: Node) -> float:
        """The part of a node that each job takes from the others. Raises UserError if a node has too little."""
        if self.gpus > node.gpus or (self.cores or 0) > node.cores:
            needs = f"{self.cores} cores and {self.gpus} GPUs"
            raise UserError(
                f"{self.name} needs {needs}, the node has {node.cores} and {node.gpus}; give another --node"
            )
        return max((self.cores or node.cores) / node.cores, self.gpus / node.gpus if self.gpus else 0.0)


class _Cluster:
    """Nodes with what is free on them, and the groups that wait."""

    def __init__(self, groups: Sequence[Jobs], node: Node, nodes: int):
        self._node, self._free = node, [[node.cores, node.gpus] for _ in range(nodes)]
        names = {group.name for group in groups}
        self._groups = sorted(groups, key=lambda group: -group.seconds)  # the longest first
        self._waits = {group.name: names.intersection(group.after) for group in groups}
        self._unstarted = {group.name: group.number for group in groups}
        self._unended = dict(self._unstarted)
        self._running: list[tuple[float, int, str, int, int, int]] = []  # end, node, group, jobs, cores, gpus

    def run(self) -> float:
        """Seconds until the last job has ended."""
        now, everywhere = 0.0, range(len(self._free))
        places: Iterable[int] = everywhere
        while True:
            self._start(now, places)
            if not self._running:
                return now
            now = self._running[0][0]
            freed = set()
            while self._running and self._running[0][0] == now:
                freed.add(self._end())
            ended = {name for name, number in self._unended.items() if not number}
            places = everywhere if any(waits & ended for waits in self._waits.values()) else sorted(freed)
            self._waits = {name: waits - ended for name, waits in self._waits.items()}
            self._groups = [group for group in self._groups if self._unstarted[group.name]]

    def _start(self, now: float, places: Iterable[int]) -> None:
        """Start what fits on these nodes."""
        for group in self._groups:
            name, cores = group.name, group.cores or self._node.cores
            if self._waits[name]:
                continue
            for place in places:
                free = self._free[place]
                fitting = min(self._unstarted[name], free[0] // cores)
                fitting = min(fitting, free[1] // group.gpus) if group.gpus else fitting
                if fitting:
                    free[0] -= fitting * cores
                    free[1] -= fitting * group.gpus
                    self._unstarted[name] -= fitting
                    heapq.heappush(self._running, (now + group.seconds, place, name, fitting, cores, group.gpus))

    def _end(self) -> int:
        """The node on which the next jobs end."""
        _, place, name, jobs, cores, gpus = heapq.heappop(self._running)
        self._free[place][0] += jobs * cores
        self._free[place][1] += jobs * gpus
        self._unended[name] -= jobs
        return place


def wall(groups: Sequence[Jobs], node: Node, nodes: int) -> float:
    """Seconds from the first start to the last end; a group that waits for none of these starts at once.

    Raises UserError for a job that fits no node.
    """
    for group in groups:
        group.share(node)
    return _Cluster([group for group in groups if group.number], node, nodes).run()


class Planned:
    """Makes the jobs of a study. text: seconds of a core per pair or line (study.rates)."""

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
