"""The jobs of a study on a cluster: what each takes, reserves and waits for, and the least that all take on its nodes.

Fetching, converting teachers from elsewhere, dropping the worst pairs and making the map are left out: the network
bounds the first, and no benchmark has the rates of the others.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

from findings.cost import Price
from nmt_frontier.errors import UserError
from study import scoring
from study.asking import asking_seconds
from study.rates import Rate
from study.systems import BACKWARD, Trained
from study.workload import JOB_STARTS, MODEL_JOBS, REPORT_JOBS, StudyStage, Work

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
    """Equal jobs, which start when all jobs of the groups named in ``after`` have ended.

    seconds, cores, gpus: of each job; cores is None for a node of its own.
    """

    name: str
    stage: StudyStage
    number: int
    seconds: float
    cores: int | None = 1
    gpus: int = 0
    after: Sequence[str] = ()

    def reserved(self, node: Node) -> tuple[int, int]:
        """The cores and the GPUs that each job takes from the others. Raises UserError if a node has too few."""
        if self.cores is None:
            return node.cores, node.gpus
        if self.gpus > node.gpus or self.cores > node.cores:
            has = f"the node has {node.cores} and {node.gpus}; give another --node"
            raise UserError(f"{self.name} needs {self.cores} cores and {self.gpus} GPUs, {has}")
        return self.cores, self.gpus

    def share(self, node: Node) -> float:
        """The part of a node that each job reserves."""
        cores, gpus = self.reserved(node)
        return max(cores / node.cores, gpus / max(node.gpus, 1))


def work_seconds(groups: Iterable[Jobs], node: Node, nodes: int) -> float:
    """Seconds in which the nodes do all jobs if none of their cores, or none of their GPUs, is ever idle."""
    core_seconds = gpu_seconds = 0.0
    for group in groups:
        cores, gpus = group.reserved(node)
        core_seconds += group.number * group.seconds * cores
        gpu_seconds += group.number * group.seconds * gpus
    return max(core_seconds / node.cores, gpu_seconds / max(node.gpus, 1)) / nodes


def critical_path(groups: Iterable[Jobs]) -> list[Jobs]:
    """Of the chains in which each job waits for the one before, the one that takes longest.

    A group that waits for none of these groups starts at once.
    """
    named = {group.name: group for group in groups if group.number}

    @cache
    def path(name: str) -> tuple[float, list[Jobs]]:
        """Seconds until a group ends that starts as early as it may, and the groups that it waits for, with itself."""
        seconds, before = longest(other for other in named[name].after if other in named)
        return seconds + named[name].seconds, [*before, named[name]]

    def longest(names: Iterable[str]) -> tuple[float, list[Jobs]]:
        return max(map(path, names), key=itemgetter(0), default=(0.0, []))

    return longest(named)[1]


def least_seconds(groups: Sequence[Jobs], node: Node, nodes: int) -> float:
    """A lower bound of the time that the nodes take: no schedule beats the work or the critical path."""
    return max(work_seconds(groups, node, nodes), sum(group.seconds for group in critical_path(groups)))


def jobs(work: Work, text: dict[str, Rate]) -> list[Jobs]:
    """All groups of jobs in the order of the stages; a group's name begins with that of its rule.

    text: seconds of a core per pair or line (study.rates).
    """
    order = list(StudyStage)
    return sorted(_Planned(work, text).groups(), key=lambda group: order.index(group.stage))


class _Planned:
    """Makes the jobs of a study."""

    def __init__(self, work: Work, text: dict[str, Rate]):
        self._work, self._study, self._config = work, work.study, work.config
        self._distillation = work.config.distillation
        self._seconds = {name: rate.seconds for name, rate in text.items()}
        self._start = JOB_STARTS * work.rates.python

    def groups(self) -> Iterator[Jobs]:
        yield from self._corpora()
        yield from scoring.groups(self._work, self._seconds, self._group, self._cleaned)
        yield from self._translations()
        yield from self._back_translations()
        yield from self._epochs()
        yield from self._trainings()
        yield from self._alignment()
        yield from self._end()

    def _group(self, name: str, stage: StudyStage, total: float, number: int = 1, **what: Any) -> Jobs:
        """``total`` seconds of work in ``number`` equal jobs; each takes its time to start."""
        return Jobs(name, stage, number, total / max(number, 1) + self._start, **what)

    def _read(self, corpora: Iterable[str]) -> float:
        """Seconds to read these corpora for a draw, as pairs."""
        return sum(self._work.sizes[name] for name in corpora) * self._seconds["draw: read"]

    def _corpora(self) -> Iterator[Jobs]:
        for name in self._work.read:
            lines = self._work.cleaned[name]
            sides = len(self._study.corpora.languages(name)) / 2  # of a pair
            entry = self._config.corpora[name]
            if entry.sample:
                subset = self._work.read[name] * sides * self._seconds["subset"]
                yield self._group(f"subset {name}", StudyStage.SUBSETS, subset)
            cleaned, shards = lines * sides * self._seconds["clean"], self._config.cleaning_shards
            yield self._group(f"clean {name}", StudyStage.CLEANING, cleaned, shards, after=[f"subset {name}"])
            way = "gather, drop duplicates" if entry.cleaning.duplicates else "gather"
            gathered = lines * sides * self._seconds[way]
            rule = "gather_unfiltered" if name in self._study.corpora.scored else "gather_clean"
            yield self._group(f"{rule} {name}", StudyStage.GATHERING, gathered, after=[f"clean {name}"])
        for name, corpus in self._study.mixtures.changed.items():
            changed = self._work.sizes[name] * self._seconds["draw: write"]
            yield self._group(f"change_source {name}", StudyStage.GATHERING, changed, after=[self._cleaned(corpus)])

    def _cleaned(self, corpus: str) -> str:
        """The group of jobs that makes a clean corpus."""
        return f"{'bound' if corpus in self._study.corpora.scored else 'gather_clean'} {corpus}"

    def _mixed(self, mixture: str) -> tuple[list[str], list[str]]:
        """The corpora of a mixture, and the groups of jobs that make them."""
        corpora = list(self._study.mixtures.drawn(mixture))
        return corpora, [self._made(mixture, name) for name in corpora]

    def _made(self, mixture: str, corpus: str) -> str:
        """The group of jobs that makes a corpus of a mixture."""
        if translations := self._study.teachers.translations(mixture):
            return f"gather_distilled {' '.join([*translations, corpus])}"
        return f"gather_back_translation {corpus}" if corpus in self._work.back_translated else self._cleaned(corpus)

    def _translations(self) -> Iterator[Jobs]:
        work, shards, gpus = self._work, self._distillation.shards, int(self._work.teachers_on_gpu)
        for corpus, sentences in work.sizes.items():
            changed = corpus in self._study.mixtures.changed
            made = f"change_source {corpus}" if changed else self._cleaned(corpus)
            lists = []
            for teacher in work.translators(corpus):
                after = [made, *(f"train {each}" for each in self._study.teachers.of(teacher))]
                if http := self._config.teachers[teacher].http if teacher in self._study.teachers.asked else None:
                    name, seconds, used = f"ask_shard {teacher} {corpus}", asking_seconds(http, sentences), 0
                else:
                    name, seconds = f"translate_shard {teacher} {corpus}", work.translation_seconds(teacher, sentences)
                    used = gpus
                lists.append(name)
                yield self._group(name, StudyStage.TRANSLATION, seconds, shards, gpus=used, after=after)
            rescored = [f"rescore_shard {name} {corpus}" for name in work.rescored(corpus)]
            for name, made in zip(rescored, work.rescored(corpus), strict=True):
                seconds = work.rescoring_seconds(made, sentences)
                yield self._group(name, StudyStage.RESCORING, seconds, shards, gpus=gpus, after=lists)
            yield from self._selections(corpus, sentences, [*lists, *rescored])

    def _back_translations(self) -> Iterator[Jobs]:
        work, shards, gpus = self._work, self._distillation.shards, int(self._work.teachers_on_gpu)
        for corpus in work.back_translated:
            sentences, stage = work.sizes[corpus], StudyStage.BACK_TRANSLATION
            lists, made = f"translate_shard {BACKWARD} {corpus}", f"back_translate_shard {corpus}"
            after = [self._cleaned(corpus), f"train {BACKWARD}"]
            seconds = work.translation_seconds(BACKWARD, sentences)
            yield self._group(lists, stage, seconds, shards, gpus=gpus, after=after)
            yield self._group(made, stage, sentences * self._seconds["select"], shards, after=[lists])
            gathered = sentences * self._seconds["gather"]
            yield self._group(f"gather_back_translation {corpus}", stage, gathered, after=[made])

    def _selections(self, corpus: str, sentences: int, lists: list[str]) -> Iterator[Jobs]:
        shards = self._distillation.shards
        for selection in sorted(self._work.selected.get(corpus, ())):
            name = " ".join([*selection, corpus])
            seconds = sentences * self._seconds["select"] + self._work.selection_seconds(selection, sentences)
            yield self._group(f"select_shard {name}", StudyStage.SELECTION, seconds, shards, after=lists)
            gathered = sentences * self._work.chosen(selection) * self._seconds["gather"]
            after = [f"select_shard {name}"]
            yield self._group(f"gather_distilled {name}", StudyStage.SELECTION, gathered, after=after)

    def _epochs(self) -> Iterator[Jobs]:
        epochs, seconds = self._distillation.epochs, self._seconds
        for mixture in sorted({system.mixture for system in self._work.learners}):
            (corpora, made), pairs = self._mixed(mixture), self._work.epoch(mixture)
            drawn = self._read(corpora) + pairs * seconds["draw: write"]
            if self._study.mixtures.aligner(mixture):
                made = [*made, "alignment_probabilities"]
                changes = self._study.mixtures.augmentation(mixture)
                drawn += pairs * (changes.share if changes else 0) * (seconds["encode"] + seconds["align"])
            yield self._group(f"sample {mixture}", StudyStage.EPOCHS, drawn * epochs, epochs, after=made)
            what = {"cores": THREADS, "after": [f"sample {mixture}", "vocabulary"]}
            yield self._group(
                f"encode {mixture}", StudyStage.EPOCHS, pairs * seconds["encode"] * epochs, epochs, **what
            )
            if any(system.training.alignment and system.mixture == mixture for system in self._work.trained):
                total, number = pairs * seconds["align"] * epochs, self._config.alignment.shards * epochs
                after = [f"encode {mixture}", "alignment_probabilities"]
                yield self._group(f"align_epoch_shard {mixture}", StudyStage.ALIGNMENT, total, number, after=after)
        yield from self._words()
        yield self._vocabulary()

    def _words(self) -> Iterator[Jobs]:
        number = self._distillation.shards * self._distillation.epochs
        for teacher, mixture, k in sorted(self._work.words):
            seconds = self._work.words_seconds(teacher, mixture)
            after = [f"sample {mixture}", *(f"train {each}" for each in self._study.teachers.of(teacher))]
            yield self._group(f"words_shard {teacher} {mixture} {k}", StudyStage.WORDS, seconds, number, after=after)

    def _vocabulary(self) -> Jobs:
        vocabulary, seconds = self._config.vocabulary, self._seconds
        of, train = vocabulary.of, self._study.corpora.train
        lines = 2 * (self._work.epoch(of) if of else sum(self._work.sizes[name] for name in train))
        total = lines * seconds["vocabulary: read"] + min(vocabulary.sentences, lines) * seconds["vocabulary: learn"]
        after = [f"sample {of}"] if of else [*map(self._cleaned, train)]
        return self._group("vocabulary", StudyStage.VOCABULARY, total, cores=THREADS, after=after)

    def _trainings(self) -> Iterator[Jobs]:
        stages = {BACKWARD: StudyStage.BACK_TRANSLATION, "teacher": StudyStage.TEACHERS}
        for system in self._work.learners:
            stage = stages.get(system.role, StudyStage.STUDENTS)
            reserved = self._reserved(system)  # several GPUs count as so many times as fast
            seconds = self._work.training_seconds(system) / (reserved["gpus"] or reserved["cores"])
            after = [f"encode {system.mixture}", f"train {system.start_from}"]
            after += [f"align_epoch_shard {system.mixture}"] if system.training.alignment else []
            if words := system.words:
                teacher = self._study.teachers.teaching(words.teacher)
                after.append(f"words_shard {teacher} {system.mixture} {words.k}")
            yield self._group(f"train {system.name}", stage, seconds, after=after, **reserved)

    def _reserved(self, system: Trained) -> dict[str, int]:
        gpus = system.training.gpus if self._work.trained_on_gpu(system) else 0
        return {"cores": system.training.threads, "gpus": gpus}

    def _alignment(self) -> Iterator[Jobs]:
        alignment, seconds, shards = self._config.alignment, self._seconds, self._config.alignment.shards
        corpora, augmentation = self._study.mixtures.aligned_corpora, self._study.mixtures.aligned_augmentation
        made = [self._made(mixture, name) for name, mixture in corpora.items()]
        pairs = sum(self._work.sizes[name] for name in corpora) * (1 + (augmentation.share if augmentation else 0))
        taught = min(pairs, alignment.pairs) * seconds["teach the aligner"]
        for name, total, number, after in (
            ("alignment_corpus", self._read(corpora) + pairs * seconds["draw: write"], 1, made),
            ("alignment_probabilities", taught, 1, ["alignment_corpus", "vocabulary"]),
            ("align_shard", pairs * (seconds["encode"] + seconds["align"]), shards, ["alignment_probabilities"]),
            ("extract_shard", pairs * seconds["extract phrases"], shards, ["align_shard"]),
            ("phrase_table", pairs * seconds["merge phrases"], 1, ["extract_shard"]),
        ):
            yield self._group(name, StudyStage.ALIGNMENT, total, number, after=after)

    def _end(self) -> Iterator[Jobs]:
        systems = [system.name for system in self._work.trained]
        for name in systems:
            yield self._group(
                f"export {name}", StudyStage.EXPORT, 0, MODEL_JOBS, after=[f"train {name}", "phrase_table"]
            )
        timed, after = sum(map(self._work.timing_seconds, self._work.measured)), [f"export {name}" for name in systems]
        yield self._group("benchmark", StudyStage.TIMING, timed, cores=None, after=after)
        yield self._group("report", StudyStage.REPORT, 0, REPORT_JOBS, after=["benchmark"])
