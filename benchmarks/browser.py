"""The engine as WebAssembly beside Bergamot's, in one Chromium, with the weights of one model that Marian trained.

Marian trains a student on --text. Its weights become the folder of the native engine, and a file as Firefox publishes
them (engine_firefox), which Bergamot's reads; both choose pieces from the same shortlist, greedily. Each engine has a
worker of its own in one page, and they take turns, on one core, with the engine outside the browser on AVX2 beside
them. Then a page for each engine alone tells the time until its first translation, and what it loads.
"""

import argparse
import functools
import http.server
import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import sentencepiece
from engine_firefox import make, text_way, vocabulary

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

SCHEDULE = Schedule(updates=2000, batch_tokens=2000, learning_rate=0.0005, warmup=500, seed=1)
NATIVE, BERGAMOT, OUTSIDE = "native", "bergamot", "native, avx2"
LOADED = {  # files of the site beside the model's
    NATIVE: ("web/translator.js", "web/engine.js", "web/engine.wasm"),
    BERGAMOT: (
        *("firefox.bin", "shortlist.bin", "vocab.spm", "bergamot/worker/translator-worker.js"),
        *("bergamot/worker/bergamot-translator-worker.js", "bergamot/worker/bergamot-translator-worker.wasm"),
    ),
}
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
    const names = await (await fetch("model/names.json")).json();
    const files = await Promise.all(names.map(async (name) => [name, await bytes(`model/${name}`)]));
    await asked(worker, { files: new Map(files) });
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
window.open_ = async (name) => { engines[name] = await made[name](); };
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


def trained(text: Path, spm: Path, updates: int, asked: TransformerShape, entries: Path, folder: Path) -> None:
    """Train a model of Marian's on records, as model.npz and vocab.yml in a folder."""
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(spm))
    folder.mkdir(exist_ok=True)
    sides = [folder / "source", folder / "target"]
    for side, lines in zip(sides, zip(*records.pairs(text), strict=True), strict=True):
        write_text(side, "".join(f"{' '.join(pieces.encode(line, out_type=str))}\n" for line in lines))
    marian.write_vocabulary(marian.entries(entries), folder / marian.VOCABULARY)
    train(sides, asked, replace(SCHEDULE, updates=updates), folder)


def site(models: Path, spm: Path, bergamot: Path, folder: Path) -> dict[str, int]:
    """Fill a folder with the page and what the engines load. Returns the bytes of each engine's files."""
    own = models / "native-int8"
    links = {"model": own, "web": ROOT / "web", "bergamot": bergamot.resolve(), "vocab.spm": spm}
    links |= {"firefox.bin": models.parent / "firefox.bin", "shortlist.bin": models / "marian-int8/shortlist.bin"}
    for name, path in links.items():
        (folder / name).symlink_to(path)
    names = sorted(path.name for path in own.iterdir() if path.suffix in (".json", ".safetensors", ".model"))
    write_json(own / "names.json", names)
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


def opened(browser: Browser, address: str) -> None:
    browser.send("Page.navigate", url=address)
    browser.wait("window.first")


def measured(browser: Browser, address: str, folder: Path, lines: list[str], session: in_process.Session) -> Rows:
    """A row for each engine."""
    words = sum(len(line.split()) for line in lines)
    opened(browser, address)
    for name in LOADED:
        browser.run(f"open_({name!r})")
    ways = {name: functools.partial(browser.run, f"translate({name!r}, {json.dumps(lines)})") for name in LOADED}
    same = sum(one == other for one, other in zip(*(way() for way in ways.values()), strict=True))
    ways[OUTSIDE] = functools.partial(text_way(folder, 64), lines)
    usages = in_process.timed(ways, session, [session.core], "words a second")
    rates = {name: [words / usage.seconds for usage in used] for name, used in usages.items()}
    for name in ways:
        faster = [one / other for one, other in zip(rates[NATIVE], rates[name], strict=True)]
        row = {"engine": name, "words": words, "sentences": len(lines), "same_translations": same}
        row |= in_process.Spread.of(rates[name]).fields("words_per_second")
        yield row | in_process.Spread.of(faster).fields("native_times_faster")


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
    in_process.options(parser)
    args = parser.parse_args()
    os.environ["NMT_ISA"] = "avx2"
    session, shared = in_process.prepared(args)
    lines = records.sources(args.test_set)[: session.sentences]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        spm = vocabulary(args.text, folder)
        models = make(args.shape, spm, folder, functools.partial(trained, args.text, spm, args.updates))
        (pages := folder / "site").mkdir()
        sizes = site(models, spm, args.bergamot, pages)
        with served(pages) as address, closing(Browser(folder / "profile")) as browser:
            rows = [*measured(browser, address, models / "native-int8", lines, session)]
            for row in rows:
                if size := sizes.get(row["engine"]):
                    row |= {"bytes": size} | beginning(browser, address, row["engine"], lines[0], session.runs)
    write_json(args.output, [row | {"shape": args.shape, "updates": args.updates} | shared for row in rows])


if __name__ == "__main__":
    command(main)
