"""The vocabulary and the models of a study, teachers and students, and what these learn from."""

from typing import Annotated, Any, Literal

from msgspec import field

from common.document import (
    NOT_EMPTY,
    SEVERAL,
    UNIQUE,
    Count,
    Name,
    Number,
    Positive,
    Section,
    Seed,
    SomeShare,
    limits,
    written,
)
from distill.settings import BLANK, Device, HttpSection, Noise, Prefix, Scores, Tokenization, TranslationSampling
from export.settings import Converted
from train.settings import StartLayers, TrainingSection, WordsSection

CASES = ("upper_case", "title_case", "lower_case")
ENDS = ("no_final_punctuation", "doubled_punctuation")
COPIED = ("url", "email", "number", "emoji", "placeholder", "foreign_word", "tag", "protected")
PartialShare = Annotated[Number, limits(exclusiveMinimum=0, exclusiveMaximum=1)]
Symbol = Annotated[str, limits(pattern=r"^[^\s▁]+$", **{"not": {"enum": ["<blank>", "<unk>", "<s>", "</s>"]}})]
MeantRule = Annotated[str, limits(enum=[*CASES, "typos"])]
SourceRule = Annotated[str, limits(enum=[*CASES, "typos", *ENDS, "joined", "fragment"])]
Rule = Annotated[str, limits(enum=[*CASES, *ENDS, *COPIED, "joined"])]
Decoder = Literal["self-attention", "averaging", "averaging-gated", "averaging-ungated", "averaging-plain", "ssru"]


class VocabularySection(Section, kw_only=True):
    """One joint SentencePiece model. Characters of scripts that neither language is written in are removed from its
    text first (WNGT 2020, section 2.3); digits, punctuation and marks stay."""

    type: Literal["unigram", "bpe"] = "unigram"
    """Algorithm of SentencePiece, a unigram language model or byte-pair encoding (bpe) as in the papers of 2018."""
    pieces: Annotated[int, limits(minimum=100, maximum=65535)] = 4000
    """Size of the vocabulary, in pieces; the phrase table keeps the number of a piece in two bytes, hence the
    maximum."""
    character_coverage: Annotated[Number, limits(exclusiveMinimum=0.9, maximum=1)] = 1.0
    """Share of the characters of the text that get a piece; 0.9995 suits languages with thousands of characters."""
    normalization: Literal["nmt_nfkc", "identity"] | None = None
    """How SentencePiece changes characters before it splits text. nmt_nfkc writes full-width letters and punctuation in
    half width, ™ as TM and ² as 2, in translations, too; identity changes none. If null, identity where a language of
    the study is Chinese or Japanese, which have full-width punctuation, else nmt_nfkc."""
    byte_fallback: bool = False
    """256 of the pieces are bytes, and a character that no other piece has (an emoji, another script) is written in the
    bytes of its UTF-8 instead of being lost as <unk>. Bytes that are no UTF-8 become U+FFFD in a translation.
    Vocabulary maps allow all bytes where the source has one. New studies set it; a paper that says nothing of it has
    none."""
    split_digits: bool = False
    """Every digit is a piece of its own, so that a number is copied digit by digit. New studies set it."""
    symbols: Annotated[list[Symbol], UNIQUE] = field(default_factory=list)
    """Pieces that are never split, such as <url>; they count among pieces. A study that teaches to copy symbols
    (augmentation `protected`) also has ⟦1⟧ to ⟦16⟧."""
    of: str | None = None
    """Name of a mixture. SentencePiece then learns from an epoch of this mixture; for distilled mixtures these are the
    sources and the teachers' translations (WNGT 2020), so their teachers must come from elsewhere and have a
    tokenization of their own. If null, SentencePiece learns from the bilingual corpora with their original targets."""
    sentences: Count = 2_000_000
    """Sentences of either side, drawn from that text to train the model on."""


