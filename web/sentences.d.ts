export interface Sentence {
  text: string;
  /** The spaces behind it. */
  behind: string;
}

/** The paragraphs of a text, which line breaks divide, each a list of its sentences. language: a tag of BCP 47. */
export function paragraphs(text: string, language?: string): Sentence[][];

/** How many words a text has. */
export function countWords(text: string, language?: string): number;
