"""The native engine against CTranslate2 in sampling: how many times faster it draws translations.

Both draw as many samples of each sentence from the same weights, with their scores, in the same batches, in turn, in
this process, on one core. A ratio divides the tokens of all samples per CPU second, run by run, as each engine has
random numbers of its own. CTranslate2 obeys its environment variables: try them, and publish the best.
"""

from pathlib import Path
from typing import Any, NamedTuple

from engine import PEER, cut, kept, measure, options, record

from formats import ctranslate2_loading
from measure import in_process
from measure.in_process import Session
from nmt_frontier import bindings
from nmt_frontier.errors import command
from nmt_frontier.limits import MAXIMUM_OUTPUT
from nmt_frontier.model import native_weights
from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.search.engine import Batch
from nmt_frontier.search.native import Native


class Way(NamedTuple):
    """Samples of a sentence, and what their pieces are drawn from."""

    samples: int
    top_k: int = 0
    temperature: float = 1.0


WAYS = (Way(1), Way(8), Way(8, temperature=0.7), Way(8, top_k=10), Way(64))
SIZE = "512t"  # of batches
SENTENCES = 320  # divided by the samples of each


def native(worker: bindings.Worker, vocabulary: Vocabulary, batches: list[Batch], way: Way) -> list[Batch]:
    """The pieces of all samples of each sentence, joined."""
    asked = bindings.Options(**way._asdict(), scores=True, longest=MAXIMUM_OUTPUT)
    found = []
    for batch in batches:
        lists = worker.translate([*map(vocabulary.numbers, batch)], asked)
        found.append([[piece for one in samples for piece in one.pieces] for samples in lists])
    return found


def peer(translator: Any, batches: list[Batch], way: Way) -> list[Batch]:
    """The same with CTranslate2."""
    asked = {"sampling_topk": way.top_k, "sampling_temperature": way.temperature, "num_hypotheses": way.samples}
    asked |= {"beam_size": 1, "return_scores": True, "max_decoding_length": MAXIMUM_OUTPUT, "min_decoding_length": 0}
    found = []
    for batch in batches:
        results = translator.translate_batch(batch, max_input_length=0, **asked)
        found.append([[piece for pieces in result.hypotheses for piece in pieces] for result in results])
    return found


def compared(model: Path, kind: str, sentences: Batch, session: Session) -> list[dict[str, Any]]:
    """The records of one model in one type, for every way."""
    folder = model / Native.folder(kind)
    worker, vocabulary = bindings.Worker(bindings.Model(folder / native_weights.NAME)), Vocabulary.read(folder)
    translator = ctranslate2_loading.translator(model / kind, compute_type=kind, intra_threads=1)
    rows = []
    for way in WAYS:
        batches = cut(sentences[: max(SENTENCES // way.samples, 20)], SIZE)
        outputs: dict[str, list[Batch]] = {}
        calls = {
            "native": kept(outputs, "native", native, worker, vocabulary, batches, way),
            PEER: kept(outputs, PEER, peer, translator, batches, way),
        }
        what = ", ".join(f"{name} {value}" for name, value in way._asdict().items())
        usages = in_process.timed(calls, session, [session.core], f"{kind}, {what}")
        row = record(model, kind, 1, SIZE, usages, outputs)
        del row["equal"]  # samples of two generators
        rows.append(row | way._asdict() | {"isa": bindings.isa(), "vocabulary_map": False})
    return rows


if __name__ == "__main__":
    command(lambda: measure(options(__doc__, ("float32", "int8")).parse_args(), compared))
