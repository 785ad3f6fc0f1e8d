// The page: a text on one side, its translation on the other, with the milliseconds that this took.
import { WorkerTranslator } from "../index.js";

const REST = 60; // milliseconds without a key before the translation begins
const PAINT = 100; // between two looks at a long translation
const SILENCE = 1000; // before a screen reader has it
const SPOKEN = 400; // characters that are read out; of more it says that they are there
const by = id => document.getElementById(id);
const [source, translation, options] = ["source", "translation", "options"].map(by);
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const exact = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });
const busy = is => translation.setAttribute("aria-busy", is);
const megabytes = bytes => `${(bytes / 1e6).toFixed(1)} MB`;

let translator = null;
let running = new AbortController();
let resting; // timer until the translation begins
let speaking; // timer until it is read out
let last = null; // what was translated
let painted = 0; // when it was last shown
const drawn = new WeakMap(); // what each paragraph shows

start();

async function start() {
  try {
    const { source: files, worker } = await place();
    translator = await WorkerTranslator.open(files, { onProgress: loading, worker });
  } catch (error) {
    say(`The model cannot be opened: ${error.message}`, true);
    return;
  }
  describe(translator.about);
  say("");
  options.hidden = false;
  if (source.value.trim()) translate();
}

// Where the model is: beside the page, or inside of it with the worker, compressed (nmt-frontier web --single).
async function place() {
  const parts = [...document.querySelectorAll("script[data-file]")];
  if (!parts.length) return { source: "model/" };
  say("Unpacking the model…");
  const unpack = async part => [part.dataset.file, await unpacked(part)];
  const { "worker.js": program, ...source } = Object.fromEntries(await Promise.all(parts.map(unpack)));
  const address = URL.createObjectURL(new Blob([program], { type: "text/javascript" }));
  return { source, worker: () => new Worker(address) };
}

