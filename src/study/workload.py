"""The work of a study, which follows from its configuration: texts, translations, trainings, timing, bytes.

It counts operations, pieces and pairs; rates (study.rates) turn these into seconds. The constants were fitted to two
runs of the demo on two cores. GPUs were not measured: their speed is assumed.
"""

from collections.abc import Iterable
from enum import StrEnum
from functools import cached_property
from itertools import chain

from decode.engines.ctranslate2 import CTranslate2
from findings.comparison import BASELINE, compared
from formats.shape import Values, shape
from nmt_frontier.search.native import Native
from study.candidates import pairs
from study.configuration import StudyConfiguration
from study.plan import StudyPlan
from study.rates import WIDTH, Rates
from study.resources import TOKENS, cleaned_size, operations, read_size, size, trained_tokens
from study.systems import BACKWARD, TOKEN_ENSEMBLE, StudySystem, Trained, teacher_entry
from train import precision
from train.schedule import kept_checkpoints
from train.settings import TrainingSection

STEP = 2.1  # time of a training step over that of its layers' products: attention, adding gradients up, Adam
NARROW = 105  # units of a layer whose products take as long as everything else in it
SECOND_THREAD = 0.6  # speed that each further thread adds to a training, in threads
TRAINING_STARTS = 3.0  # start, tracing and evaluations of a training, in imports of TensorFlow
JOB_STARTS = 4.0  # time of a job of Snakemake before its work begins, in starts of Python
RUN_STARTS = 4.0  # time of a measured run before its work begins, in starts of Python
BASELINE_STARTS = 8.0  # an OpenNMT-tf beam-4 run over 1,000 short sentences, in imports of TensorFlow
AGAIN = 0.3  # share of the decoding that is timed again, as it may decide the front
GREEDY = 0.4  # time of greedy search over that of beam 4
NATIVE = 0.4  # the time of the native engine, as a share of CTranslate2's
# That share in distillation by type, one core of a Zen 3, beams of 4 and 8 (benchmarks/engine_distillation.py).
# int4's follows from int8's and from their batches of 32 sentences on a Zen 4.
NATIVE_TEACHER = {"float32": 0.8, "int16": 0.2, "int8": 0.5, "int4": 0.7}
SAMPLED = 4  # samples that take as long as the beam of 4 which the rates are of; assumed
# Seconds that an ensemble takes for the mean, for each model, hypothesis, step and piece of the vocabulary (Zen 4).
MEAN = 1e-9
TEST_SENTENCES = 1000  # of a test set of unknown size
MODEL_JOBS, REPORT_JOBS = 8, 70  # jobs per system and per study
# Bytes of a pair (results/reference/benchmarks/stages.json); a monolingual line has half of them.
RECORD_BYTES = 104  # compressed
PIECES_BYTES = 446  # both sides as the pieces that OpenNMT-tf reads
ALIGNED_BYTES = 210  # the pieces of both sides and their links, compressed; not measured
WORDS_BYTES = 5  # of each of k pieces at a place: compressed, and as text while students train (Multi30k, k 8)
CANDIDATE_BYTES = 20  # a translation in an n-best list: similar texts compress well; not measured
CHECKPOINT_BYTES = 12  # per parameter: the weights and Adam's two moments in float32
AVERAGE_BYTES = 4  # per parameter, beside these: their moving average
MODEL_BYTES = 4 + 4 + 2 + 1  # per parameter: OpenNMT-tf, float32, int16, int8
GPU_TRAINING = 20e12  # floating-point operations per second that a GPU is assumed to sustain in training and in scoring
GPU_DECODING = 2e12  # and in beam search


class StudyStage(StrEnum):
    """The stages of a study, in order."""

    FETCH = "fetching"
    SUBSETS = "random subsets"
    CLEANING = "cleaning"
    GATHERING = "gathering"
    SCORES = "scores of the corpora"
    BACK_TRANSLATION = "back-translation"
    TEACHERS = "training of teachers"
    TRANSLATION = "translation by the teachers"
    RESCORING = "rescoring by the ensemble"
    SELECTION = "selection of translations"
    VOCABULARY = "vocabulary"
    EPOCHS = "sampling and encoding of epochs"
    WORDS = "probabilities of words by the teachers"
    STUDENTS = "training of students"
    ALIGNMENT = "alignment and vocabulary map"
    EXPORT = "export"
    TIMING = "decoding and timing"
    REPORT = "scores and report"


