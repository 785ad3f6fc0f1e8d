"""What a study measures: vocabulary maps, decoding, speed, robustness; what the machine costs."""

from typing import Annotated, Literal

from msgspec import field

from common.document import SEVERAL, UNIQUE, Count, Natural, Number, Section, Share, limits
from findings.cost import Price

MaxNgram = Annotated[int, limits(minimum=1, maximum=3)]


class AlignmentSection(Section, kw_only=True):
    """Word alignment of what the students learn from, the first mixture of translations, or else the original data. For
    a training with a guided alignment, what was learned also aligns its epochs."""

    aligner: Literal["fast_align", "eflomal"] = "fast_align"
    """eflomal is no dependency, as it needs a C compiler; pip install eflomal==2.0.0."""
    pairs: Count = 1_000_000
    """Pairs that the aligner learns from, a sample of the mixture's corpora. Every pair of them is aligned once, some
    also as an augmentation changes them; weights do not matter."""
    shards: Count = 2
    """Parts that are aligned and counted at a time."""


class GridSection(Section, kw_only=True):
    """Lists of values instead of the knobs above, and all combinations are tried; `coverage` picks the map. Table 1 of
    WNMT 2018 has max_ngram 1, 2 and 3, min_frequency 1 and 2, meanings 50, 100 and 150."""

    max_ngram: Annotated[list[MaxNgram], SEVERAL] = field(default_factory=lambda: [1, 2, 3])
    """As above."""
    min_frequency: Annotated[list[Count], SEVERAL] = field(default_factory=lambda: [1, 2, 5])
    """As above."""
    meanings: Annotated[list[Count], SEVERAL] = field(default_factory=lambda: [20, 50, 100, 150])
    """As above."""
    unaligned: Annotated[list[Natural], SEVERAL] = field(default_factory=lambda: [100])
    """As above."""
    most_frequent: Annotated[list[Natural], SEVERAL] = field(default_factory=lambda: [50])
    """As above."""
    counted: Annotated[list[Literal["phrases", "links"]], SEVERAL] = field(default_factory=lambda: ["phrases"])
    """As above."""


class VocabularyMapSection(Section, kw_only=True):
    """Target pieces that the students may use, by n-grams of source pieces."""

    system: str | None = None
    """The system it is fitted to, trained here; the first student that CTranslate2 or the native engine decodes if
    null."""
    max_ngram: MaxNgram = 3
    """Longest source n-gram that brings target pieces."""
    min_frequency: Count = 2
    """A source n-gram brings a target piece if so many phrase pairs have both."""
    meanings: Count = 50
    """Target pieces that a source n-gram brings, the most frequent ones."""
    unaligned: Natural = 100
    """Target pieces that are most often unaligned, always on."""
    most_frequent: Natural = 50
    """Most frequent target pieces, always on; counted in an epoch, where corpora have their weights."""
    counted: Literal["phrases", "links"] = "phrases"
    """What brings target pieces, phrase pairs or single links; links are Marian's lexical shortlist."""
    grid: GridSection | None = None
    coverage: Annotated[Number, limits(minimum=0, maximum=100)] = 99.5
    """The map must allow this share, in per cent, of the pieces that the student translates the dev set into without a
    map."""


