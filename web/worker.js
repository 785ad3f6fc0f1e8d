// The worker: a model, and what the thread of a page asks of it (index.js). It translates a few sentences at a time, so
// that it hears after CHUNK milliseconds or so that a translation is no longer wanted.
import { Translator } from "./translator.js";
import { MANIFEST, download, received, verified } from "./files.js";
import { countWords, paragraphs } from "./sentences.js";

const CHUNK = 50;
const MOST = 64; // sentences at a time: with more it is hardly faster
const KEPT = 5000; // translations that texts share: with a letter more, one sentence is translated

let translator = null;
let language; // of the model's sources
let size = 1; // sentences at a time
let working = false;
const jobs = []; // the first one is running
const kept = new Map(); // the oldest first

const tell = (id, type, message = {}) => postMessage({ id, type, ...message });
const turns = new MessageChannel();
const turn = () => new Promise(done => { turns.port1.onmessage = done; turns.port2.postMessage(null); });

const commands = {
  async open({ id, source }) {
    try {
      const progress = (loaded, total) => tell(id, "progress", { loaded, total });
      const given = typeof source === "string" ? download(source, progress) : source;
      const [files, wasm] = await Promise.all([given, compiled(source["engine.wasm"])]);
      const { [MANIFEST]: listed, "engine.wasm": _, ...own } = files instanceof Map ? Object.fromEntries(files) : files;
      const about = listed ? await verified(listed, own) : null;
      translator = await Translator.open(own, { wasm });
      language = about?.source;
      tell(id, "opened", { about });
      tell(id, "done");
    } catch (error) {
      tell(id, "failed", { message: error.message });
    }
  },
  translate({ id, lines, options }) {
    start({ id, options, language, waiting: lines.map((text, place) => ({ text, place })) });
  },
  translateText({ id, text, mark, language: own = language, options }) {
    const split = paragraphs(text, own);
    const key = JSON.stringify([mark, options]);
    const sentences = split.flat();
    const known = ({ text: sentence }) => kept.get(key + sentence);
    sentences.forEach((sentence, place) => Object.assign(sentence, { place, mark, key, line: known(sentence) }));
    const shown = split.map(list => list.map(({ text: source, behind, line }) => ({ source, behind, line })));
    tell(id, "split", { paragraphs: shown });
    start({ id, options, language: own, waiting: sentences.filter(({ line }) => !line) });
  },
  stop({ id }) {
    const place = jobs.findIndex(job => job.id === id);
    if (place >= 0) jobs.splice(place, 1);
  },
};

// The engine, from the file beside this one if it is not given.
async function compiled(bytes) {
  const found = bytes ?? (await received("engine.wasm", new URL("./engine.wasm", import.meta.url)));
  return WebAssembly.compile(found).catch(error => {
    throw new Error(`engine.wasm: damaged, or the browser is too old (${error.message})`);
  });
}

async function start(job) {
  jobs.push(job);
  if (working) return;
  working = true;
  while (jobs.length) {
    step(jobs[0]);
    await turn();
  }
  working = false;
}

// Translates the next sentences of a job.
function step(job) {
  const { id, waiting } = job;
  try {
    if (waiting.length) tell(id, "lines", translated(waiting.splice(0, size), job));
    if (waiting.length) return;
    tell(id, "done");
  } catch (error) {
    tell(id, "failed", { message: error.message });
  }
  commands.stop(job);
}

function translated(sentences, { options, language: own }) {
  const sources = sentences.map(({ text, mark }) => (mark ? `${mark} ${text}` : text));
  const begin = performance.now();
  const lines = translator.translate(sources, options);
  const milliseconds = performance.now() - begin;
  size = Math.max(1, Math.min(MOST, 4 * size, Math.floor((sentences.length * CHUNK) / milliseconds)));
  lines.forEach((line, number) => keep(sentences[number], line));
  const words = sentences.reduce((sum, { text }) => sum + countWords(text, own), 0);
  return { places: sentences.map(({ place }) => place), lines, words, milliseconds };
}

function keep({ text, key }, line) {
  if (key === undefined) return;
  if (kept.size >= KEPT) kept.delete(kept.keys().next().value);
  kept.set(key + text, line);
}

addEventListener("message", ({ data }) => commands[data.type](data));
