"""Score pairs by vectors of their sides, from a server with OpenAI's API or from a command.

The margin of a pair is its cosine over the mean cosine of each side and its nearest neighbours on the other one
(Artetxe and Schwenk 2019, arXiv 1811.01136), which are looked for among the pairs that are scored together.
"""

import json
import shlex
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from common.document import argument
from corpora.scores import number_in
from distill.http_teacher.server import OTHER, Connection, Unreadable, message
from nmt_frontier.errors import UserError, command
from scores import shards
from scores.settings import EmbeddingsSection

TOGETHER = 2000  # pairs: a part of the output, and where neighbours are looked for

Vectors = NDArray[np.float32]  # [sentences, dimensions], of length 1
Embed = Callable[[list[str]], Vectors]


def of_server(settings: EmbeddingsSection) -> Embed:
    """Vectors from a server. Raises UserError as Connection, and for an answer that is none."""
    assert settings.address
    url = f"{settings.address.rstrip('/')}/embeddings"
    connection = Connection(url, settings.key, settings.concurrency, float(settings.timeout))
    failed: list[UserError] = []  # so that requests which wait for a worker do not try as long again

    def asked(texts: list[str]) -> list[list[float]]:
        if failed:
            raise failed[0]
        try:
            return answered(texts)
        except UserError as error:
            failed.append(error)
            raise

    def answered(texts: list[str]) -> list[list[float]]:
        body = json.dumps({"model": settings.model, "input": texts, "encoding_format": "float"}).encode()
        status, text, _ = connection.post(body)
        if status != 200:
            raise UserError(f"{url}: HTTP {status}: {message(text)}; the same command goes on")
        try:
            return vectors_in(text, len(texts))
        except Unreadable as error:
            raise UserError(f"{url}: {error}; the same command goes on") from None

    def embed(texts: list[str]) -> Vectors:
        batches = [texts[start : start + settings.batch] for start in range(0, len(texts), settings.batch)]
        with ThreadPoolExecutor(settings.concurrency) as pool:
            return unit([vector for found in pool.map(asked, batches) for vector in found], url)

    return embed


def vectors_in(text: str, number: int) -> list[list[float]]:
    """The vectors in a response, in the order of the request. Raises Unreadable."""
    try:
        found = sorted(json.loads(text)["data"], key=lambda each: each["index"])
        vectors: list[list[float]] = [each["embedding"] for each in found]
    except OTHER:
        raise Unreadable(f"no embeddings: {message(text)!r}") from None
    if [each["index"] for each in found] != [*range(number)]:
        raise Unreadable(f"{len(found)} embeddings of {number} sentences, or not one `index` for each")
    return vectors


def of_command(settings: EmbeddingsSection) -> Embed:
    """Vectors from a program. Raises UserError if it fails, or writes something else."""
    assert settings.command
    words = shlex.split(settings.command)

    def embed(texts: list[str]) -> Vectors:
        try:
            done = subprocess.run(words, input="".join(f"{text}\n" for text in texts).encode(), capture_output=True)
        except OSError as error:
            raise UserError(f"scores.embeddings.command: {words[0]}: {error.strerror}") from None
        said = done.stderr.decode(errors="replace").strip().rpartition("\n")[2][:200]
        if done.returncode:
            raise UserError(f"scores.embeddings.command: {words[0]} failed ({done.returncode}): {said}")
        lines = done.stdout.decode(errors="replace").splitlines()
        if len(lines) != len(texts):
            raise UserError(
                f"scores.embeddings.command: {words[0]} wrote {len(lines)} lines for {len(texts)} sentences"
            )
        cells = [line.strip(" []").replace(",", " ").split() for line in lines]
        if wrong := next((cell for row in cells for cell in row if number_in(cell) is None), None):
            raise UserError(f"scores.embeddings.command: {words[0]} wrote no numbers: {wrong!r}")
        return unit([[*map(float, row)] for row in cells], words[0])

    return embed


def unit(rows: Sequence[Sequence[float]], origin: str) -> Vectors:
    """The rows with length 1. Raises UserError for rows of different lengths, and for what has no direction."""
    try:
        if len({len(row) for row in rows}) != 1:
            raise UserError(f"{origin}: vectors of different lengths")
        with np.errstate(over="ignore"):  # becomes infinite
            vectors = np.array([[*map(float, row)] for row in rows], np.float32)
    except (ValueError, TypeError, OverflowError):
        raise UserError(f"{origin}: vectors that are no numbers") from None
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and lengths.all()):
        raise UserError(f"{origin}: a vector that is zero or not finite")
    found: Vectors = vectors / lengths
    return found


def cosine(sources: Vectors, targets: Vectors) -> NDArray[np.float64]:
    """Of each pair: float64[pairs]."""
    found: NDArray[np.float64] = (sources * targets).sum(1, dtype=np.float64)
    return found


def margin(sources: Vectors, targets: Vectors, neighbours: int) -> NDArray[np.float64]:
    """The ratio margin of each pair: float64[pairs]."""
    cosines = (sources @ targets.T).astype(np.float64)
    k = min(neighbours, len(cosines))
    means = [np.partition(each, -k, axis=1)[:, -k:].mean(1) for each in (cosines, cosines.T)]
    found: NDArray[np.float64] = cosine(sources, targets) / np.maximum((means[0] + means[1]) / 2, 1e-6)
    return found


def main() -> None:
    parser = shards.options(__doc__)
    parser.add_argument("settings", type=argument(EmbeddingsSection), help="JSON of scores.settings")
    parser.add_argument("--watched", help="what of them decides on the scores (default: all)")
    args = parser.parse_args()
    settings: EmbeddingsSection = args.settings
    embed = of_server(settings) if settings.address else of_command(settings)

    def score(pairs: list[shards.Pair]) -> list[float]:
        vectors = embed([f"{settings.prefix}{text}" for side in zip(*pairs, strict=True) for text in side])
        sources, targets = np.split(vectors, 2)  # of one call, so that all have the same length
        found = (
            margin(sources, targets, settings.neighbours) if settings.measure == "margin" else cosine(sources, targets)
        )
        return [*map(float, found)]

    if args.watched:
        del args.settings  # another address makes no part again
    shards.write(args, [], score, "embeddings", together=TOGETHER)


if __name__ == "__main__":
    command(main)
