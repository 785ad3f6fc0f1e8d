"""The cost and the gain of vocabulary maps: one model decoded with many maps, in batches of several sizes.

All run on one core, greedily, in turn; only decoding is timed. The first run of each way checks that the engine really
uses the map: CTranslate2 must have as many candidates as the map for a batch, and translations of the native engine may
contain the candidates of their sentence only. ``--steps`` decodes a fixed number of pieces per sentence and adds a map
without entries: the remaining time is spent outside the output layer.
"""

import argparse
import functools
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec import convert

from decode import engines
from decode.engines.ctranslate2 import CTranslate2
from experiments import altered_models
from experiments.altered_models import ForcedLength, converted
from formats.experiments import MapTimingRow
from formats.records import sources
from formats.spread import Spread
from measure import in_process, timing_loop
from measure.bootstrap import TestSet
from measure.timing_loop import Usage, watch
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json, write_text
from nmt_frontier.limits import longest_output
from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.model.vocabulary_map import VocabularyMap
from nmt_frontier.search import loading
from nmt_frontier.search.batching import batches
from nmt_frontier.search.engine import Batch, Search
from nmt_frontier.search.native import Native
from nmt_frontier.translator import LineTokenizer

WHOLE = "whole"  # the vocabulary, without a map
NOTHING = "nothing"  # a map that allows <unk>, <s> and </s> only
SAMPLES = 1000  # of the bootstrap
COUNTED = 50  # batches that are checked


class MapInBatches(NamedTuple):
    """A map, None for the whole vocabulary, and the pieces of a batch, 1 for single sentences."""

    name: str
    map: Path | None
    batch_tokens: int

    @property
    def whole(self) -> "MapInBatches":
        """The whole vocabulary in batches of the same size."""
        return MapInBatches(WHOLE, None, self.batch_tokens)


def with_map(folder: Path, path: Path | None) -> AbstractContextManager[Path]:
    """A temporary model folder of CTranslate2 with this map instead of its own; without a map if None."""
    return altered_models.linked(folder, {CTranslate2.map_file: path})


class InCTranslate2:
    """CTranslate2 with the map of a way. steps: pieces of each translation, free up to ``longest`` if None."""

    def __init__(self, model: Path, way: MapInBatches, steps: int | None, longest: int):
        with with_map(model, way.map) as folder:
            self._translator = altered_models.loaded(folder)
        lengths = {"max_decoding_length": steps or longest, "min_decoding_length": steps or 0}
        self._options = {"beam_size": 1, "max_input_length": 0, "use_vmap": way.map is not None, **lengths}

    def decode(self, batch: Batch) -> Batch:
        return [result.hypotheses[0] for result in self._translator.translate_batch(batch, **self._options)]

    def candidates(self, cut: list[Batch], way: MapInBatches, vocabulary_map: VocabularyMap | None) -> float:
        """Their mean number in a batch. Raises UserError where CTranslate2 has another number than the map."""
        one_step = {"max_decoding_length": 1, "min_decoding_length": 0, "return_logits_vocab": True}
        options = self._options | one_step
        results = (self._translator.translate_batch(batch, **options)[0] for batch in cut[:COUNTED])
        in_engine = [np.array(result.logits[0][0]).size for result in results]
        if vocabulary_map is None:
            return float(np.mean(in_engine))
        in_map = [len(vocabulary_map.candidates(batch)) for batch in cut]
        for number, (found, expected) in enumerate(zip(in_engine, in_map, strict=False), 1):
            if found != expected:
                raise UserError(
                    f"{way.map}: CTranslate2 has {found:,} candidates in batch {number}, the map {expected:,}; it does"
                    " not use this map as it is written, make it again"
                )
        return float(np.mean(in_map))


