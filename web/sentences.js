// The sentences of a text, by Unicode's rules as the browser has them, and abbreviations, which these rules lack.

// A full stop behind one of these ends no sentence; behind NUMBERED none if a number follows.
const words = text => new Set(text.split(" "));
const ABBREVIATIONS = words(
  "Capt Col Dr Gen Gov Hon Lt Mr Mrs Ms Mt Mx Prof Rep Rev Sen Sgt St vs " +
    "Hr Hrn Mlle Mme Sra Srta bzw ca evtl ggf inkl sog vgl zzgl",
);
const NUMBERED = words("Abb Abs Art Bd Ch Eq Fig Kap No Nos Nr Sec Tab Vol pp");
const ORDINALS = words("bs cs da de et fi fo hr hu is lb lv nb nn no pl sk sl sr"); // languages: 3. is the third
const LAST_WORD = /(?:^|[^\p{L}\p{N}])(\p{L}+|\p{N}{1,2})\.\s*$/u;
const BREAK = /\r\n|[\n\r\u2028\u2029]/;
// Where Intl.Segmenter is missing: up to a mark with what closes behind it, and spaces, or up to the end.
const SENTENCE = /[^]*?(?:[.!?…]+["'”’»)\]]*\s+|[。！？]+[”’」』）]*\s*|$)/g;

/**
 * The paragraphs of a text, each a list of its sentences, which have `text` and the spaces `behind` it.
 * language: a tag of BCP 47; one that is not known has the rules of all.
 */
export function paragraphs(text, language) {
  const parts = splitter(language);
  return text.split(BREAK).map(paragraph => whole(parts(paragraph), language).filter(part => part.trim()).map(trimmed));
}

/** How many words a text has. */
export function countWords(text, language) {
  const segmenter = segmenterOf("word", language);
  if (!segmenter) return text.split(/\s+/).filter(Boolean).length;
  let count = 0;
  for (const { isWordLike } of segmenter.segment(text)) count += isWordLike;
  return count;
}

const segmenters = new Map(); // to make one takes a millisecond

function segmenterOf(granularity, language) {
  if (!globalThis.Intl?.Segmenter) return null;
  const key = `${granularity} ${language}`;
  if (!segmenters.has(key)) segmenters.set(key, new Intl.Segmenter(known(language), { granularity }));
  return segmenters.get(key);
}

function known(language) {
  try {
    return Intl.getCanonicalLocales(language ?? undefined);
  } catch {
    return undefined; // no tag of BCP 47
  }
}

function splitter(language) {
  const segmenter = segmenterOf("sentence", language);
  if (!segmenter) return text => text.match(SENTENCE);
  return text => Array.from(segmenter.segment(text), part => part.segment);
}

// Joins what an abbreviation, an initial or an ordinal number has divided.
function whole(parts, language) {
  const joined = [];
  for (const part of parts) {
    if (joined.length && goesOn(joined.at(-1), part, language)) joined.push(joined.pop() + part);
    else joined.push(part);
  }
  return joined;
}

function goesOn(before, after, language) {
  const word = LAST_WORD.exec(before)?.[1];
  if (!word) return false;
  if (/\p{N}/u.test(word)) return ORDINALS.has(language?.split("-")[0]);
  if (NUMBERED.has(word)) return /^\p{N}/u.test(after);
  return ABBREVIATIONS.has(word) || (word.length === 1 && word !== "I") || dotted(before);
}

// Whether a text ends in letters that each have a full stop, as in "e.g."
const dotted = text => /(?:^|[^\p{L}\p{N}.])(?:\p{L}\.){2,}\s*$/u.test(text) && /\p{Ll}\.\s*$/u.test(text);

function trimmed(part) {
  const text = part.trim();
  return { text, behind: part.slice(part.indexOf(text) + text.length) };
}
