"""Figure 2 of WNGT 2020: more workers over the file against more threads inside the batch, in time and memory.

With n cores, n workers decode a batch each on one thread, or one worker decodes each batch on n threads; memory holds
the weights once in both cases. n doubles from one core to all of them. Each way is measured with the same sizes of
batches and compared at its best size, as a size that is slow on one core would flatter the workers. The runs of all
model folders, one for each engine, take turns.
"""

import argparse
from dataclasses import replace
from typing import Any

from findings.comparison import fastest
from formats import measurement
from measure import protocol
from measure.configuration import Configuration, ModelFolder
from nmt_frontier import machine
from nmt_frontier.errors import command
from papers.wngt2020.rungs import BATCHES


def counts(cores: int) -> list[int]:
    """The numbers of cores to measure on: powers of two, and all."""
    return sorted({min(2**power, cores) for power in range(cores.bit_length() + 1)})


def configurations(model: ModelFolder, **common: Any) -> list[dict[int, Configuration]]:
    """The configurations of each way by the tokens of a batch; one way on one core. common: fields of all."""
    cores, vocabulary_map = machine.cores(), model.description.vocabulary_map
    ways = []
    for count in counts(len(cores)):
        single = Configuration(model, vocabulary_map=vocabulary_map, cores=cores[:count], **common)
        by_way = {"workers": replace(single, workers=count), "threads": replace(single, threads=count)}
        for way, base in by_way.items() if count > 1 else [("workers", single)]:
            ways.append({n: replace(base, batch_tokens=n, label=f"{count}-{way}.{n}-tokens") for n in BATCHES})
    return ways


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=ModelFolder.read, nargs="+", required=True, help="one system, an engine each")
    protocol.speed_options(parser)
    args = parser.parse_args()

    text = protocol.text(args.models[0], args.sentences)
    ways = [way for model in args.models for way in configurations(model, **text)]
    todo = [configuration for by_tokens in ways for configuration in by_tokens.values()]
    records = dict(zip(todo, protocol.timed(todo, args), strict=True))
    measurement.write(args.output, (fastest({n: records[c] for n, c in by_tokens.items()}) for by_tokens in ways))


if __name__ == "__main__":
    command(main)
