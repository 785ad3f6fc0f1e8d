import type { Files, Line, Options } from "./translator.js";

export type { Files, Hypothesis, Line, Options } from "./translator.js";

/** A language of a model of many: a tag of BCP 47, and the mark with which a line asks for it, such as >>de<<. */
export interface Language {
  tag: string;
  mark: string;
}

/** The manifest of a folder that `nmt-frontier web` wrote. */
export interface About {
  format: number;
  made_by: string;
  description: string;
  source: string | null;
  target: string | null;
  languages: { from: Language[]; to: Language[] };
  files: { name: string; size: number; sha256: string }[];
}

export interface TranslatedSentence {
  source: string;
  /** The spaces behind it. */
  behind: string;
  /** Its translation, once that is there. */
  line?: Line;
}

export interface TranslatedText {
  paragraphs: TranslatedSentence[][];
  /** Sentences and words that were translated now; others were known from calls before. */
  sentences: number;
  words: number;
  milliseconds: number;
  done: boolean;
}

/** A model in a worker, which takes one call after the other. */
export class WorkerTranslator {
  /** What the folder's manifest says; null without one. */
  readonly about: About | null;
  /**
   * source: the address of the folder `model` of a page that `nmt-frontier web` wrote, or the files of a model folder.
   * Rejects with an Error that names the file which is missing or damaged.
   */
  static open(
    source: string | URL | Files,
    options?: { onProgress?: (loaded: number, total: number) => void; worker?: () => Worker },
  ): Promise<WorkerTranslator>;
  translate(lines: Iterable<string>, options?: Options & { signal?: AbortSignal }): Promise<Line[]>;
  translateText(
    text: string,
    options?: Options & {
      signal?: AbortSignal;
      /** Of the language to translate to, in a model of many: >>de<<. */
      mark?: string;
      /** Of the text, in a model of many: a tag of BCP 47. */
      language?: string;
      onUpdate?: (text: TranslatedText) => void;
    },
  ): Promise<TranslatedText>;
  close(): void;
}
