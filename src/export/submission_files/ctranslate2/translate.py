"""Translate standard input to standard output with the model beside this file; needs only the engine and SentencePiece.

Batches are those of the submission to WNGT 2020 (Klein et al., section 4): sorted inside a window, cut by tokens.
"""

import collections
import hashlib
import json
import os
import sys
from pathlib import Path

import ctranslate2_products as products
import sentencepiece
from sentence import has_letters, sentence

BATCH_TOKENS = {"CPU-ST": 512, "CPU-MT": 256, "GPU": 6000}
TASKS = ("throughput", "latency")
MAXIMUM_INPUT = 1000  # pieces; attention grows with the square, so one endless line would take all memory


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in BATCH_TOKENS or sys.argv[2] not in TASKS:
        sys.exit(f"usage: run.sh {'|'.join(BATCH_TOKENS)} {'|'.join(TASKS)} < source > target")
    hardware, task = sys.argv[1:]
    device = "cuda" if hardware == "GPU" else "cpu"
    model = Path(__file__).resolve().parent / "model"
    description = json.loads((model / "model.json").read_text())
    check(model, description, device)
    translator = load(model, description, device, hardware, task)
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(model / "sentencepiece.model"))
    options = {
        "beam_size": 1,
        "max_input_length": 0,
        "min_decoding_length": 0,
        "max_decoding_length": description.get("max_decoding_length", 150),
        "use_vmap": (model / "vmap.txt").exists(),
    }
    counts = {"broken bytes replaced by U+FFFD": 0, f"lines longer than {MAXIMUM_INPUT} pieces cut there": 0}
    copied = collections.deque()  # for each line, what is written untranslated
    sources = encoded(pieces, counts, copied)
    if task == "latency":
        results = (translator.translate_batch([source], **options)[0] for source in sources)
    else:
        size = BATCH_TOKENS[hardware]
        results = translator.translate_iterable(sources, max_batch_size=size, batch_type="tokens", **options)
    for result in results:
        line = copied.popleft() or sentence(pieces.decode(result.hypotheses[0]))
        sys.stdout.buffer.write(line.encode() + b"\n")
        if task == "latency":
            sys.stdout.buffer.flush()
    sys.stdout.buffer.flush()
    for what, count in counts.items():
        if count:
            print(count, what, file=sys.stderr)


def load(model, description, device, hardware, task):
    """The model in CTranslate2 on this hardware. Exit without a GPU where one is asked for."""
    if description["quantization"] == "int16":
        os.environ.setdefault(products.USE_MKL, "1")  # only oneMKL multiplies in int16
    import ctranslate2  # which reads its environment now

    cores = len(os.sched_getaffinity(0)) if hardware == "CPU-MT" else 1
    workers, threads = (cores, 1) if task == "throughput" else (1, cores)
    if device == "cuda" and not ctranslate2.get_cuda_device_count():
        sys.exit("error: no GPU is visible here; give the container one, as with docker run --gpus all")
    os.environ.pop("MKL_NUM_THREADS", None)  # oneMKL would obey it in every worker
    if isa := products.widest():
        os.environ.setdefault(products.ISA, isa)  # CTranslate2's default is AVX2
    return ctranslate2.Translator(str(model), device=device, inter_threads=workers, intra_threads=threads)


def encoded(pieces, counts, copied):
    """The lines of standard input in pieces; those without letters have none.

    counts: of broken bytes and of lines that were cut, is increased. copied: gets lines without letters, else "".
    """
    broken, cut = counts
    for line in sys.stdin.buffer:
        text = line.decode(errors="replace").rstrip("\r\n")
        counts[broken] += text.count("\N{REPLACEMENT CHARACTER}") - line.count("\N{REPLACEMENT CHARACTER}".encode())
        text = sentence(text)
        source = pieces.encode(text, out_type=str)
        counts[cut] += len(source) > MAXIMUM_INPUT
        copied.append("" if not source or has_letters(text) else text)
        yield [] if copied[-1] else source[:MAXIMUM_INPUT]


def check(model, description, device):
    """Exit if the model is damaged; warn if this CPU does not compute 8-bit products exactly."""
    for name, checksum in description.get("sha256", {}).items():
        if (model / name).exists() and hashlib.sha256((model / name).read_bytes()).hexdigest() != checksum:
            sys.exit(f"error: {model / name}: damaged, or not the one this model was exported with")
    if device == "cpu" and description["quantization"] == "int8" and (warning := products.warning(model.name)):
        print(warning, file=sys.stderr)


if __name__ == "__main__":
    main()
