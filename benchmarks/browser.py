"""The engine as WebAssembly beside Bergamot's, in one Chromium, with the weights of one model that Marian trained.

Marian trains a student on --text, in a folder that keeps it. Its weights become the folder of the native engine, and a
file as Firefox publishes them (engine_firefox), which Bergamot's reads; both choose pieces from the same shortlist, of
fast_align's links, greedily. Each engine has a worker of its own in one page, and they take turns, on one core, with
the engine outside the browser: on AVX2, and with the kernels of WebAssembly as instructions of 128 bits
(narrow_engine). Then a page for each engine alone tells the time until its first translation, and what it loads.
"""

import argparse
import functools
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import narrow_engine
import sentencepiece
from engine_firefox import make, vocabulary

from corpora import alignment
from findings.metrics import bleu
from formats import marian, records
from formats.shape import TransformerShape
from measure import in_process
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import command
from nmt_frontier.files import write_json, write_text
from train.marian import Schedule, train

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))  # their driver of Chromium
from chromium import Browser  # noqa: E402

SCHEDULE = Schedule(updates=227, batch_tokens=2000, learning_rate=0.001, warmup=200, seed=1)
NATIVE, BERGAMOT = "native", "bergamot"
LONGEST = 128  # pieces of a translation, as Bergamot cuts sentences
LOADED = {  # files of the site beside the model's
    NATIVE: ("web/translator.js", "web/engine.js", "web/engine.wasm"),
    BERGAMOT: (
        *("firefox.bin", "shortlist.bin", "vocab.spm", "bergamot/worker/translator-worker.js"),
        *("bergamot/worker/bergamot-translator-worker.js", "bergamot/worker/bergamot-translator-worker.wasm"),
    ),
}
WIDE, NARROW = "native, avx2", "native, 128 bits"  # outside the browser
Way = Callable[[list[str]], list[str]]
Rows = Iterator[dict[str, Any]]
PAGE = """<!doctype html><meta charset="utf-8"><script type="module">
const bytes = async (name) => new Uint8Array(await (await fetch(name)).arrayBuffer());
const asked = (worker, message) => new Promise((resolve, reject) => {
  worker.onmessage = ({ data }) => (data.error ? reject(new Error(data.error.message)) : resolve(data.result));
  worker.onerror = reject;
  worker.postMessage({ id: 1, ...message });
});
const made = {
  async native() {
    const worker = new Worker("native.js", { type: "module" });
    const names = await (await fetch("names.json")).json();
    const files = await Promise.all(names.map(async (name) => [name, await bytes(`model/${name}`)]));
    instructions = await asked(worker, { files: new Map(files) });
    return (lines) => asked(worker, { lines });
  },
  async bergamot() {
    const worker = new Worker("bergamot/worker/translator-worker.js");
    const call = (name, ...args) => asked(worker, { name, args });
    const [model, shortlist, vocab] = await Promise.all(["firefox.bin", "shortlist.bin", "vocab.spm"].map(bytes));
    await call("initialize", {});
    const pair = { from: "en", to: "de" };
    const buffers = { model: model.buffer, shortlist: shortlist.buffer, vocabs: [vocab.buffer] };
    await call("loadTranslationModel", pair, buffers);
    return async (lines) => {
      const texts = lines.map((text) => ({ text, html: false }));
      return (await call("translate", { models: [pair], texts })).map(({ target }) => target.text);
    };
  },
};
const engines = {};
let instructions;
window.open_ = async (name) => { engines[name] = await made[name](); return instructions; };
window.translate = (name, lines) => engines[name](lines);
window.first = async (name, line) => {
  const start = performance.now();
  await open_(name);
  await translate(name, [line]);
  return performance.now() - start;
};
</script>"""
WORKER = """import { Translator } from "./web/translator.js";
let translator;
onmessage = async ({ data: { files, lines } }) => {
  try {
    if (files) translator = await Translator.open(files);
    const found = lines ? translator.translate(lines).map(({ text }) => text) : translator.instructions;
    postMessage({ result: found });
  } catch (error) {
    postMessage({ error: { message: error.message } });
  }
};
"""


OUTSIDE = """import json, sys
from pathlib import Path
from nmt_frontier.translator import Translator
translator = Translator(Path(sys.argv[1]), workers=1)
for line in sys.stdin:
    print(json.dumps([*translator.translate(json.loads(line))]), flush=True)
"""


def trained(text: Path, spm: Path, updates: int, asked: TransformerShape, entries: Path, folder: Path) -> None:
    """Train a model of Marian's on records, as model.npz and vocab.yml in a folder."""
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(spm))
    folder.mkdir(exist_ok=True)
    sides = [folder / "source", folder / "target"]
    for side, lines in zip(sides, zip(*records.pairs(text), strict=True), strict=True):
        write_text(side, "".join(f"{' '.join(pieces.encode(line, out_type=str))}\n" for line in lines))
    marian.write_vocabulary(marian.entries(entries), folder / marian.VOCABULARY)
    train(sides, asked, replace(SCHEDULE, updates=updates), folder)


def lexical(text: Path, spm: Path, folder: Path, words: list[str]) -> Iterator[str]:
    """Lines of a shortlist: of all links that a piece has in a text, the share of each piece on the other side."""
    pairs = [*alignment.encoded(text, spm)]
    alignment.train(alignment.FastAlign, iter(pairs), folder / "aligner")
    links = alignment.FastAlign(folder / "aligner").align(pairs)
    linked = zip(pairs, links, strict=True)
    counts = Counter((source[i], target[j]) for (source, target), places in linked for i, j in places)
    totals: Counter[str] = Counter()
    for (source, _), count in counts.items():
        totals[source] += count
    known = set(words)
    for source, target in sorted(counts, key=lambda pair: (pair[0], -counts[pair], pair[1])):
        if {source, target} <= known:
            yield f"{target} {source} {counts[source, target] / totals[source]:.8f}\n"


