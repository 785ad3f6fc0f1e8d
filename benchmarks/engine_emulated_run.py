"""Inside the emulated machine of engine_emulated.py: multiply and decode on the instruction sets of this CPU.

Everything that it needs lies beside it. Each answer is one line of JSON behind MARK on the standard output.
"""

import hashlib
import json
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
MARK = "ANSWER "


def say(isa: str, work: str, answer: list[str]) -> None:
    """work: what was done; answer: digests of what came out."""
    print(MARK + json.dumps([isa, work, answer]), flush=True)


def digest(value: object) -> str:
    """Short, as the emulated serial line is slow."""
    return hashlib.sha256(repr(value).encode()).hexdigest()[:8]


def answers(isa: str) -> None:
    """Products, each with every number of rows, and the translations of each sentence with and without their scores."""
    os.environ["NMT_ISA"] = isa  # the engine reads it when it is first used
    import nmt_frontier_engine as engine
    import numpy as np
    from nmt_frontier_engine import kernels

    for path in sorted(HERE.glob("*.npz")):
        case = dict(np.load(path))
        rows, scale = case.pop("rows"), case.pop("row_scale")
        kind = path.name.partition(".")[0]
        found = [kernels.product(case, kind, rows[:n], scale[:n], shifted=True) for n in range(1, len(rows) + 1)]
        say(isa, f"product {path.stem}", [digest([product.tobytes() for product in found])])
    for work in json.loads((HERE / "work.json").read_text()):
        worker = engine.Worker(engine.Model(HERE / work["model"] / "weights.safetensors"))
        options = engine.Options(beam_size=work["beam_size"], scores=True)
        for number, batch in enumerate(work["batches"]):
            best = [found[0] for found in worker.translate(batch, options)]
            name = f"{work['model']} beam {work['beam_size']}"
            say(isa, f"pieces {name} {number}", [digest(one.pieces) for one in best])
            say(isa, f"scores {name} {number}", [digest((one.pieces, float(one.score).hex())) for one in best])


def sets() -> list[str]:
    """Asked in a process of its own, as the engine chooses a set once."""
    reading, writing = os.pipe()
    if not os.fork():
        import nmt_frontier_engine as engine

        os.write(writing, " ".join(engine.available_sets()).encode())
        os._exit(0)
    os.wait()
    return os.read(reading, 1000).decode().split()


def main() -> None:
    known = {*sys.argv[1:]}  # to leave out
    for isa in sets():
        if isa in known:
            continue
        if child := os.fork():
            os.waitpid(child, 0)
        else:
            answers(isa)
            os._exit(0)


if __name__ == "__main__":
    main()
