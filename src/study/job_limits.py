"""The minutes and megabytes that jobs on a cluster request, by the size of the study and shipped rates."""

from collections import defaultdict

from study import scoring
from study.asking import asking
from study.configuration import StudyConfiguration
from study.jobs import jobs
from study.rates import shipped
from study.resources import LARGE, LONGEST, SHORTEST, SPARE
from study.workload import Work

DAY = 24 * 60
ASKING_MEGABYTES, PLACE_BYTES = 1000, 200  # of distill.ask, which identifies languages, and of the place of an answer
LOADED_BYTES = 5  # per parameter of a teacher: float32, and a fifth for what it makes of them


class Requests:
    """On every machine the same for a configuration."""

    def __init__(self, config: StudyConfiguration):
        kept = shipped()
        self._work = Work(config, kept.rates)
        self._seconds: dict[str, float] = defaultdict(float)
        self._uncounted = {*map(scoring.rule, self._work.study.scores.uncounted)}
        for group in jobs(self._work, kept.text):
            rule = group.name.split()[0]
            self._seconds[rule] = max(self._seconds[rule], group.seconds)

    def minutes(self, rule: str) -> int:
        """Run time of the longest job of a rule, with a margin for other CPUs; a day where a size is not known, or how
        long a server takes."""
        minutes = round(SPARE * self._seconds[rule] / 60)
        return min(max(minutes, DAY if self._work.unknown or rule in self._uncounted else SHORTEST), LONGEST)

    def answers_megabytes(self, teacher: str) -> int:
        """Main memory of a job that asks a teacher, which holds the places of all its answers."""
        answers = sum(each.requests for each in asking(self._work) if each.teacher == teacher)
        return round(ASKING_MEGABYTES + PLACE_BYTES * answers / 1e6)

    def teacher_megabytes(self, *teachers: str) -> int:
        """Main memory of the weights of these teachers, all in float32; those of unknown size count as large ones."""
        parameters = [self._work.teacher_parameters(name) or LARGE for name in teachers]
        return round(LOADED_BYTES * sum(parameters) / 1e6)
