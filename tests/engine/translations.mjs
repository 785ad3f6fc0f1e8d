// Calls of web/translator.js, for test_webassembly.py: a JSON document of calls in, one of results out.
import { readFileSync, readdirSync } from "node:fs";
import { Translator } from "../../web/translator.js";

const read = (folder) => new Map(readdirSync(folder).map((name) => [name, readFileSync(`${folder}/${name}`)]));

const actions = {
  /** The results of lines with some options, one list for each. */
  async translate({ folder, lines, options }) {
    const translator = await Translator.open(read(folder));
    return options.map((one) => translator.translate(lines, one));
  },
  /** The message of the error. */
  async refuse({ folder, lines = [], options = {} }) {
    const translated = Translator.open(read(folder)).then((translator) => translator.translate(lines, options));
    return translated.then(() => null, (error) => error.message);
  },
  /** Bytes of memory after each round. */
  async remember({ folder, lines, rounds }) {
    const translator = await Translator.open(read(folder));
    return Array.from({ length: rounds }, () => {
      translator.translate(lines);
      return translator.memory;
    });
  },
  async instructions({ folder }) {
    return (await Translator.open(read(folder))).instructions;
  },
  async close({ folder }) {
    const translator = await Translator.open(read(folder));
    translator.close();
    try {
      translator.translate(["a"]);
    } catch (error) {
      return error.message;
    }
  },
};

const calls = JSON.parse(readFileSync(0, "utf8"));
const results = [];
for (const { action, ...call } of calls) results.push(await actions[action](call));
console.log(JSON.stringify(results));
