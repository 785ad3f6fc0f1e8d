"""How often the native engine gives the same translations as OpenNMT-tf and Marian with the same weights, in float32.

It covers every architecture of test_native_decoders.py (OpenNMT-tf) and test_native_marian.py (Marian) in tests/engine,
greedy and with beam 4. The models are those of the tests: small ones, OpenNMT-tf's with random weights, Marian's
trained for seconds to repeat random pieces. They have 90 pieces, so the words of a real text become pieces by number:
1,000 captions from the mirror folder, else sentences of the built-in grammar. For Marian they are cut to 1 to 10
pieces, the lengths that its models have learned.

OpenNMT-tf gives the probabilities; the search over them follows the native engine's rules, which are CTranslate2's: it
stops when as many translations have ended as the beam is wide. Marian continues with the rest of the beam and finds
longer translations, as a wider beam does here.

If two translations differ, the native engine scores both. They are a tie if their scores, log probabilities divided by
length, agree within 1e-4, so that rounding decides; otherwise one search has found a better translation. Nothing is
timed, so other programs may run meanwhile.
"""

import argparse
import gzip
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from plot import agreement_table

from corpora import grammar
from export import read_opennmt_tf
from formats import experiments, marian
from formats import opennmt_tf as opennmt_vocabulary
from measure import protocol
from nmt_frontier.bindings import isa
from nmt_frontier.command_line import positive
from nmt_frontier.errors import command
from nmt_frontier.files import write_json, write_text
from nmt_frontier.model import native_weights
from nmt_frontier.model.native_vocabulary import Vocabulary

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import decoders
import marian_models
from native import engine, outputs

CAPTIONS = "multi30k/test_2016_flickr.en.gz"  # in the mirror folder
TIE = 1e-4
LONGEST = 30  # pieces of a translation with OpenNMT-tf
TIMES = 3  # longest translation with Marian, in multiples of the source with its end
Scored = tuple[list[int], float]  # pieces, and their log probability divided by their number with the end


@dataclass(frozen=True)
class TwinModels:
    """The same weights in both engines. sources: sentences as numbers of the native engine's vocabulary.

    peer: translates all sources with the peer, for a beam size. longest: pieces of a translation.
    """

    worker: engine.Worker
    sources: list[list[int]]
    peer: Callable[[int], list[Scored]]
    longest: int

    def native(self, beam: int) -> list[Scored]:
        found = outputs(self.worker, self.sources, beam_size=beam, longest=self.longest, n_best=1)
        return [best[0] for best in found]

    def scores(self, sources: list[list[int]], targets: list[list[int]]) -> list[float]:
        """The native engine's scores of translations; one that was cut off has no end."""
        counts = [len(target) + (len(target) < self.longest) for target in targets]
        found = zip(self.worker.score(sources, targets), counts, strict=True)
        return [float(np.mean(scores[:count])) for scores, count in found]


def numbered(lines: list[str]) -> list[list[int]]:
    """Words as numbers of the models' pieces, in the order in which they first appear."""
    first: dict[str, int] = {}
    return [[first.setdefault(word, len(first)) % decoders.PIECES for word in line.split()] for line in lines]


def opennmt_tf(values: dict[str, Any], text: list[list[int]], folder: Path) -> TwinModels:
    model, pieces = decoders.built(values, **decoders.weights(values))
    read_opennmt_tf.of_model(model, pieces, folder).write("float32", folder / "float32")
    sources = [[len(opennmt_vocabulary.CONTROL) + number for number in sentence] for sentence in text]
    return TwinModels(
        worker(folder), sources, lambda beam: decoders.translations(model, sources, beam, LONGEST), LONGEST
    )