async function unpacked(part) {
  try {
    const bytes = Uint8Array.from(atob(part.textContent), letter => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    throw new Error(`${part.dataset.file}: damaged; copy the page again`);
  }
}

function loading(loaded, total) {
  const bar = by("progress");
  [bar.hidden, bar.max, bar.value] = [false, total, loaded];
  say(loaded < total ? `Loading the model: ${megabytes(loaded)} of ${megabytes(total)}` : "Opening the model…");
}

// A line in place of the translation; nothing once there is one.
function say(text, failed = false) {
  const state = by("state");
  state.hidden = !text;
  state.classList.add("begun");
  state.classList.toggle("failed", failed);
  if (failed) by("progress").hidden = true;
  by("status").textContent = text;
}

function describe(about) {
  by("about").textContent = about.description;
  menu("from", about.languages.from, about.source);
  menu("to", about.languages.to, about.target);
  nameLanguages();
}

// Says from and to which languages the page translates: those of the menus, or of the model.
function nameLanguages() {
  const { source: own, target } = translator.about;
  const chosen = (side, tag) => options.elements[side].selectedOptions[0]?.dataset.tag ?? tag ?? "";
  [source.lang, translation.lang] = [chosen("from", own), chosen("to", target)];
  const [from, to] = [source, translation].map(({ lang }) => languageName(lang));
  source.dir = direction(source.lang);
  by("source-language").textContent = from || "Text";
  by("target-language").textContent = to || "Translation";
  if (from && to) document.title = by("title").textContent = `${from} to ${to}`;
}

// Where a language begins. "auto", which looks at each text, lets a page of Chromium wait 13 seconds for a megabyte.
function direction(tag) {
  if (!tag) return "auto";
  return /^(ar|ckb|dv|fa|he|ps|sd|ug|ur|yi)\b/.test(tag) ? "rtl" : "ltr";
}

function languageName(tag) {
  try {
    return tag && new Intl.DisplayNames("en", { type: "language" }).of(tag);
  } catch {
    return tag; // no tag of BCP 47
  }
}

// The languages of one side; a model of one pair has no menus.
function menu(side, languages, chosen) {
  const named = languages.map(({ tag, mark }) => {
    const option = new Option(languageName(tag), mark, false, tag === chosen);
    option.dataset.tag = tag;
    return option;
  });
  named.sort((one, other) => one.text.localeCompare(other.text));
  options.elements[side].replaceChildren(...named);
  by(side).hidden = !languages.length;
}

async function translate() {
  stop();
  if (!translator) return;
  busy(true);
  running = new AbortController();
  const { signal } = running;
  const { beam, from, to } = options.elements;
  const mark = [from.value, to.value].filter(Boolean).join(" ");
  try {
    const onUpdate = result => signal.aborted || show(result);
    const wanted = { beamSize: Number(beam.value), mark, language: source.lang || undefined, signal, onUpdate };
    const result = await translator.translateText(source.value, wanted);
    speaking = setTimeout(speak, SILENCE, result);
  } catch (error) {
    if (signal.aborted) return;
    busy(false);
    say(`The text cannot be translated: ${error.message}`, true);
  }
}

function stop() {
  clearTimeout(resting);
  clearTimeout(speaking);
  running.abort();
}

function stopByHand() {
  if (by("stop").hidden) return;
  stop();
  busy(false);
  by("stop").hidden = true;
  by("speed").textContent = `stopped after ${progress(last.paragraphs.flat())}`;
}

// Shows what is there of a translation; a sentence that is not keeps the text that stood in its place.
function show(result) {
  last = result;
  if (!result.done && result.sentences && performance.now() - painted < PAINT) return;
  painted = performance.now();
  say("");
  adapt(translation, result.paragraphs, "p", showParagraph);
  const sentences = result.paragraphs.flat();
  busy(!result.done);
  by("stop").hidden = result.done;
  by("copy").disabled = !sentences.length;
  by("notes").textContent = notes(sentences);
  if (!sentences.length) by("speed").textContent = "";
  else if (result.done && result.sentences) by("speed").textContent = speed(result);
  else if (!result.done && sentences.length > 1) by("speed").textContent = progress(sentences);
}

function progress(sentences) {
  const known = sentences.filter(({ line }) => line).length;
  return `${whole.format(known)} of ${whole.format(sentences.length)} sentences`;
}

function showParagraph(element, sentences) {
  const shown = JSON.stringify(sentences.map(({ source: text, behind, line }) => [text, behind, line?.text]));
  if (drawn.get(element) === shown) return;
  drawn.set(element, shown);
  element.dir = direction(translation.lang);
  adapt(element, sentences, "span", showSentence);
}

function showSentence(element, { source: text, behind, line }, place, all) {
  element.classList.toggle("waiting", !line);
  if (!line) return;
  const shown = line.text + (place < all.length - 1 ? behind || (spaced() ? " " : "") : "");
  element.textContent = shown;
  element.title = text;
}

// Whether sentences of the target language have spaces between them.
const spaced = () => !/^(ja|zh|yue)\b/.test(translation.lang);

// Gives a parent as many children as there are items, and makes each what its item says. It goes from one child to the
// next: `children[place]` counts all of them again after each that is added.
function adapt(parent, items, tag, make) {
  let child = parent.firstElementChild;
  items.forEach((item, place) => {
    child ??= parent.appendChild(document.createElement(tag));
    make(child, item, place, items);
    child = child.nextElementSibling;
  });
  if (!child) return;
  const rest = document.createRange();
  rest.setStartBefore(child);
  rest.setEndAfter(parent.lastChild);
  rest.deleteContents();
}

function speed({ sentences, words, milliseconds }) {
  const each = `${exact.format(milliseconds / sentences)} ms${sentences > 1 ? " a sentence" : ""}`;
  return `${each} · ${whole.format((1000 * words) / milliseconds)} words a second`;
}

// What a limit did to sentences: nothing is left out silently.
function notes(sentences) {
  const said = {
    cut: "longer than the model takes, and cut off there",
    limited: "given a translation that was cut off, as it became too long",
    looped: "given a translation that repeated itself, and was ended",
  };
  const lines = Object.entries(said).map(([name, what]) => {
    const count = sentences.filter(({ line }) => line?.[name]).length;
    return count && `${whole.format(count)} ${count > 1 ? "sentences were" : "sentence was"} ${what}.`;
  });
  return lines.filter(Boolean).join(" ");
}

const text = () => [...translation.children].map(paragraph => paragraph.textContent).join("\n");

function speak({ paragraphs }) {
  const found = text();
  const count = paragraphs.flat().length;
  by("spoken").textContent = found.length <= SPOKEN ? found : `${whole.format(count)} sentences are translated.`;
}

async function copy() {
  const button = by("copy");
  try {
    await navigator.clipboard.writeText(text());
    button.textContent = "Copied";
  } catch { // not allowed, or no secure page: the reader copies what is selected
    getSelection().selectAllChildren(translation);
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

source.addEventListener("input", () => {
  by("clear").hidden = !source.value;
  by("amount").textContent = source.value ? `${whole.format(source.value.length)} characters` : "";
  by("spoken").textContent = "";
  stop();
  busy(true);
  resting = setTimeout(translate, REST);
});
options.addEventListener("change", () => {
  nameLanguages();
  translate();
});
by("copy").addEventListener("click", copy);
by("stop").addEventListener("click", stopByHand);
addEventListener("keydown", event => {
  if (event.key === "Escape") stopByHand();
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) copy();
});
by("clear").addEventListener("click", () => {
  source.value = "";
  source.dispatchEvent(new Event("input"));
  source.focus();
});