class InNative:
    """As InCTranslate2, in the native engine."""

    def __init__(self, model: Path, way: MapInBatches, steps: int | None, longest: int):
        self._entries = len(Vocabulary.read(model).target)
        with tempfile.TemporaryDirectory() as folder:
            path = converted(way.map, model, Path(folder) / Native.map_file) if way.map else None
            self._engine = ForcedLength(model, path)
        self._longest, self._shortest = steps or longest, steps or 0

    def decode(self, batch: Batch) -> Batch:
        return self._engine.decode(batch, self._longest, beam_size=1, shortest=self._shortest)

    def candidates(self, cut: list[Batch], way: MapInBatches, vocabulary_map: VocabularyMap | None) -> float:
        """Their mean number for a sentence. Raises UserError where a translation contains other pieces."""
        if vocabulary_map is None:
            return float(self._entries)
        allowed = [vocabulary_map.candidates([sentence]) for batch in cut for sentence in batch]
        outputs = [output for batch in cut[:COUNTED] for output in self.decode(batch)]
        for number, (pieces, output) in enumerate(zip(allowed, outputs, strict=False), 1):
            if foreign := {*output} - pieces:
                raise UserError(
                    f"{way.map}: the native engine generates {min(foreign)!r} in sentence {number}, which the map does"
                    " not allow; it does not use this map as it is written, make it again"
                )
        return float(np.mean([*map(len, allowed)]))


ENGINES: dict[str, type[InCTranslate2 | InNative]] = {CTranslate2.name: InCTranslate2, Native.name: InNative}


class MapTimer:
    """Decodes a test set in one way after the other.

    sources: its sentences in pieces. candidates: mean number per batch, in the native engine per sentence. outputs: the
    translations. steps: pieces of each translation, free if None.
    """

    def __init__(self, model: Path, sources: list[str], core: int, steps: int | None):
        self.description = loading.describe(model)
        if (name := self.description.engine) not in ENGINES:
            raise UserError(f"{model}: is for {engines.ENGINES[name].label}, which uses no such vocabulary map")
        # Raises an error with the name of a damaged file here, not in the folder of links.
        loading.load(model, Search(), checksums=False)
        self.tokenizer = LineTokenizer(model)
        self.sources = [self.tokenizer.encode(source) for source in sources]
        self._model, self._core, self._steps = model, core, steps
        # A map may be large: load only entries that the test set looks up, and keep one map for all sizes of batches.
        self._load = functools.lru_cache(1)(functools.partial(VocabularyMap.load, sources=self.sources))
        self.candidates: dict[MapInBatches, float] = {}
        self.outputs: dict[MapInBatches, list[str]] = {}

    def run(self, way: MapInBatches, number: int) -> Usage:
        """Decode the test set once. Raises UserError where the engine does not use the map."""
        cut = in_process.in_batches(self.sources, way.batch_tokens)
        engine = ENGINES[self.description.engine](self._model, way, self._steps, longest_output(self.description))
        engine.decode(cut[0])  # warm-up
        if number == 1:
            self.candidates[way] = engine.candidates(cut, way, self._load(way.map) if way.map else None)
        with watch([self._core]) as usage:
            decoded = [engine.decode(batch) for batch in cut]
        self._keep(way, decoded)
        return usage

    def _keep(self, way: MapInBatches, decoded: list[Batch]) -> None:
        """Keep the translations in the order of the test set. Raises UserError where an earlier run had others."""
        outputs = [""] * len(self.sources)
        for places, batch in zip(batches(self.sources, way.batch_tokens), decoded, strict=True):
            for place, pieces in zip(places, batch, strict=True):
                outputs[place] = self.tokenizer.decode(pieces)
        if self.outputs.setdefault(way, outputs) != outputs:
            raise UserError(f"{way.name}, batches of {way.batch_tokens}: not the same translation in every run")


Runs = dict[MapInBatches, list[Usage]]
Fields = dict[str, str | float | None]  # of MapTimingRow


def times(way: MapInBatches, runs: Runs, candidates: float) -> Fields:
    """The times of one way, and how many times faster it is than the whole vocabulary, run by run."""
    return {
        "map": way.name,
        "batch_tokens": way.batch_tokens,
        "candidates": candidates,
        **in_process.seconds(runs[way]),
        **in_process.ratio("times_faster", runs[way.whole], runs[way], "seconds"),
        "others": in_process.others([*runs[way], *runs[way.whole]]),
    }


