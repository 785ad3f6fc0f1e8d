"""Whether whole models with random weights give the translations of transformers in the native engine, in float32.

    python -m papers.fastseq2021.same_outputs opus-mt --beams 1 4 --text news.en --tokenizer vocab.spm \\
        --folder models --output a.json

The models are those of ``whole_models``. By themselves they say one piece over and over, which says nothing; so no
piece may come twice (blocked n-grams of 1), and each step chooses between many that are about as likely. Translations
have a length by force. The first sentences of the text that are not too long are taken, in batches of about the same
length in any order; the file is written after each, and the next call goes on where it ends. Of each sentence that
differs the file has the first piece that does, and what transformers gives both translations: the log probability, and
for greedy search that of both pieces.
"""

import argparse
import gzip
import itertools
import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from nmt_frontier.command_line import positive
from nmt_frontier.errors import command
from nmt_frontier.files import read_json, write_json
from papers.fastseq2021.random_models import MODELS
from papers.fastseq2021.whole_decoding import (
    Forced,
    Numbers,
    arguments,
    described,
    in_native,
    in_transformers,
    prepare,
)

Probabilities = Callable[[list[int], list[int]], list[float]]  # of the pieces of a translation, in logarithms


def batches_of(path: Path, forced: Forced, args: argparse.Namespace) -> list[Numbers]:
    """The sources; those of a batch have about the same length."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        texts = (forced.tokenizer.encode(line.strip()) for line in file)
        taken = [*itertools.islice((text for text in texts if 0 < len(text) <= args.longest), args.sentences)]
    sources = sorted((forced.vocabulary.numbers(text) for text in taken), key=len)
    batches = [sources[start : start + args.batch] for start in range(0, len(sources), args.batch)]
    random.Random(1).shuffle(batches)
    return batches


def probabilities_of(forced: Forced, folder: Path) -> Probabilities:
    import torch  # inside: they are no dependencies
    import transformers

    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float32).eval()
    start = [model.config.decoder_start_token_id, *forced.begin]

    def probabilities(source: list[int], output: list[int]) -> list[float]:
        with torch.inference_mode():
            inputs = torch.tensor([source]), torch.tensor([start + output[:-1]])
            logits = model(input_ids=inputs[0], decoder_input_ids=inputs[1]).logits[0, len(forced.begin) :]
            found: list[float] = logits.double().log_softmax(-1)[range(len(output)), output].tolist()
            return found

    return probabilities


def difference(source: list[int], expected: list[int], found: list[int], of: Probabilities) -> dict[str, Any]:
    place = next(place for place, (one, other) in enumerate(zip(expected, found, strict=True)) if one != other)
    both = {"transformers": of(source, expected), "native": of(source, found)}
    total = {name: round(sum(values), 6) for name, values in both.items()}
    piece = {name: round(values[place], 6) for name, values in both.items()}
    return {"source_pieces": len(source), "place": place, "log_probability": total, "of_the_piece": piece}


def compare(known: dict[str, Any], args: argparse.Namespace) -> Iterator[str]:
    """Adds batches to what is known of a search, and says after each how many sentences are the same."""
    name, folder = known["model"], args.folder / known["model"]
    search = {"beam": known["beam"], "ngram": known["blocked_ngram"], "output": known["length"]}
    prepare(MODELS[name], folder, args.tokenizer)
    forced = Forced(MODELS[name]._replace(**search, source=0), folder / "native/native-float32")
    ways = in_transformers(forced, folder / "huggingface", 1), in_native(forced, folder / "native/native-float32", 1)
    probabilities = cache(lambda: probabilities_of(forced, folder / "huggingface"))
    for batch in batches_of(args.text, forced, args)[known["batches"] :]:
        for source, expected, found in zip(batch, *(way(batch) for way in ways), strict=True):
            if found != expected:
                known["different"].append(difference(source, expected, found, probabilities()))
        known["batches"] += 1
        known["compared"] += len(batch)
        yield f"{name}, beam {known['beam']}: {known['compared'] - len(known['different'])} of {known['compared']}"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--beams", type=positive, nargs="+", default=[1, 4])
    parser.add_argument("--blocked-ngram", type=int, default=1)
    parser.add_argument("--sentences", type=positive, default=1000)
    parser.add_argument("--longest", type=positive, default=25, help="sentence to take, in pieces")
    parser.add_argument("--length", type=positive, default=12, help="of a translation, in pieces")
    parser.add_argument("--batch", type=positive, default=25)
    args = parser.parse_args()
    result = (read_json(args.output) if args.output.exists() else {"runs": []}) | described()
    work = {name: getattr(args, name) for name in ("blocked_ngram", "sentences", "longest", "length", "batch")}
    for name, beam in itertools.product(args.models, args.beams):
        search = {"model": name, "beam": beam, **work}
        if not (before := [run for run in result["runs"] if run | search == run]):
            before = [search | {"batches": 0, "compared": 0, "different": []}]
            result["runs"] += before
        for line in compare(before[0], args):
            write_json(args.output, result)
            print(line, flush=True)


if __name__ == "__main__":
    command(main)
