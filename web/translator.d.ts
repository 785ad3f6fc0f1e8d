/** How lines are decoded; without options by greedy search. The names are those of nmt_options in nmt_frontier.h. */
export interface Options {
  /** 1: greedy search. */
  beamSize?: number;
  /** Translations of each line, at most `beamSize`. */
  nBest?: number;
  /** A score is the log probability divided by length ** lengthPenalty. */
  lengthPenalty?: number;
  /** Or by ((5 + length) / 6) ** lengthPenalty (Wu et al. 2016). */
  wu?: boolean;
  /** Fewest pieces of a translation. */
  shortest?: number;
  /** Most pieces of a translation; 0: the model's limit. */
  longest?: number;
  /** No n-gram of this size occurs twice; 0: off. */
  blockedNgram?: number;
  /** Whether the map of a model that has one chooses the pieces to score; true by default. */
  vocabularyMap?: boolean;
  /** Whether greedy search gives scores, too. */
  scores?: boolean;
}

export interface Hypothesis {
  text: string;
  /** 0 where none was computed. */
  score: number;
  /** Whether it was cut off at `longest`. */
  limited: boolean;
  /** Whether it repeated itself, and was ended. */
  looped: boolean;
}

/** The best translation of a line. */
export interface Line extends Hypothesis {
  /** Whether the line had more pieces than the model takes, and was cut there. */
  cut: boolean;
  /** Bytes that were no UTF-8, and replaced by U+FFFD. */
  replaced: number;
  /** Where `nBest` is above 1: all translations, best first. */
  hypotheses?: Hypothesis[];
}

/** The files of a model folder of the native engine, by their names there. */
export type Files = Record<string, Uint8Array | ArrayBuffer> | Map<string, Uint8Array | ArrayBuffer>;

/** A model in this thread: all but opening is synchronous. Every error is one line of the engine. */
export class Translator {
  /** wasm: engine.wasm; without it, the file beside this module. */
  static open(files: Files, options?: { wasm?: BufferSource | WebAssembly.Module }): Promise<Translator>;
  translate(lines: (string | Uint8Array)[], options?: Options): Line[];
  /** The instructions of its products: "relaxed" where the browser computes these as it should. */
  readonly instructions: "simd128" | "relaxed";
  /** Bytes of its memory. */
  readonly memory: number;
  close(): void;
}