class ModelShapeSection(Section, kw_only=True):
    """Name of a shape in src/formats/shapes.yaml, or the numbers; with `like`, what differs from a named one. A
    recurrent model has a cell, or transitions. Any other model of OpenNMT-tf is a `model`."""

    like: str | None = None
    """A named shape that this one differs from."""
    model: str | None = None
    """A model of OpenNMT-tf's catalogue, such as TransformerBaseRelative, or a Python file with a function `model`;
    nothing else is given then."""
    cell: Literal["lstm", "gru"] | None = None
    """Of a recurrent model."""
    encoder_layers: Count | None = None
    """Layers of the encoder."""
    decoder_layers: Count | None = None
    """Layers of the decoder."""
    units: Count | None = None
    """Width of the model; a multiple of the number of heads. Of both directions together in a bidirectional encoder."""
    ffn_units: Count | None = None
    """Width of the feed-forward layers of a Transformer."""
    heads: Count | None = None
    """Attention heads of a Transformer."""
    decoder: Decoder | None = None
    """How a Transformer's decoder looks back at its output. averaging: the mean of all inputs, with a feed-forward
    layer and a gate; with the gate alone; without it; plain. ssru: a simple recurrent cell. CTranslate2 has
    self-attention only; the native engine and OpenNMT-tf have all."""
    encoder_transitions: Count | None = None
    """Gated recurrent units that a step of the encoder passes, in Nematus' recurrent model."""
    decoder_transitions: Annotated[int, limits(minimum=2)] | None = None
    """Gated recurrent units that a step of the decoder passes, with the attention behind the first one. A shape with
    transitions is Nematus' conditional GRU: an encoder of one layer in both directions with so many units each, and a
    decoder that attends inside its step."""
    fully_connected_layers: Count | None = None
    """Layers above a decoder of one gated recurrent unit with additive attention, and an encoder of one such layer in
    both directions: the deep models of Devlin 2017."""
    fully_connected_units: Count | None = None
    """Width of these layers."""
    embedding_units: Count | None = None
    """Width of the embeddings of a recurrent model."""
    bidirectional: bool | None = None
    """Encoder of a recurrent model in both directions."""
    share_embeddings: bool = False
    """One matrix for the source and target embeddings and the output layer."""


class TeacherSection(Section, kw_only=True):
    """One teacher."""

    shape: Annotated[ModelShapeSection, written(ModelShapeSection | str)] | None = None
    """Size of a teacher that is trained here."""
    training: TrainingSection | None = None
    """How it is trained."""
    seed: Seed | None = None
    """Of its training. That of the study if null."""
    mixture: str | None = None
    """What it learns from: a mixture with original targets, which may have back-translations. The mixture `original`,
    that is the bilingual corpora, if null."""
    start_from: str | None = None
    """What its training begins with, as with students. Random weights if null."""
    checkpoint: str | None = None
    """Folder of an OpenNMT-tf run, with model_description.py and vocabulary.txt (or the study's vocabulary) beside its
    checkpoints."""
    ctranslate2: str | None = None
    """Folder of a CTranslate2 model."""
    converted: Converted | None = None
    http: HttpSection | None = None
    parameters: Count | None = None
    """Number of parameters of a teacher that is not trained here; the estimate of time needs it."""
    tokenization: Tokenization | None = None
    prefix: Prefix | None = None


