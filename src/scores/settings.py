"""What decides on the scores that programs compute, beside the files that they read, as a rule writes it."""

from typing import Annotated, Literal

from common.document import Count, Positive, Section, limits


class EmbeddingsSection(Section, kw_only=True):
    """The score `embeddings`: how near vectors of both sides are, which a server or a command makes of sentences of any
    language. Exactly one of address and command."""

    address: str | None = None
    """What /embeddings follows at a server with OpenAI's API, such as http://localhost:8080/v1."""
    model: str = ""
    """Name of the model, as the server knows it."""
    key: str | None = None
    """Name of the environment variable that has the key of the server. Never the key itself."""
    command: Annotated[str, limits(minLength=1)] | None = None
    """A program with its arguments. It reads a sentence a line, and writes for each a line of numbers, with spaces
    between them or as JSON."""
    prefix: str = ""
    """What stands before every sentence, such as "query: " for models of the family E5."""
    measure: Literal["margin", "cosine"] = "margin"
    """The cosine of the vectors of both sides; or its ratio to the mean cosine of each side and its nearest neighbours
    on the other one (Artetxe and Schwenk 2019), which compares pairs better: some sentences are near to all."""
    neighbours: Count = 4
    """Of a side, among the 2,000 pairs that are scored together."""
    batch: Count = 32
    """Sentences of a request."""
    concurrency: Count = 4
    """Requests at a time, of each shard."""
    timeout: Positive = 300
    """Seconds to wait for an answer."""


NO_SCORE = ("address", "key", "batch", "concurrency", "timeout")  # keys that change no score
