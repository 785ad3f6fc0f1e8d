// The files of a model from a folder of `nmt-frontier web`, which lists them with their sizes and checksums.

export const MANIFEST = "manifest.json";
const FORMAT = 1; // of manifests, as in nmt-frontier web

/**
 * All files of a folder on a server, by name, with its manifest.
 * onProgress: is called with the bytes that are there and those of all files.
 */
export async function download(folder, onProgress = () => {}) {
  const files = { [MANIFEST]: await received(MANIFEST, folder) };
  const expected = read(files[MANIFEST]).files;
  const total = expected.reduce((sum, { size }) => sum + size, 0);
  let loaded = 0;
  onProgress(loaded, total);
  const one = async ({ name, size }) => {
    files[name] = await received(name, folder, size, bytes => onProgress((loaded += bytes), total));
  };
  await Promise.all(expected.map(one));
  return files;
}

/** What a manifest says. Throws an Error that names the first file that is missing, or not the one that it lists. */
export async function verified(bytes, files) {
  const about = read(bytes);
  for (const { name, size, sha256 } of about.files) {
    if (!files[name]) throw new Error(`${name}: missing; copy the page again`);
    if (files[name].byteLength !== size) throw new Error(wrongSize(name, files[name].byteLength, size));
    const digest = await crypto.subtle?.digest("SHA-256", files[name]); // not where a page came by plain HTTP
    if (!digest || hex(digest) === sha256) continue;
    throw new Error(`${name}: damaged, its checksum is another; copy the page again`);
  }
  return about;
}

function read(bytes) {
  let about = null;
  try {
    about = JSON.parse(new TextDecoder().decode(bytes));
  } catch {} // what is no JSON has the same line as other damage
  if (about?.format > FORMAT) throw new Error(`${MANIFEST}: of format ${about.format}; a later nmt-frontier reads it`);
  if (Array.isArray(about?.files) && about.languages) return about;
  throw new Error(`${MANIFEST}: damaged; copy the page again`);
}

/** The bytes of a file below an address. size: what it must have. onBytes: is called with how many have come. */
export async function received(name, folder, size, onBytes = () => {}) {
  const response = await fetch(new URL(name, folder)).catch(error => {
    throw new Error(`${name}: cannot be loaded (${error.message})`);
  });
  const answer = `the server says ${response.status} ${response.statusText}`;
  if (!response.ok) throw new Error(`${name}: cannot be loaded (${answer})`);
  const parts = [];
  let length = 0;
  try {
    for (const reader = response.body.getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
      length += value.byteLength;
      onBytes(value.byteLength);
    }
  } catch (error) {
    throw new Error(`${name}: broke off after ${length} bytes (${error.message}); load the page again`);
  }
  if (size !== undefined && length !== size) throw new Error(wrongSize(name, length, size));
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

const wrongSize = (name, found, size) => `${name}: has ${found} bytes instead of ${size}; copy the page again`;
const hex = buffer => Array.from(new Uint8Array(buffer), byte => byte.toString(16).padStart(2, "0")).join("");
