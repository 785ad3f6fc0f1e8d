// The engine as WebAssembly: a model folder in memory and lines of text in, translations out. All but opening is
// synchronous, so a page calls it in a worker. Functions and structs are those of engine/bindings/nmt_frontier.h.

import engine, { relaxed } from "./engine.js";

const FOLDER = "/model";
const ERROR_BYTES = 1024;
const STACK = 1 << 16; // bytes, of products with relaxed SIMD
const LINES = 256; // of one call of the engine, which sorts them and cuts them into batches

// The first fields of nmt_options behind its size, in their order, with their defaults.
const OPTIONS = {
  beamSize: 1,
  nBest: 1,
  lengthPenalty: 1, // the only float
  wu: false,
  shortest: 0,
  longest: 0,
  blockedNgram: 0,
  vocabularyMap: true,
  scores: false,
};

// The fields of nmt_lines behind the number of hypotheses, which are pointers.
const RESULTS = ["counts", "cut", "replaced", "texts", "sizes", "scores", "limited", "looped"];

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The arguments of one call of the engine, in its memory; `free` gives them back. */
class Arguments {
  #module;
  #blocks = [];

  constructor(module) {
    this.#module = module;
  }

  // Made anew for each use: the memory moves when it grows.
  get view() {
    return new DataView(this.#module.HEAPU8.buffer);
  }

  allocated(bytes) {
    const place = this.#module._malloc(bytes);
    if (!place) throw new Error("not enough memory");
    this.#blocks.push(place);
    return place;
  }

  bytes(content) {
    const place = this.allocated(content.length);
    this.#module.HEAPU8.set(content, place);
    return place;
  }

  numbers(values) {
    const place = this.allocated(4 * values.length);
    values.forEach((value, i) => this.view.setUint32(place + 4 * i, value, true));
    return place;
  }

  /** What a function of the engine writes: call(pointer to it, error, size of the error) returns 0 or 1. */
  result(call) {
    const place = this.numbers([0]);
    const error = this.allocated(ERROR_BYTES);
    if (call(place, error, ERROR_BYTES)) throw new Error(this.#module.UTF8ToString(error));
    return this.view.getUint32(place, true);
  }

  free() {
    this.#blocks.forEach((place) => this.#module._free(place));
  }
}

/** A model that is open. Its memory is its own, and is free when nothing refers to the translator. */
export class Translator {
  #module;
  #model = 0;
  #worker = 0;

  /**
   * Opens a model folder of the native engine.
   *
   * files: the folder's files by their names, an object or a Map of Uint8Array or ArrayBuffer. wasm: engine.wasm, its
   * bytes or a WebAssembly.Module; without it, the file beside this one. Throws Error with one line for a folder that
   * the engine refuses.
   */
  static async open(files, { wasm } = {}) {
    const translator = new Translator();
    translator.#module = await started(wasm ?? (await ownWasm()));
    translator.#open(files instanceof Map ? files : new Map(Object.entries(files)));
    return translator;
  }

  /**
   * Translates lines of text. Each is normalised as `nmt-frontier translate` does it, and an empty one stays empty.
   *
   * lines: strings, or Uint8Arrays of UTF-8. options: beamSize, nBest, lengthPenalty, wu, shortest, longest,
   * blockedNgram, vocabularyMap, scores, as in nmt_frontier.h. Returns for each line its best translation: its text, its
   * score (0 if greedy search was not asked for scores), whether it was limited in length or looped; whether the line
   * was cut, as it had more pieces than the model takes; how many bytes that are no UTF-8 were replaced; and, if nBest is
   * above 1, all hypotheses, best first. Throws Error with one line for what the engine refuses.
   */
  translate(lines, options = {}) {
    const found = [];
    for (let start = 0; start < lines.length; start += LINES)
      found.push(...this.#translated(lines.slice(start, start + LINES), options));
    return found;
  }

  /** The instructions of its products: simd128, or relaxed where the browser has these and computes the same bytes. */
  get instructions() {
    return this.#module.UTF8ToString(this.#module._nmt_isa());
  }

  /** Bytes of its memory, which grows and is kept until nothing refers to the translator. */
  get memory() {
    return this.#module.HEAPU8.length;
  }

  /** Closes the model. */
  close() {
    if (this.#worker) this.#module._nmt_close_worker(this.#worker);
    if (this.#model) this.#module._nmt_close(this.#model);
    this.#worker = this.#model = 0;
  }

  #open(files) {
    const { FS } = this.#module;
    FS.mkdir(FOLDER);
    for (const [name, content] of files) FS.writeFile(`${FOLDER}/${name}`, new Uint8Array(content));
    this.#called((call) => {
      const folder = call.bytes(encoder.encode(`${FOLDER}\0`));
      this.#model = call.result((...to) => this.#module._nmt_open_folder(folder, ...to));
      const models = call.numbers([this.#model]);
      this.#worker = call.result((...to) => this.#module._nmt_open_worker(models, 1, 1, ...to));
    });
    for (const name of files.keys()) FS.unlink(`${FOLDER}/${name}`); // the engine has copied what it needs
  }

  #translated(lines, options) {
    if (!this.#worker) throw new Error("this translator is closed");
    const texts = lines.map((line) => (typeof line === "string" ? encoder.encode(line) : line));
    return this.#called((call) => {
      const places = call.numbers(texts.map((text) => call.bytes(text)));
      const sizes = call.numbers(texts.map((text) => text.length));
      const wanted = written(call, options);
      const results = call.result((...to) =>
        this.#module._nmt_translate_text(this.#worker, places, sizes, texts.length, wanted, ...to),
      );
      return read(call.view, results, texts.length, (options.nBest ?? 1) > 1);
    });
  }

  #called(function_) {
    const call = new Arguments(this.#module);
    try {
      return function_(call);
    } finally {
      call.free();
    }
  }
}

/** The bytes of engine.wasm beside this file. */
async function ownWasm() {
  const address = new URL("engine.wasm", import.meta.url);
  if (address.protocol === "file:") return (await import("node:fs/promises")).readFile(address);
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: ${response.status} ${response.statusText}`);
  return response.arrayBuffer();
}

/** A new engine, with an empty file system. */
async function started(wasm) {
  const code = wasm instanceof WebAssembly.Module ? wasm : await WebAssembly.compile(wasm);
  const instance = {};
  const module = await new Promise((resolve, reject) => {
    const instantiateWasm = (imports, receive) => {
      const receiveOwn = (made) => receive(Object.assign(instance, { made }).made, code);
      WebAssembly.instantiate(code, imports).then(receiveOwn).catch(reject);
      return {};
    };
    engine({ instantiateWasm }).then(resolve, reject);
  });
  await takeProducts(module, Object.values(instance.made.exports));
  return module;
}

/** Lets the engine take products with relaxed SIMD, where the browser has it and computes the same bytes. */
async function takeProducts(module, exports) {
  const memory = exports.find((one) => one instanceof WebAssembly.Memory);
  for (const bytes of relaxed) {
    const code = await WebAssembly.compile(bytes).catch(() => null); // a browser without it
    if (!code) return;
    const { product, __stack_pointer: stack } = (await WebAssembly.instantiate(code, { env: { memory } })).exports;
    stack.value = module._malloc(STACK) + STACK;
    if (module._nmt_take_products(module.addFunction(product, "viiiiii"))) return;
  }
}

/** A place with nmt_options. */
function written(call, options) {
  const unknown = Object.keys(options).find((name) => !(name in OPTIONS));
  if (unknown) throw new Error(`there is no option '${unknown}'; there are ${Object.keys(OPTIONS).join(", ")}`);
  const fields = Object.entries({ ...OPTIONS, ...options });
  const place = call.numbers([4 * (fields.length + 1), ...fields.map(([, value]) => Number(value))]);
  const float = fields.findIndex(([name]) => name === "lengthPenalty") + 1;
  call.view.setFloat32(place + 4 * float, fields[float - 1][1], true);
  return place;
}

/** The translations of nmt_lines. */
function read(view, results, lines, all) {
  const at = Object.fromEntries(RESULTS.map((name, i) => [name, view.getUint32(results + 8 + 4 * i, true)]));
  const number = (name, i) => view.getInt32(at[name] + 4 * i, true);
  const hypothesis = (i) => ({
    text: decoder.decode(new Uint8Array(view.buffer, number("texts", i), number("sizes", i))),
    score: view.getFloat32(at.scores + 4 * i, true),
    limited: Boolean(number("limited", i)),
    looped: Boolean(number("looped", i)),
  });
  let next = 0;
  return Array.from({ length: lines }, (_, line) => {
    const hypotheses = Array.from({ length: number("counts", line) }, () => hypothesis(next++));
    const own = { ...hypotheses[0], cut: Boolean(number("cut", line)), replaced: number("replaced", line) };
    return all ? { ...own, hypotheses } : own;
  });
}
