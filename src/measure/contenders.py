"""Which configurations are timed again: those whose place on the front further runs may decide.

One run tells apart what differs in speed by more than runs of the same do. So a configuration that another one beats by
that much, with no less BLEU on any set that both decoded, is timed once, and its record says so (``runs``).
"""

from collections.abc import Iterator, Mapping
from functools import cache

from findings.metrics import bleu
from formats import records
from measure.bootstrap import Scorer
from measure.configuration import Benchmark, Configuration
from measure.kept_runs import KeptRun, translation

CLEAR = 1.3  # times as fast: of 42 configurations of the demo, 38 had three runs within 1.27, beside a training

Scores = Mapping[str, float]  # BLEU by the name of the test set


def contenders(runs: Mapping[Configuration, KeptRun], shared: Benchmark) -> set[Configuration]:
    """What no other configuration clearly beats, and the teachers' configurations that decode as one of these does.

    runs: the first of each configuration.
    """
    scored = scores(runs, shared)
    speeds = {configuration: speed(run) for configuration, run in runs.items()}

    def beaten(one: Configuration) -> bool:
        faster = (other for other in runs if speeds[other] >= CLEAR * speeds[one])
        return any(no_worse(scored[other], scored[one]) for other in faster)

    unbeaten = {configuration for configuration in runs if not beaten(configuration)}
    ways = {way(configuration) for configuration in unbeaten}
    teachers = (each for each in runs if each.model.description.role == "teacher")
    return unbeaten | {teacher for teacher in teachers if way(teacher) in ways}


def scores(runs: Mapping[Configuration, KeptRun], shared: Benchmark) -> dict[Configuration, Scores]:
    """BLEU of each configuration on each set that it decoded, if the set has references."""
    paths = dict(shared.test_sets)

    @cache
    def scorer(name: str, language: str, sentences: int) -> Scorer | None:
        references = records.references(paths[name], sentences)
        return Scorer(bleu(language, references=[references])) if references else None

    def scored(configuration: Configuration, run: KeptRun) -> Iterator[tuple[str, float]]:
        for name, row in run.test_sets.items():
            if found := scorer(name, configuration.model.description.target or "", row.sentences):
                outputs = records.read_output(translation(shared, configuration, name), row.sentences)
                yield name, found.score(found.statistics(outputs).sum(0))

    return {configuration: dict(scored(configuration, run)) for configuration, run in runs.items()}


def speed(run: KeptRun) -> float:
    """Source words a second of the timed test set."""
    timed = next(iter(run.test_sets.values()))
    return timed.source_words / timed.text_seconds


def no_worse(one: Scores, other: Scores) -> bool:
    return all(one[name] >= other[name] for name in one.keys() & other.keys())


def way(configuration: Configuration) -> tuple[str, int, bool, int | None]:
    """How a configuration decodes, whatever its system."""
    about = configuration
    return about.model.path.name, about.beam_size, about.vocabulary_map, about.batch_sentences
