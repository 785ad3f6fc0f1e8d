"""What vocabulary maps cost and save: one model decoded with many maps, in batches of several sizes.

All on one core, greedily, the maps in turn, run after run; the clock is on decoding alone, without loading and
tokenization. In the first run the number of candidates of the first batches is read back from the engine, and must be
that of the map: so the map was really used. ``--steps`` decodes a fixed number of pieces a sentence instead, whatever
the model says, with one map more that lets nothing through: the time that is then left is not the output layer's.
"""

import argparse
import functools
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import ctranslate2
import numpy as np

from decode import engines, machine
from decode.engines import Batch
from decode.measure import pin, sources
from decode.pipeline import batches
from decode.score import TestSet, p_value
from decode.tokenizer import Tokenizer
from decode.translate import positive
from formats import records
from formats.decoding import compute_type, longest_output
from formats.errors import UserError, command
from formats.files import write_json, write_text
from formats.loading import translator
from formats.progress import progress
from formats.vocabulary_map import VocabularyMap

WHOLE = "whole"  # vocabulary
NOTHING = "nothing"  # but <unk>, <s> and </s>
SAMPLES = 1000  # of the bootstrap
COUNTED = 50  # batches whose candidates are read back from the engine


class Way(NamedTuple):
    """One way to decode: a map, or None for the whole vocabulary, and the pieces of a batch (1: a sentence a batch)."""

    name: str
    map: Path | None
    batch_tokens: int


@contextmanager
def with_map(folder: Path, path: Path | None) -> Iterator[Path]:
    """A model folder of links to another one, with this map in place of its own."""
    with tempfile.TemporaryDirectory() as made:
        for file in folder.iterdir():
            if file.name != "vmap.txt":
                (Path(made) / file.name).symlink_to(file.resolve())
        if path:
            (Path(made) / "vmap.txt").symlink_to(path.resolve())
        yield Path(made)


class Timing:
    """A test set in pieces, cut into batches, and what was measured with it so far."""

    def __init__(self, model: Path, sources: list[str], steps: int | None):
        self.description = engines.describe(model)
        if self.description["engine"] != "ctranslate2":
            raise UserError(f"{model}: is for {self.description['engine']}; vocabulary maps are CTranslate2's")
        translator(model)  # a damaged one is named here, not by the folder of links
        self.tokenizer = Tokenizer(model)
        self.sources = [self.tokenizer.encode(source) for source in sources]
        self._model, self._steps = model, steps
        # Of a map, which may be large, what the test set looks up; the batch sizes of a map follow one another.
        self._load = functools.lru_cache(1)(functools.partial(VocabularyMap.load, sources=self.sources))
        self.seconds: dict[Way, list[float]] = {}
        self.candidates: dict[Way, float] = {}
        self.outputs: dict[Way, list[str]] = {}

    def run(self, way: Way) -> None:
        """Decode the test set once. Raises UserError where the engine does not use the map as we read it."""
        cut = [[self.sources[place] for place in places] for places in batches(self.sources, way.batch_tokens)]
        with with_map(self._model, way.map) as folder:
            kind = compute_type(self.description["quantization"])
            model = translator(folder, compute_type=kind, intra_threads=1)
            options = self._options(way)
            model.translate_batch(cut[0], **options)  # warm-up
            if way not in self.seconds:
                self.candidates[way] = self._count(model, way, cut)
            start = time.perf_counter()
            found = [[result.hypotheses[0] for result in model.translate_batch(batch, **options)] for batch in cut]
            self.seconds.setdefault(way, []).append(time.perf_counter() - start)
        self._keep(way, found)

    def _options(self, way: Way) -> dict[str, Any]:
        most = self._steps or longest_output(self.description)
        lengths = {"max_decoding_length": most, "min_decoding_length": self._steps or 0}
        return {"beam_size": 1, "max_input_length": 0, "use_vmap": way.map is not None, **lengths}

    def _count(self, model: ctranslate2.Translator, way: Way, cut: list[Batch]) -> float:
        """Mean candidates of a batch; those of some batches are compared with the engine's."""
        options = self._options(way) | {"max_decoding_length": 1, "min_decoding_length": 0, "return_logits_vocab": True}
        engine = [np.array(model.translate_batch(batch, **options)[0].logits[0][0]).size for batch in cut[:COUNTED]]
        if way.map is None:
            return float(np.mean(engine))
        found = self._load(way.map)
        ours = [len(found.candidates(batch)) for batch in cut]
        for number, (theirs, own) in enumerate(zip(engine, ours, strict=False), 1):
            if theirs != own:
                raise UserError(
                    f"{way.map}: CTranslate2 has {theirs:,} candidates in batch {number}, the map {own:,}; it does not"
                    " use this map as it is written, make it again"
                )
        return float(np.mean(ours))

    def _keep(self, way: Way, found: list[Batch]) -> None:
        outputs = [""] * len(self.sources)
        for places, batch in zip(batches(self.sources, way.batch_tokens), found, strict=True):
            for place, pieces in zip(places, batch, strict=True):
                outputs[place] = self.tokenizer.decode(pieces)
        if self.outputs.setdefault(way, outputs) != outputs:
            raise UserError(f"{way.name}, batches of {way.batch_tokens}: not the same translation in every run")