class Work:
    """What a study has to do. Seconds are of one core, at the given rates.

    back_translated: the corpora that a backward teacher translates for a system. learners: what is trained, with it.
    scorers: the pairs that each model of scores learns from.
    unknown: corpora and models that count as nothing, as their size is not known yet.
    """

    def __init__(self, config: StudyConfiguration, rates: Rates):
        self.config, self.rates, self.study = config, rates, StudyPlan(config)
        native = self.study.teachers.engine == Native.name
        self._teachers_share = NATIVE_TEACHER[self.study.teachers.type] if native else 1.0
        self._entries = config.vocabulary.pieces
        self.trained = list(self.study.systems.trained.values())
        self.measured = [self.study.systems.trained[name] for name in self.study.systems.measured]
        entries = {name: config.corpora[name] for name in self.study.corpora.training}
        counts = ({name: of(entry) or 0 for name, entry in entries.items()} for of in (read_size, cleaned_size, size))
        self.read, self.cleaned, self.sizes = counts
        self.sizes |= {copy: self.sizes[corpus] for copy, corpus in self.study.mixtures.changed.items()}
        alone = self.study.corpora.target_only
        mixtures = {*(system.mixture for system in self.trained), *filter(None, [config.vocabulary.of])}
        drawn = {name for mixture in mixtures for name in self.study.mixtures.drawn(mixture)}
        self.back_translated = [name for name in alone if name in drawn]
        systems = self.study.systems.learners.values()
        self.learners = [each for each in systems if each.role != BACKWARD or self.back_translated]
        self.scorers = {name: self.drawn(each.corpora) for name, each in self.study.scores.scorers.items()}
        self.pairs = sum(number for name, number in self.sizes.items() if name not in alone)  # with the changed copies
        self.unknown = [name for name in self.read if not self.sizes[name]]
        self.unknown += [system.name for system in self.learners if not self.parameters(system)]
        elsewhere = [name for name in self.study.teachers.computed if not self.study.systems[name].shape]
        self.unknown += [f"teacher {name}" for name in elsewhere if not self.teacher_parameters(name)]

    def drawn(self, corpora: Iterable[str]) -> int:
        """Pairs of these corpora that scores learn from."""
        return min(self.study.scores.section.pairs, sum(self.cleaned[name] for name in corpora))

    def epoch(self, mixture: str) -> int:
        """Pairs of an epoch of a mixture."""
        sources = sum(self.sizes.get(name, 0) for name in self.study.mixtures.drawn(mixture))
        return self.config.distillation.epoch_pairs or pairs(self.config, mixture) * sources

    def parameters(self, system: StudySystem) -> float:
        return float(shape(system.shape or {}).parameters(self._entries) or 0)

    def teacher_parameters(self, name: str) -> float:
        """Parameters of a teacher, trained here or not, or of all that translate together; 0 if they are unknown."""
        if name == TOKEN_ENSEMBLE:
            return sum(map(self.teacher_parameters, self.study.systems.teachers))
        system = self.study.systems.get(name)
        if system and system.shape:
            return self.parameters(system)
        return float(teacher_entry(self.config, name).parameters or 0)

    def translated(self, teacher: str, sentences: float) -> float:
        """Pieces that a teacher translates, times its parameters."""
        return sentences * TOKENS * self.teacher_parameters(teacher)

    def scored(self, name: str, sentences: float) -> float:
        """Floating-point operations of rescoring lists: every teacher scores the translations of all teachers.

        A piece of either side passes half of the weights on average, which cost two operations each. This is an upper
        bound, as teachers may find the same translation.
        """
        hypotheses = self.study.teachers.lists[name].candidates.n_best * len(self.study.systems.teachers)
        return hypotheses * 2 * sum(self.translated(teacher, sentences) for teacher in self.study.systems.teachers)

    @cached_property
    def selected(self) -> dict[str, set[tuple[str, str]]]:
        """By corpus: the lists that systems learn from, each with how it is chosen from them, by their names."""
        mixtures = {system.mixture for system in self.trained}
        mixtures |= {self.study.mixtures.aligned, *filter(None, [self.config.vocabulary.of])}
        found: dict[str, set[tuple[str, str]]] = {}
        for mixture in sorted(mixtures):
            if translations := self.study.teachers.translations(mixture):
                for corpus in self.study.mixtures.drawn(mixture):
                    found.setdefault(corpus, set()).add(translations)
        return found

    def chosen(self, selection: tuple[str, str]) -> int:
        """The most pairs of a sentence, from lists and how is chosen from them."""
        most, choice = self.study.teachers.hypotheses(selection[0]), self.study.teachers.choices[selection[1]]
        return min(choice.keep or most, most)

    def selection_seconds(self, selection: tuple[str, str], sentences: float) -> float:
        """Seconds of a core to compare hypotheses."""
        lists, choice = selection
        return sentences * self.study.teachers.hypotheses(lists) * self.study.teachers.choices[choice].seconds

    @property
    def selections(self) -> set[tuple[str, str]]:
        """The pairs of ``selected`` over all corpora."""
        return set().union(*self.selected.values())

    def translators(self, corpus: str) -> list[str]:
        """The lists that teachers make of a corpus; all teachers together are one, if they translate token by token."""
        teachers = self.study.teachers
        needed = {part for name, _ in self.selected.get(corpus, ()) for part in teachers.parts(name)}
        return [name for name in (*teachers.translating, *teachers.asked) if name in needed]

    def rescored(self, corpus: str) -> list[str]:
        """The lists of a corpus that the ensemble makes of those of each teacher."""
        names = {name for name, _ in self.selected.get(corpus, ())}
        return [name for name in self.study.teachers.rescored if name in names]

    @property
    def rescores(self) -> bool:
        return any(map(self.rescored, self.selected))

    @property
    def teachers_on_gpu(self) -> bool:
        return self.config.distillation.device == "cuda"

    def translation_seconds(self, name: str, sentences: float) -> float:
        """Seconds of a core for lists, or of a GPU with two operations per parameter, hypothesis and piece; none over
        HTTP."""
        made = self.study.teachers.lists[name]
        translated = self.translated(made.teacher, sentences)
        if self.teachers_on_gpu:
            return translated * 2 * made.width / GPU_DECODING
        seconds = translated / 1e6 * self.rates.decoded * self._teachers_share
        if made.candidates.sampling:
            seconds *= max(made.width / SAMPLED, 1)
        if made.teacher == TOKEN_ENSEMBLE:
            searched = sentences * TOKENS * made.width * len(self.study.systems.teachers)
            seconds += searched * self._entries * MEAN
        return seconds

    def rescoring_seconds(self, name: str, sentences: float) -> float:
        """Seconds of a core or a GPU; products of whole sentences are as fast as those of a training."""
        operation = 1 / GPU_TRAINING if self.teachers_on_gpu else self.rates.product * self._teachers_share
        return self.scored(name, sentences) * operation

    @property
    def words(self) -> set[tuple[str, str, int]]:
        """What systems learn word by word: by which teacher, of which mixture, how many pieces."""
        taught = ((system, system.words) for system in self.trained if system.words)
        teaching = self.study.teachers.teaching
        return {(teaching(words.teacher), system.mixture, words.k) for system, words in taught}

    def words_seconds(self, teacher: str, mixture: str) -> float:
        """Seconds of a core for the probabilities of all epochs of a mixture; a piece passes half of the weights."""
        pairs = self.epoch(mixture) * self.config.distillation.epochs
        return 2 * self.translated(teacher, pairs) * self.rates.product * self._teachers_share

    def trained_on_gpu(self, system: Trained) -> bool:
        return system.training.device == "cuda"

    def training_seconds(self, system: Trained) -> float:
        return self.seconds_of(system.training, system.shape, self._entries, self.epoch(system.mixture))

    def scorer_seconds(self, scorer: str) -> float:
        """Of the training of a model of scores."""
        model, plan = self.config.scores and self.config.scores.model, self.study.scores
        return self.seconds_of(model.training, plan.shape, plan.section.pieces, self.scorers[scorer]) if model else 0.0

    def seconds_of(self, training: TrainingSection, values: Values, entries: int, epoch: int) -> float:
        """Core-seconds of a training, or GPU-seconds; several threads take more than one. epoch: pairs."""
        tokens, threads = trained_tokens(training, epoch), training.threads
        done = tokens * (operations(values, entries) or 0)
        if training.device == "cuda":
            return done / GPU_TRAINING
        width = getattr(shape(values), "units", WIDTH)
        wide = (1 + NARROW / width) / (1 + NARROW / WIDTH)  # wider layers take less time per operation
        seconds = STEP * wide * done * self.rates.product + tokens / 2 * entries * self.rates.logit
        if training.precision != precision.FLOAT32 and precision.pays(shape(values), "cpu"):
            seconds /= precision.GAIN
        seconds += TRAINING_STARTS * self.rates.tensorflow
        return seconds * threads / (1 + SECOND_THREAD * (threads - 1))

    def timing_seconds(self, system: Trained) -> float:
        """Seconds for all types and beams, with and without the map, on all test sets; some again on the first one.

        Students in int8 (without any, controls) also decode the first set sentence by sentence, once.
        """
        decoding, corpora = self.config.decoding, self.config.corpora
        tested = {name: entry for name, entry in corpora.items() if entry.role in ("test", "dev")}
        sizes = {name: size(entry) or TEST_SENTENCES for name, entry in tested.items()}
        first = sizes.pop(self.study.corpora.timed)
        repeated = system.role == compared(other.role for other in self.study.systems.values())
        again, types = 1 + AGAIN * (decoding.runs - 1), len(decoding.compute_types)
        piece = self.parameters(system) / 1e6 * self.rates.decoded * TOKENS
        searches = sum(GREEDY if beam == 1 else beam / 4 for beam in decoding.beam_sizes)
        seconds = 2 * searches * piece * types * (again * first + sum(sizes.values()))
        starts = 2 * len(decoding.beam_sizes) * types * again
        if repeated and "int8" in decoding.compute_types:
            seconds, starts = seconds + GREEDY * piece * first, starts + 1
        timed = self.study.models.timed(system.name)
        native, ctranslate2 = (
            any(engine.folder(type) in timed for type in decoding.compute_types) for engine in (Native, CTranslate2)
        )
        seconds *= ctranslate2 + NATIVE * native
        seconds += starts * (ctranslate2 + native) * RUN_STARTS * self.rates.python
        baseline = BASELINE in timed
        return seconds + baseline * BASELINE_STARTS * self.rates.tensorflow * first / TEST_SENTENCES

    def disk(self) -> dict[str, float]:
        """Bytes that each stage leaves. Gathering deletes the parts that cleaning makes."""
        config, names = self.config, self.study.corpora.training
        of_pair = {name: RECORD_BYTES * len(self.study.corpora.languages(name)) / 2 for name in names}
        cleaned = sum(of_pair[name] * self.cleaned[name] for name in names)
        sampled = sum(of_pair[name] * self.cleaned[name] for name in names if config.corpora[name].sample)
        chosen = sum(map(self.chosen, self.selections))
        epoch = (RECORD_BYTES + PIECES_BYTES) * config.distillation.epochs
        teaching = ("teacher", BACKWARD)
        teachers = sum(self._checkpoints(system) for system in self.learners if system.role in teaching)
        students = sum(self._checkpoints(system) for system in self.learners if system.role not in teaching)
        back = sum(self.sizes[name] for name in self.back_translated)  # n-best lists, parts and the whole
        scores = sum(of_pair[name] * self.cleaned[name] for name in self.study.corpora.scored)
        return {
            StudyStage.FETCH: sum(of_pair[name] * self.read[name] for name in names),
            StudyStage.SUBSETS: sampled,
            StudyStage.CLEANING: cleaned,
            StudyStage.GATHERING: cleaned,
            StudyStage.SCORES: scores + sum(map(self._scorer_bytes, self.scorers.values())),
            StudyStage.BACK_TRANSLATION: back * (RECORD_BYTES / 2 + CANDIDATE_BYTES + 2 * RECORD_BYTES),
            StudyStage.TEACHERS: teachers,
            StudyStage.TRANSLATION: self._list_bytes({*chain.from_iterable(map(self.translators, self.selected))}),
            StudyStage.RESCORING: self._list_bytes({*chain.from_iterable(map(self.rescored, self.selected))}),
            StudyStage.SELECTION: 2 * self.pairs * RECORD_BYTES * chosen,
            StudyStage.EPOCHS: epoch * sum(map(self.epoch, {system.mixture for system in self.learners})),
            StudyStage.WORDS: sum(WORDS_BYTES * k * TOKENS * self.epoch(mixture) for _, mixture, k in self.words)
            * config.distillation.epochs,
            StudyStage.STUDENTS: students,
            StudyStage.ALIGNMENT: self.pairs * (RECORD_BYTES + ALIGNED_BYTES),
            StudyStage.EXPORT: sum(map(self.parameters, self.trained)) * MODEL_BYTES,
        }

    def _list_bytes(self, names: Iterable[str]) -> float:
        """Of these n-best lists of all pairs."""
        numbers = (self.study.teachers.lists[name].candidates.n_best for name in names)
        return self.pairs * sum(RECORD_BYTES / 2 + CANDIDATE_BYTES * number for number in numbers)

    def _scorer_bytes(self, pairs: int) -> float:
        """Of a model of scores: what it learns from, and its checkpoints."""
        plan = self.study.scores
        assert plan.section.model
        parameters = shape(plan.shape).parameters(plan.section.pieces) or 0
        return pairs * (RECORD_BYTES + PIECES_BYTES) + kept_bytes(plan.section.model.training, parameters)

    def _checkpoints(self, system: Trained) -> float:
        return kept_bytes(system.training, self.parameters(system))


def kept_bytes(training: TrainingSection, parameters: float) -> float:
    """Of the checkpoints of a training."""
    size = CHECKPOINT_BYTES + (AVERAGE_BYTES if training.moving_average else 0)
    return parameters * size * kept_checkpoints(training.average_last, training.averages)