class DecodingSection(Section, kw_only=True):
    """What is measured, for teacher, students and controls, on all test sets and, to choose the best model, on the
    first dev set."""

    compute_types: Annotated[list[str], SEVERAL] = field(default_factory=lambda: ["float32", "int16", "int8"])
    """Types of the exported models. float16, bfloat16 (which needs PyTorch), int8_float16, int8_bfloat16 are computed
    in float32 where the CPU lacks them. int4 is the native engine's alone."""
    engines: Annotated[list[Literal["native"]], UNIQUE] = field(default_factory=lambda: ["native"])
    """Engines that models are exported to and measured with, beside OpenNMT-tf and CTranslate2. In the target all one
    that is not installed is left out of the benchmark, and a line at the start reports it."""
    in_every_engine: Annotated[list[str], UNIQUE] | None = None
    """Systems that are timed in every engine, which takes most of the time of a short study; the others in the native
    engine alone, if that is one of engines and has them. null times all systems in every engine."""
    beam_sizes: Annotated[list[Count], SEVERAL] = field(default_factory=lambda: [1, 4])
    """Beams; 1 is greedy search."""
    batch_tokens: Count = 512
    """Largest batch, in source tokens with padding."""
    runs: Count = 3
    """How often what decides the front is timed, and a teacher's decoding that a student's is compared with; tables
    have medians. All else is timed once: what another configuration beats by 1.3 times the speed with no less BLEU,
    OpenNMT-tf, and types that the CPU does not multiply natively (int16 outside Intel's CPUs, float16 where it is
    computed in float32)."""
    noise: Share = 0.1
    """Share of these cores that others may use meanwhile; a disturbed run is repeated up to three times, then marked as
    no result."""
    cores: Annotated[list[Natural], SEVERAL] = field(default_factory=lambda: [0])
    """Numbers of the cores that a measurement is pinned to; speed tables use the first of them, and all cores of
    Snakemake."""
    cpu: str | None = None
    """Part of the model name of the CPU to time on, as /proc/cpuinfo has it; a job that times something on another one
    ends in an error, so that a table is of one CPU. Any CPU without it."""
    workers: Count = 1
    """Batches that are decoded side by side, each by one thread; a worker needs a core of its own, so name as many
    under cores."""
    max_decoding_length: Count = 150
    """Longest translation, in pieces, by every model that the study exports and measures, wherever it decodes; it
    stands in their model.json. Distillation leaves out sentences of over 150 pieces, and training those over
    training.max_length, whatever this is."""


class MetricsSection(Section, kw_only=True):
    """COMET, a metric that was learned from the judgements of people."""

    comet: Annotated[str, limits(pattern="\\.ckpt$")]
    """The checkpoint of a COMET model on this disk, <model>/checkpoints/model.ckpt as it is published, with
    hparams.yaml in <model>. Nothing is downloaded."""
    comet_score: Annotated[str, limits(minLength=1)] = "comet-score"
    """The program comet-score of unbabel-comet, its name on PATH or its path. It needs an environment of its own, as
    its packages and TensorFlow's exclude each other."""


class SpeedSection(Section, kw_only=True):
    """What `snakemake speed` times on this machine, which is not part of `all`: the gain of each optimisation,
    OpenNMT-tf against all of them together, workers against threads (tables 5 and 6 and figure 2 of WNGT 2020). The
    first of the systems and the first of the untrained models are in all three, the others in table 6. CTranslate2 has
    Transformers with self-attention only; the native engine stands in for it elsewhere. All untrained models are in one
    table, too, in OpenNMT-tf and the native engine."""

    systems: Annotated[list[str], UNIQUE] = field(default_factory=list)
    """Systems of the study by name, with the seed and the mixture where these are part of it. They have BLEU, too. If
    neither these nor untrained models are named, all that another engine than OpenNMT-tf decodes, the students
    first."""
    untrained: Annotated[list[str], UNIQUE] = field(default_factory=list)
    """Names of shapes in src/formats/shapes.yaml. Models with random weights and the vocabulary and map of the study:
    the size of a paper's models, and their speed. Their translations of the first test set have as many pieces as its
    references. The system is called <shape>-untrained. OpenNMT-tf takes minutes for a run of them."""
    sentences: Count | None = None
    """Of the first test set, those that untrained models translate, the first ones; null takes all."""


class SearchSection(Section, kw_only=True):
    """What `snakemake search` measures of beams, batches, components and the pipeline."""

    system: str | None = None
    """The system it decodes with, trained here; that of the vocabulary_map if null."""
    sentences: Count = 500
    """Of the first test set, those that components and n-grams are timed with."""


class RobustnessSection(Section, kw_only=True):
    """What is translated, and by which systems. Nothing is timed."""

    systems: Annotated[list[str], UNIQUE] = field(default_factory=list)
    """Systems of the study by name; without any, all that are timed and that another engine than OpenNMT-tf decodes."""
    types: Annotated[list[str], SEVERAL] = field(default_factory=lambda: ["int8"])
    """Types of the weights, of CTranslate2 and the native engine, which decodes where both have a system."""
    beam_sizes: Annotated[list[Count], SEVERAL] = field(default_factory=lambda: [1])
    """Beams that systems are decoded with."""
    vocabulary_map: bool = True
    """Decode with the vocabulary map, as systems are shipped."""
    sentences: Count | None = None
    """Of the first test set, those that are perturbed, from its first one on; all if null."""


class PricesSection(Section, kw_only=True):
    """What the machine costs. All records have core-seconds per million words; without a machine they have no USD."""

    machine: Price | str | None = None
    """The machine the study runs on, by its name in src/findings/prices.yaml or as an entry like those. No USD if
    null."""