def of_marian(values: dict[str, Any], text: list[list[int]], folder: Path) -> TwinModels:
    model = marian_models.trained(values, folder)
    vocabulary = Vocabulary.read(folder / "float32")
    cut = [sentence[: 1 + place % marian_models.LONGEST] for place, sentence in enumerate(text)]
    named = [[marian_models.PIECES[number] for number in sentence] for sentence in cut]

    def peer(beam: int) -> list[Scored]:
        numbers = vocabulary.target_numbers
        found = marian_models.translations(model, named, beam, TIMES)
        return [([numbers[piece] for piece in pieces], score) for pieces, score in found]

    longest = TIMES * (max(map(len, named)) + 1)
    return TwinModels(worker(folder), [*map(vocabulary.numbers, named)], peer, longest)


PEERS = {"opennmt-tf": (decoders.SHAPES, opennmt_tf), "marian": (marian_models.SHAPES, of_marian)}


def worker(folder: Path) -> engine.Worker:
    return engine.Worker(engine.Model(folder / "float32" / native_weights.NAME))


def compared(twins: TwinModels, beam: int) -> dict[str, Any]:
    """How many translations are equal, and how the others differ."""
    native, peer = twins.native(beam), twins.peer(beam)
    scores = twins.scores(twins.sources, [pieces for pieces, _ in peer])
    rows = [*zip(native, peer, scores, strict=True)]
    gaps = [score - peer_score for (pieces, score), (others, _), peer_score in rows if pieces != others]
    all_three = zip(native, peer, twins.native(2 * beam) if beam > 1 else native, strict=True)
    found = sum(pieces != others == wide for (pieces, _), (others, _), (wide, _) in all_three)
    return {
        "sentences": len(rows), "equal": len(rows) - len(gaps), "ties": sum(abs(gap) <= TIE for gap in gaps),
        "ours_better": sum(gap > TIE for gap in gaps), "theirs_better": sum(gap < -TIE for gap in gaps),
        "wider": found if beam > 1 else None,
        "score_difference": max(abs(score - peer_score) for _, (_, score), peer_score in rows),
        "distinct": len({str(pieces) for pieces, _ in native}),
        "mean_pieces": float(np.mean([len(pieces) for pieces, _ in native])),
    }  # fmt: skip


def sentences(mirror: Path | None, count: int) -> tuple[str, list[str]]:
    """A name for the text, and its English sentences."""
    if mirror and (path := mirror / CAPTIONS).exists():
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return "captions of test_2016_flickr", file.read().splitlines()[:count]
    return "sentences of the built-in grammar", [english for english, _ in grammar.generate("de", "test", count, 1)]


def main() -> None:
    names = dict.fromkeys(name for shapes, _ in PEERS.values() for name in shapes)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", nargs="+", default=[*PEERS], choices=PEERS)
    parser.add_argument("--architectures", nargs="+", default=[*names], choices=names, metavar="NAME")
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=[1, 4])
    parser.add_argument("--sentences", type=positive, default=1000, help="(default: %(default)s)")
    parser.add_argument("--mirror", type=Path, default=os.environ.get("NMT_FRONTIER_MIRROR"), help="folder of corpora")
    parser.add_argument("--output", type=Path, required=True, help="JSON; a table .md is written beside it")
    args = parser.parse_args()
    if "marian" in args.peers:
        marian.require()
    text, lines = sentences(args.mirror, args.sentences)
    about = {"command": " ".join(["python", "benchmarks/agreement.py", *sys.argv[1:]]), "commit": protocol.commit()}
    about |= experiments.here() | {"isa": isa(), "text": text}
    result = about | {"pieces": decoders.PIECES, "longest": marian_models.LONGEST, "rows": []}
    for peer in args.peers:
        shapes, made = PEERS[peer]
        for name in (name for name in args.architectures if name in shapes):
            with tempfile.TemporaryDirectory() as folder:
                twins = made(shapes[name], numbered(lines), Path(folder))
                for beam in args.beam_sizes:
                    row = {"peer": peer, "architecture": name, "beam_size": beam, **compared(twins, beam)}
                    result["rows"].append(row)
                    print(f"{peer:<12}{name:<45}beam {beam}: {row['equal']:,} of {row['sentences']:,} equal")
            write_json(args.output, result)  # after each model, since one takes a minute
            write_text(args.output.with_suffix(".md"), agreement_table(result))


if __name__ == "__main__":
    command(main)
