"""What decides on the translations of teachers, beside the files that they read, as a rule writes it."""

from typing import Annotated, Any, Literal

from msgspec import field
from msgspec.structs import asdict

from common.document import UNIQUE, Count, Natural, Number, Positive, Section, Seed, Share, SomeShare, limits
from nmt_frontier.search.sampling import Sampling

Device = Literal["cpu", "cuda"]


class Tokenization(Section):
    """How a teacher that is not trained here splits text. The study's own SentencePiece model if null."""

    sentencepiece: str | Annotated[list[str], limits(minItems=2, maxItems=2)] | None = None
    """SentencePiece model, or one for the source and one for the target."""
    bpe: str | None = None
    """BPE codes (subword-nmt, fastBPE), applied to text that is split as the Moses tokenizer does (sacremoses, dashes
    split)."""


class Prefix(Section):
    """Pieces by which a teacher that is not trained here knows the languages, if it has several."""

    source: str | None = None
    """Pieces before every source, with spaces between them."""
    target: str | None = None
    """Pieces that every translation begins with and that are no text."""

    @property
    def pieces(self) -> tuple[list[str], list[str]]:
        return (self.source or "").split(), (self.target or "").split()


class TranslationSampling(Section):
    """Teachers draw n_best translations of a sentence from their probabilities, instead of searching for them with a
    beam (docs/decoding.md#sampling). It needs the native engine. Equal ones are kept once, with their number, the one
    with the highest score first. None if null."""

    temperature: Annotated[Number, limits(minimum=0.001, maximum=1000)] = 1.0
    """Pieces are drawn by probability^(1 / temperature): below 1 probable ones more often."""
    top_k: Annotated[int, limits(minimum=0, maximum=2**31 - 1)] = 0
    """Draws from so many of the most probable pieces, 0 from all."""
    top_p: SomeShare = 1.0
    """Draws from the fewest pieces that have this probability together."""
    epsilon: Annotated[Number, limits(minimum=0, exclusiveMaximum=1)] = 0.0
    """Draws from pieces of at least this probability (Hewitt et al. 2022)."""
    seed: Annotated[int, limits(minimum=0, maximum=2**31 - 1)] = 0
    """Another one draws other translations."""

    @property
    def of_engine(self) -> Sampling:
        return Sampling(**asdict(self))


class TranslationSettings(Section):
    """Of ``translate``, and of ``rescore``, which has no beam.

    languages: codes of the study's source and target language. tokenizations: of each teacher, None for the study's
    SentencePiece model. n_best: hypotheses to keep of a sentence, or to draw with ``sampling``. prefixes: of each
    teacher, if any has one.
    """

    languages: list[str]
    tokenizations: list[Tokenization | None]
    n_best: int = 1
    device: Device = "cpu"
    beam_size: int = 4
    prefixes: list[Prefix | None] = field(default_factory=list)
    sampling: TranslationSampling | None = None

    def prefix(self, number: int) -> Prefix:
        """Of a teacher, by its place."""
        return (self.prefixes[number] if self.prefixes else None) or Prefix()


BLANK = "<mask>"  # the piece that noise writes for a word


class Noise(Section):
    """Changes words of a translation; with the defaults as Edunov et al. 2018 do after a beam search. In a language
    without spaces a character is a word. None if null."""

    delete: Share = 0.1
    """Probability that a word is left out; one always stays."""
    blank: Share = 0.1
    """Probability that the piece <mask> stands for a word that stays."""
    swap: Natural = 3
    """Words change places at random, none by more than so many."""


class BackTranslationSettings(Section):
    """Of ``back_translation``. language: of the sources that it writes. tag: what they begin with."""

    language: str
    seed: Seed = 1
    noise: Noise | None = None
    tag: str | None = None


class Scores(Section, kw_only=True):
    """For mbr: scores by a program of another environment, such as COMET's, instead of the metric
    (docs/teachers-and-students.md#scores-from-elsewhere). None if null."""

    command: Annotated[str, limits(pattern=r"\S")]
    """A line for the shell. It reads lines of a source, a hypothesis and a reference with tabs between them, and writes
    a number for each, the higher the better."""
    references: bool = True
    """Each hypothesis is compared with each one as a reference, and the mean counts. Otherwise lines have no reference:
    the program estimates the quality of a hypothesis."""
    device: Device = "cpu"
    """With cuda each shard asks Snakemake for one gpu."""


class Example(Section):
    """A translation that the model is shown before it is asked."""

    source: str
    """Text in the source language."""
    target: str
    """Its translation, as every answer should look."""


class TokenPrices(Section):
    """What the tokens of a teacher cost, in USD a million."""

    input: Annotated[Number, limits(minimum=0)]
    """Of a prompt."""
    output: Annotated[Number, limits(minimum=0)]
    """Of an answer."""


class HttpSection(Section, kw_only=True):
    """A language model behind an HTTP server with OpenAI's API: vLLM, llama.cpp, Ollama, a provider. Its answers are
    checked and kept (docs/teachers-and-students.md#a-teacher-behind-http)."""

    address: str
    """What /chat/completions or /completions follows, such as http://localhost:8000/v1."""
    model: str
    """Name of the model, as the server knows it."""
    api: Literal["chat", "completions"] = "chat"
    """chat for models that follow instructions, completions for base models, which go on from a prompt with
    examples."""
    prompt: str | None = None
    """What is asked, with {text} for the text. If null, for chat a line that asks for the translation alone; for
    completions `English: {text}` and, on the next line, `German:`."""
    examples: list[Example] = field(default_factory=list)
    """Translations that stand before each text, in chat as turns of a conversation."""
    candidates: Count = 1
    """Answers to each text, each with a seed of its own; the n-best list has the different ones and its number. Their
    score is the logarithm of their share. Several need a temperature."""
    temperature: Annotated[Number, limits(minimum=0)] = 0
    """Of sampling; 0 takes the likeliest token."""
    top_p: SomeShare = 1
    """Sample from the likeliest tokens that have this probability together."""
    max_tokens: Count = 512
    """Longest answer, in the model's tokens. One that is cut off fails."""
    options: dict[str, Any] = field(default_factory=dict)
    """Further fields of a request that this server knows, such as top_k."""
    without: Annotated[list[Literal["temperature", "top_p", "max_tokens", "seed", "stop"]], UNIQUE] = field(
        default_factory=list
    )
    """Fields of a request that this server refuses. Without max_tokens, options need max_completion_tokens."""
    tries: Count = 3
    """How often a text is asked for each candidate, with another seed each time, until an answer passes the checks.
    Without a temperature most servers answer the same again: take 1."""
    concurrency: Count = 8
    """Requests at a time. One shard asks at a time."""
    timeout: Positive = 120
    """Seconds to wait for an answer."""
    budget: Positive | None = None
    """USD that the study may spend on this teacher. Before a request its highest price is added to what was spent; if
    the sum is higher, the job ends. Needs prices."""
    prices: TokenPrices | None = None
    key: str | None = None
    """Name of the environment variable that has the key of the server, such as OPENAI_API_KEY. Never the key itself:
    that is in no file, no log and no command line."""


NO_ANSWER = ("address", "concurrency", "timeout", "budget", "prices", "key")  # keys of Http that change no answer


class AskingSettings(Section):
    """Of ``ask``. languages: codes of the study's source and target language. ratio: of the longer text to the shorter
    one, in characters."""

    languages: list[str]
    seed: Seed
    http: HttpSection
    ratio: Number