@contextmanager
def outside(folder: Path, **environment: str) -> Iterator[Way]:
    """The engine in a process of its own."""
    command = [sys.executable, "-c", OUTSIDE, folder]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env={**os.environ, **environment}, **pipes) as process:

        def translate(lines: list[str]) -> list[str]:
            print(json.dumps(lines), file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())

        yield translate
        process.stdin.close()


def site(spm: Path, models: Path, bergamot: Path, folder: Path) -> dict[str, int]:
    """Fill a folder with the page and what the engines load. Returns the bytes of each engine's files."""
    own = models / "native-int8"
    links = {"model": own, "web": ROOT / "web", "bergamot": bergamot.resolve(), "vocab.spm": spm}
    links |= {"firefox.bin": models.parent / "firefox.bin", "shortlist.bin": models / "marian-int8/shortlist.bin"}
    for name, path in links.items():
        (folder / name).symlink_to(path)
    names = sorted(path.name for path in own.iterdir() if path.suffix in (".json", ".safetensors", ".model"))
    write_json(folder / "names.json", names)
    write_text(folder / "index.html", PAGE)
    write_text(folder / "native.js", WORKER)
    files = {**LOADED, NATIVE: (*LOADED[NATIVE], *(f"model/{name}" for name in names))}
    return {name: sum((folder / path).stat().st_size for path in paths) for name, paths in files.items()}


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server of a folder."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()


def in_browser(browser: Browser, name: str, lines: list[str]) -> list[str]:
    return browser.run(f"translate({name!r}, {json.dumps(lines)})")


def opened(browser: Browser, address: str) -> None:
    browser.send("Page.navigate", url=address)
    browser.wait("window.first")


def measured(
    ways: dict[str, Way], spm: Path, lines: list[str], references: list[str], session: in_process.Session
) -> Rows:
    """A row for each engine, with the pieces of its translations: a model of few updates does not always end one."""
    counter = sentencepiece.SentencePieceProcessor(model_file=str(spm))
    words = sum(len(line.split()) for line in lines)
    found = {name: way(lines) for name, way in ways.items()}
    calls = {name: functools.partial(way, lines) for name, way in ways.items()}
    usages = in_process.timed(calls, session, [session.core], "words a second")
    rates = {name: [words / usage.seconds for usage in used] for name, used in usages.items()}
    for name in ways:
        same = sum(one == other for one, other in zip(found[NATIVE], found[name], strict=True))
        share = [one / other for one, other in zip(rates[NATIVE], rates[name], strict=True)]
        row = {"engine": name, "words": words, "sentences": len(lines), "same_as_native": same}
        row["pieces"] = sum(map(len, counter.encode(found[name])))
        row |= {
            "bleu": bleu("de").corpus_score(found[name], [references]).score,
            "others": in_process.others(usages[name]),
        }
        row |= in_process.Spread.of(rates[name]).fields("words_per_second")
        yield row | in_process.Spread.of(share).fields("native_times_faster")


def beginning(browser: Browser, address: str, name: str, line: str, runs: int) -> dict[str, float]:
    """Milliseconds until the first translation of a page that was just opened."""
    found = []
    for _ in range(runs):
        opened(browser, address)
        found.append(browser.run(f"first({name!r}, {json.dumps(line)})"))
    return in_process.Spread.of(found).fields("first_translation_ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="bergamot-ssru-tiny")
    parser.add_argument("--text", type=there, required=True, help="records that the model is trained on")
    parser.add_argument("--updates", type=positive, default=SCHEDULE.updates, help="of the training (%(default)s)")
    parser.add_argument("--bergamot", type=there, required=True, help="the folder of @browsermt/bergamot-translator")
    parser.add_argument("--folder", type=Path, required=True, help="for the model and the engines, which it keeps")
    in_process.options(parser)
    args = parser.parse_args()
    session, shared = in_process.prepared(args)
    lines, references = zip(*records.pairs(args.test_set), strict=True)
    lines, references = [*lines[: session.sentences]], [*references[: session.sentences]]
    (folder := args.folder).mkdir(parents=True, exist_ok=True)
    made = spm, models = folder / "v.model", folder / "models"
    if not (folder / "firefox.bin").exists():  # the last file that is made
        vocabulary(args.text, folder)
        train = functools.partial(trained, args.text, spm, args.updates)
        make(args.shape, spm, folder, train, functools.partial(lexical, args.text, spm, folder), LONGEST)
    narrow = narrow_engine.build(folder / "narrow")
    own = models / "native-int8"
    with ExitStack() as stack:
        pages = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sizes = site(*made, args.bergamot, pages)
        address = stack.enter_context(served(pages))
        browser = stack.enter_context(closing(Browser(pages / "profile")))
        opened(browser, address)
        ways = {name: functools.partial(in_browser, browser, name) for name in LOADED}
        ways[WIDE] = stack.enter_context(outside(own, NMT_ISA="avx2"))
        ways[NARROW] = stack.enter_context(outside(own, PYTHONPATH=str(narrow)))
        instructions = {name: browser.run(f"open_({name!r})") for name in LOADED}[NATIVE]
        rows = [*measured(ways, spm, lines, references, session)]
        for row in rows:
            if size := sizes.get(row["engine"]):
                row |= {"bytes": size} | beginning(browser, address, row["engine"], lines[0], session.runs)
    shared |= {"shape": args.shape, "updates": args.updates, "instructions": instructions}
    write_json(args.output, [row | shared for row in rows])


if __name__ == "__main__":
    command(main)
