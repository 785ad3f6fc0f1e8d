// A model in a worker, for the thread of a page: promises, progress, and an end to what is no longer wanted.

const ownWorker = () => new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "nmt-frontier" });

/** Translates in a worker, one call after the other. `about`: what the folder's manifest says, or null. */
export class WorkerTranslator {
  about = null;
  #worker;
  #ended = null; // the error of all later calls
  #calls = new Map(); // by number: what a call does with messages, by type
  #count = 0;

  /**
   * Opens a model: the address of a folder that `nmt-frontier web` wrote, or the files of a model folder by name.
   * onProgress: is called with the bytes that are there and those of all files. worker: makes the worker, where a
   * bundler does not find it. Rejects with an Error that names the file which is missing or damaged.
   */
  static async open(source, { onProgress = () => {}, worker = ownWorker } = {}) {
    const translator = new WorkerTranslator(worker());
    const addressed = typeof source === "string" || source instanceof URL;
    const handlers = {
      progress: ({ loaded, total }) => onProgress(loaded, total),
      opened: ({ about }) => { translator.about = about; },
    };
    try {
      await translator.#call({ type: "open", source: addressed ? folder(source) : source }, handlers);
    } catch (error) {
      translator.close();
      throw error;
    }
    return translator;
  }

  constructor(worker) {
    this.#worker = worker;
    worker.addEventListener("message", ({ data: { id, type, ...message } }) => this.#calls.get(id)?.[type]?.(message));
    worker.addEventListener("error", event => {
      event.preventDefault();
      this.#end(new Error(event.message || "worker.js, or a file that it loads, is missing or damaged"));
    });
  }

  /** Translations of lines, in order. signal: of an AbortController, which ends the call. */
  async translate(lines, { signal, ...options } = {}) {
    const results = [];
    const take = ({ places, lines: found }) => found.forEach((line, number) => { results[places[number]] = line; });
    await this.#call({ type: "translate", lines: [...lines], options }, { lines: take }, signal);
    return results;
  }

  /**
   * The translation of a text: its paragraphs, lists of sentences with `source`, the spaces `behind` it, and its
   * translation, `line`; and the milliseconds, words and number of those sentences that were not known from calls
   * before. onUpdate: is called with the same object whenever more of it is there. mark: of a language, as >>de<<.
   * language: of the text, if the model has several.
   */
  async translateText(text, { signal, onUpdate = () => {}, mark = "", language, ...options } = {}) {
    const result = { paragraphs: [], sentences: 0, words: 0, milliseconds: 0, done: false };
    let flat = [];
    const split = ({ paragraphs }) => {
      result.paragraphs = paragraphs;
      flat = paragraphs.flat();
      onUpdate(result);
    };
    const take = ({ places, lines, words, milliseconds }) => {
      lines.forEach((line, number) => { flat[places[number]].line = line; });
      result.sentences += lines.length;
      result.words += words;
      result.milliseconds += milliseconds;
      onUpdate(result);
    };
    await this.#call({ type: "translateText", text, mark, language, options }, { split, lines: take }, signal);
    result.done = true;
    onUpdate(result);
    return result;
  }

  /** Ends the worker. Calls that wait are rejected, and so are later ones. */
  close() {
    this.#worker.terminate();
    this.#end(new Error("the translator was closed"));
  }

  #call(message, handlers, signal) {
    if (this.#ended) return Promise.reject(this.#ended);
    const id = ++this.#count;
    let stop;
    const ended = new Promise((resolve, reject) => {
      stop = () => {
        this.#worker.postMessage({ type: "stop", id });
        reject(signal.reason);
      };
      if (signal?.aborted) return reject(signal.reason);
      signal?.addEventListener("abort", stop);
      const failed = found => reject(new Error(found.message));
      this.#calls.set(id, { ...handlers, done: resolve, failed, ended: reject });
      this.#worker.postMessage({ ...message, id });
    });
    return ended.finally(() => {
      this.#calls.delete(id);
      signal?.removeEventListener("abort", stop);
    });
  }

  #end(error) {
    this.#ended ??= error;
    for (const call of this.#calls.values()) call.ended(error);
  }
}

// The address of a folder, which ends in a slash, seen from the page.
function folder(address) {
  const found = new URL(address, globalThis.document?.baseURI).href;
  return found.endsWith("/") ? found : `${found}/`;
}