def spread(name: str, runs: np.ndarray) -> dict[str, float]:
    """Median, least and most of the runs."""
    return {name: float(np.median(runs)), f"{name}_min": float(runs.min()), f"{name}_max": float(runs.max())}


def timed(timing: Timing, way: Way) -> dict[str, Any]:
    """Times of one way; the ratio is to the whole vocabulary, the median of those run by run."""
    seconds, whole = (np.array(timing.seconds[w]) for w in (way, Way(WHOLE, None, way.batch_tokens)))
    return {
        "map": way.name,
        "batch_tokens": way.batch_tokens,
        "candidates": timing.candidates[way],
        **spread("seconds", seconds),
        **spread("times_faster", whole / seconds),
    }


def output_layer(timing: Timing, way: Way, nothing: Path) -> dict[str, float]:
    """The share of the output layer in a way's time, and how many times faster it is than the whole vocabulary's.

    Raises UserError where a run took no longer than without the output layer: the difference is then noise.
    """
    ways = (way, Way(WHOLE, None, way.batch_tokens), Way(NOTHING, nothing, way.batch_tokens))
    seconds, whole, rest = (np.array(timing.seconds[w]) for w in ways)
    if (np.minimum(seconds, whole) <= rest).any():
        raise UserError(
            f"batches of {way.batch_tokens}: with {way.name} or the whole vocabulary, a run took no longer than without"
            " the output layer, whose time is therefore not known; decode more sentences or steps, on a quiet machine"
        )
    found = {
        "output_layer_share": (seconds - rest) / seconds,
        "output_layer_times_faster": (whole - rest) / (seconds - rest),
    }
    return {key: value for name, ratios in found.items() for key, value in spread(name, ratios).items()}


def scored(timing: Timing, way: Way, test_set: TestSet) -> dict[str, Any]:
    """BLEU of one way, and its difference to the whole vocabulary with the paired bootstrap."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for outputs in (timing.outputs[way], timing.outputs[Way(WHOLE, None, way.batch_tokens)]):
            write_text(path := Path(folder) / "outputs", "".join(f"{output}\n" for output in outputs))
            found.append(test_set.score(path))
    (own, resamples), (whole, whole_resamples) = found
    difference = own["bleu"] - whole["bleu"]
    p = p_value(resamples, whole_resamples, difference)
    return {"bleu": own["bleu"], "bleu_signature": own["bleu_signature"], "bleu_delta": difference, "bleu_p": p}


def measured(timing: Timing, args: argparse.Namespace, test_set: TestSet | None) -> list[dict[str, Any]]:
    """Time every map in every batch size, in turn; a row for each."""
    with tempfile.TemporaryDirectory() as folder:
        write_text(nothing := Path(folder) / NOTHING, "\t\n")
        if len({path.stem for path in args.maps}) < len(args.maps):
            raise UserError("--maps has two files of one name; the name of a file stands for its map")
        maps = {WHOLE: None, **({NOTHING: nothing} if args.steps else {}), **{path.stem: path for path in args.maps}}
        ways = [Way(name, path, tokens) for name, path in maps.items() for tokens in args.batch_tokens]
        jobs = [way for _ in range(args.runs) for way in ways]
        for way in progress(jobs, "timing", total=len(jobs), unit="run"):
            timing.run(way)
    rows = []
    for way in ways:
        more = output_layer(timing, way, nothing) if args.steps and way.name != NOTHING else {}
        rows.append(timed(timing, way) | more | (scored(timing, way, test_set) if test_set else {}))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--model", type=Path, required=True, help="model folder of CTranslate2; its own map is not used"
    )
    parser.add_argument("--maps", type=Path, nargs="+", required=True, help="each is named after its file")
    parser.add_argument("--test-set", type=Path, required=True, help="records of pairs")
    parser.add_argument("--target-language", required=True, help="sacreBLEU chooses its tokenizer by it")
    parser.add_argument(
        "--batch-tokens", type=positive, nargs="+", default=[1, 32, 512], help="1 is a sentence a batch"
    )
    parser.add_argument("--steps", type=positive, help="decode so many pieces a sentence; no BLEU then")
    parser.add_argument("--sentences", type=positive, help="only the first ones")
    parser.add_argument("--runs", type=positive, default=3)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    args = parser.parse_args()

    pin([args.core])
    load = machine.load_average()
    timing = Timing(args.model, sources(args.test_set)[: args.sentences], args.steps)
    test_set = None if args.steps or args.sentences else TestSet(args.test_set, args.target_language, SAMPLES)
    conditions = {
        "model": timing.description,
        "test_set": records.name(args.test_set),
        "sentences": len(timing.sources),
        **{name: getattr(args, name) for name in ("steps", "runs", "core")},
        "load_average": load,
        **machine.describe(),
    }
    write_json(args.output, {**conditions, "rows": measured(timing, args, test_set)})


if __name__ == "__main__":
    command(main)