class DistillationSection(Section, kw_only=True):
    """The teachers translate the source of the training and the monolingual corpora."""

    beam_size: Count = 4
    """Beam of the teachers."""
    n_best: Count = 1
    """Hypotheses for a sentence, at most the beam size, or samples with sampling. Where an ensemble rescores, all
    teachers score the n best of each teacher, and the n best of these are kept. Mixtures of other targets than best
    need more than one."""
    sampling: TranslationSampling | None = None
    """Draws the hypotheses. Searches for them with the beam if null."""
    shards: Count = 4
    """Parts of a corpus that are translated side by side; a killed job resumes after its last 20,000 sentences."""
    device: Device = "cpu"
    """What the teachers run on; with cuda each shard asks Snakemake for one gpu, and so many run side by side."""
    batch_tokens: Count | None = None
    """Size of the teachers' batches in CTranslate2, in tokens with padding; null takes 2,048 on a CPU and 6,000 on a
    GPU."""
    engine: Literal["native", "ctranslate2"] | None = None
    """What the teachers translate with. null takes native (docs/engine.md) on a CPU if all teachers are trained here
    and of a shape that it decodes, else ctranslate2. Where native is not installed, a line at the start reports it, and
    CTranslate2 translates in float32; teachers that it does not decode need native. Teachers from elsewhere are
    converted for native where it is named, and need it then."""
    compute_type: str | None = None
    """Type that the teachers compute in while they translate. null takes what is exact on every machine: on a CPU int8
    in the native engine, float32 in CTranslate2, whose int8 is exact on CPUs with VNNI instructions alone; float16 on
    cuda."""
    epochs: Count = 1
    """Epochs that are drawn one after the other, each its own sample; training goes through them again if it is
    longer."""
    epoch_pairs: Count | None = None
    """Pairs drawn for an epoch of any mixture with the weights of its corpora, for teachers trained here, too; null
    draws as many as the corpora hold together."""


class BackTranslationSection(Section, kw_only=True):
    """A backward teacher translates the corpora with the role monolingual_target into the source language, with the
    engine, the type and the shards of `distillation`. A mixture with original targets that names such a corpus among
    its weights draws these pairs (Sennrich et al. 2016); no other does. None if null."""

    teacher: TeacherSection
    """From the target language into the source: an entry like those of `teachers`, trained here or from elsewhere. It
    is no system: neither timed nor exported."""
    beam_size: Count = 4
    """Its beam."""
    sampling: TranslationSampling | None = None
    """Draws a translation instead. Searches with the beam if null."""
    noise: Noise | None = None
    tag: Symbol | None = None
    """A piece that every back-translated source begins with, such as <BT> (Caswell et al. 2019); it is added to the
    vocabulary's symbols, and so is <mask> if noise writes it. None if null."""

    @property
    def symbols(self) -> list[str]:
        """The pieces that only back-translations have."""
        return [*([self.tag] if self.tag else []), *([BLANK] if self.noise and self.noise.blank else [])]


class AugmentationSection(Section, kw_only=True):
    """What is changed in the pairs of an epoch, by rule, with the share of the pairs that each rule changes."""

    source: dict[SourceRule, PartialShare] = field(default_factory=dict)
    """Rules that change a source before the teachers translate it. They translate a changed copy of every corpus beside
    the corpus, and an epoch without epoch_pairs is as long as both together. The shares add up to less than 1."""
    meant: dict[MeantRule, SomeShare] = field(default_factory=dict)
    """Rules that change the source of a finished pair alone, whose target is a translation of what was meant. With
    those of both_sides they add up to 1 at most."""
    both_sides: dict[Rule, SomeShare] = field(default_factory=dict)
    """Rules that change both sides of a finished pair, which stays true."""
    places: Literal["edges", "aligned"] = "edges"
    """Where rules of both_sides put text: at the edges of a pair, or half of it inside, at places that the links of its
    words show to be alike. These are the study's alignment, so an epoch waits for that."""


class CandidatesSection(Section, kw_only=True):
    """Translations that a mixture has instead of those of distillation, by the same teachers. Their lists are made
    beside the others; mixtures with equal candidates share them."""

    n_best: Count
    """Hypotheses for a sentence, at most the beam size, or samples with sampling."""
    beam_size: Count | None = None
    """Beam of the teachers. That of distillation if null."""
    sampling: TranslationSampling | None = None
    """Draws the hypotheses. Searches for them with the beam if null."""