def output_layer(way: MapInBatches, runs: Runs, nothing: MapInBatches) -> Fields:
    """The share of the output layer in a way's time, and how many times faster it is than the whole vocabulary's.

    nothing: the way without candidates. Raises UserError where a run was not slower than that: the time of the output
    layer is then noise.
    """
    seconds, whole, rest = (np.array([usage.seconds for usage in runs[w]]) for w in (way, way.whole, nothing))
    if (np.minimum(seconds, whole) <= rest).any():
        raise UserError(
            f"batches of {way.batch_tokens}: with {way.name} or the whole vocabulary, a run took no longer than without"
            " the output layer, whose time is therefore not known; decode more sentences or steps, on a quiet machine"
        )
    share, times_faster = (seconds - rest) / seconds, (whole - rest) / (seconds - rest)
    fields = Spread.of(share.tolist()).fields("output_layer_share")
    others = in_process.others([*runs[way], *runs[way.whole], *runs[nothing]])
    return {**fields, **Spread.of(times_faster.tolist()).fields("output_layer_times_faster"), "others": others}


def scores(timing: MapTimer, way: MapInBatches, test_set: TestSet) -> Fields:
    """BLEU of one way, and its difference to the whole vocabulary with the paired bootstrap."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("own", "whole")]
        for path, outputs in zip(paths, (timing.outputs[way], timing.outputs[way.whole]), strict=True):
            write_text(path, "".join(f"{output}\n" for output in outputs))
        found, (difference, p) = test_set.score(paths[0])[0], test_set.difference(*paths)
    shown = {name: found[name] for name in ("bleu", "bleu_signature")}
    return {**shown, "bleu_delta": difference, "bleu_p": p}


def measured(
    timing: MapTimer,
    maps: list[Path],
    batch_tokens: list[int],
    steps: int | None,
    repeats: timing_loop.Repeats,
    test_set: TestSet | None,
) -> list[MapTimingRow]:
    """Time every map in every size of batches, in turn; a row for each, with BLEU where there is a test set."""
    if len({path.stem for path in maps}) < len(maps):
        raise UserError("--maps has two files of one name; the name of a file stands for its map")
    with tempfile.TemporaryDirectory() as folder:
        write_text(nothing := Path(folder) / NOTHING, "\t\n")
        named = {WHOLE: None, **({NOTHING: nothing} if steps else {}), **{path.stem: path for path in maps}}
        ways = [MapInBatches(name, path, tokens) for name, path in named.items() for tokens in batch_tokens]
        runs = timing_loop.timed({way: functools.partial(timing.run, way) for way in ways}, repeats, "timing")
    rows = []
    for way in ways:
        row = times(way, runs, timing.candidates[way])
        if steps and way.name != NOTHING:
            row |= output_layer(way, runs, MapInBatches(NOTHING, nothing, way.batch_tokens))
        rows.append(convert(row | (scores(timing, way, test_set) if test_set else {}), MapTimingRow))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=there, required=True, help="of CTranslate2 or native; its own map is not used")
    parser.add_argument("--maps", type=there, nargs="+", required=True, help="each is named after its file")
    parser.add_argument("--target-language", required=True, help="sacreBLEU chooses its tokenizer by it")
    parser.add_argument("--batch-tokens", type=positive, nargs="+", default=[1, 32, 512], help="1 for single sentences")
    parser.add_argument("--steps", type=positive, help="pieces to decode for each sentence, without BLEU")
    in_process.options(parser)
    args = parser.parse_args()

    session, shared = in_process.prepared(args)
    timing = MapTimer(args.model, sources(args.test_set)[: args.sentences], args.core, args.steps)
    test_set = None if args.steps or args.sentences else TestSet(args.test_set, args.target_language, SAMPLES)
    asked = {"model": timing.description, "sentences": len(timing.sources), "steps": args.steps, "core": args.core}
    rows = measured(timing, args.maps, args.batch_tokens, args.steps, session, test_set)
    write_json(args.output, {**shared, **asked, "rows": rows})


if __name__ == "__main__":
    command(main)