class MixtureSection(Section, kw_only=True):
    """A mixture of corpora, with the original targets or with those of the teachers."""

    targets: Literal["original", "best", "interpolated", "mbr", "all"] = "best"
    """original (bilingual corpora, and back-translations that weights names), best (the hypothesis the teachers like
    best; Kim and Rush 2016) or interpolated (of the n-best the one with the highest sentence BLEU against the original
    target; best for monolingual corpora), mbr (of the n-best the one with minimum Bayes risk: the highest expected
    sentence BLEU against all of them; Kumar and Byrne 2004) or all (each of the n-best, with its source, is a pair;
    without epoch_pairs, an epoch is as much longer)."""
    teacher: str | None = None
    """The teacher whose translations these are, or a student above those that learn from them, by the name of its
    system (docs/teachers-and-students.md#chains). All teachers together, an ensemble, if null."""
    ensemble: Literal["rescoring", "token_by_token", "union"] = "rescoring"
    """How several teachers make translations together (teacher: null). With rescoring each translates, and all of them
    score the whole translations of each; they may have several vocabularies and any engine. With token_by_token they
    translate as one: their probabilities are averaged at every step. That needs the native engine and one vocabulary.
    With union each translates, and targets that compare hypotheses choose among those of all; nothing is scored
    anew."""
    candidates: CandidatesSection | None = None
    scores: Scores | None = None
    metric: Literal["bleu", "chrf"] = "bleu"
    """How alike hypotheses are, for mbr and different: sacreBLEU's sentence BLEU, or its chrF."""
    aggregate: bool = False
    """For mbr by chrf: compares each hypothesis with the mean of the n-gram counts of all instead of with each of them
    (Vamvas and Sennrich 2024), in time that grows with their number, not its square."""
    keep: Count | None = None
    """Hypotheses of a sentence, each with its source a pair: of mbr those of least risk, one if null; of all the best
    ones, each if null."""
    different: bool = False
    """all keeps the best hypothesis, and then those that are least like the ones before, instead of the best ones."""
    weights: Annotated[dict[Name, Positive], NOT_EMPTY] | None = None
    """Corpora with their weights. All training and, but for original, monolingual corpora with their own weights if
    null. With original targets, those with the role monolingual_target are their back-translations."""
    drop_worst: Annotated[Number, limits(minimum=0, exclusiveMaximum=100)] = 0
    """Per cent of the pairs of every corpus that are left out, those with the lowest score."""
    augmentation: Annotated[AugmentationSection, NOT_EMPTY] | None = None
    """Pairs of every epoch that are changed after they are drawn (docs/teachers-and-students.md#augmentation). None if
    null."""


class StudentSection(Section, kw_only=True):
    """A small model."""

    shape: Annotated[ModelShapeSection, written(ModelShapeSection | str)]
    """Size of the student."""
    mixtures: Annotated[list[str], SEVERAL] | None = None
    """What it learns from, each a system of its own. The first mixture of the study if null."""
    seeds: Annotated[list[Seed], SEVERAL] | None = None
    """Seeds, each a system of its own; tables give their mean and spread, the first one is timed. That of the study if
    null. A second seed renames the system of the first one, which is trained again."""
    start_from: str | None = None
    """What its training begins with: the averaged weights of a system of the same shape that is trained here (a
    teacher, or one of a student above), or a folder (a name with a slash) with an OpenNMT-tf checkpoint of this shape.
    With vocabulary.txt beside it, pieces that the study's vocabulary has, too, keep their weights. Random weights if
    null."""
    start_layers: StartLayers | None = None
    """The layers of start_from that its own layers begin with, counted from 0, one for each of them, such as {encoder:
    [0, 2], decoder: [0]} (Shleifer and Rush 2020). The two shapes may then differ in their numbers of layers alone. All
    layers, of a model of the same shape, if null."""
    words: WordsSection | None = None
    training: Annotated[TrainingSection, written(dict[str, Any], default={})]
    """Where its training differs from student_training; checked when both are put together."""
