"""Whether ``--html`` puts tags around the right word, in English sentences with a tag around one word.

The word is one of WORDS. The tag is right if it is around that word's translation alone, with an article, a preposition
or the like at most. Where it is around one that WORDS lists, `judged` says ``right``; all other lines say ``?``, for a
reader to replace by ``right``, ``wrong``, or ``missing`` where the translation has no such word.
"""

import argparse
import random
import re
from pathlib import Path

from formats import records
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import write_text
from nmt_frontier.translator import Translator

WORDS = {
    "dog": "hund", "man": "mann", "woman": "frau", "girl": "mädchen", "boy": "junge", "child": "kind",
    "children": "kinder", "people": "menschen leute personen", "men": "männer", "women": "frauen", "ball": "ball",
    "street": "straße", "water": "wasser", "snow": "schnee", "beach": "strand", "grass": "gras", "shirt": "hemd",
    "red": "rot", "blue": "blau", "white": "weiß", "black": "schwarz", "green": "grün", "yellow": "gelb",
    "young": "jung", "old": "alt", "two": "zwei", "three": "drei", "bench": "bank", "bike": "fahrrad rad",
    "horse": "pferd", "guitar": "gitarre", "hat": "hut mütze", "car": "auto", "table": "tisch", "building": "gebäude",
    "city": "stadt", "sitting": "sitz", "standing": "steh", "running": "renn lauf läuf", "playing": "spiel",
    "jumping": "spring", "walking": "geh lauf läuf", "holding": "häl halt", "camera": "kamera", "tree": "baum",
    "crowd": "menge", "orange": "orange", "brown": "braun", "bicycle": "fahrrad", "soccer": "fußball",
}  # fmt: skip
SMALL = {*"ein eine einem einen einer eines der die das den dem des in im mit auf am an und".split()}  # noqa: SIM905


def tagged(sentences: list[str], count: int, seed: int) -> list[tuple[str, str]]:
    """So many sentences with a tag around a word that they have once, and that word; of each sentence at most one."""
    drawn, found = random.Random(seed), []
    for sentence in drawn.sample(sentences, len(sentences)):
        words = re.findall(r"\w+", sentence)
        if once := [word for word in words if word.lower() in WORDS and words.count(word) == 1]:
            word = drawn.choice(once)
            found.append((re.sub(rf"\b{word}\b", f"<b>{word}</b>", sentence), word))
    return found[:count]


def judged(word: str, translation: str) -> str:
    """``right`` where the tag is around a translation of WORDS, else ``?``."""
    content = re.search(r"<b>(.*)</b>", translation)
    words = [one for one in content[1].lower().split() if one not in SMALL] if content else []
    return "right" if len(words) == 1 and any(stem in words[0] for stem in WORDS[word.lower()].split()) else "?"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=there, required=True, help="model folder of the native engine, English-German")
    parser.add_argument("--test-set", type=there, required=True, help="records")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, required=True, help="TSV to write: judged, sentence, translation")
    args = parser.parse_args()
    chosen = tagged(records.sources(args.test_set), args.sentences, args.seed)
    translator = Translator(args.model, html=True)
    outputs = translator.translate(sentence for sentence, _ in chosen)
    rows = [f"{judged(word, output)}\t{sentence}\t{output}\n" for (sentence, word), output in zip(chosen, outputs)]  # noqa: B905
    write_text(args.output, "judged\tsentence\ttranslation\n" + "".join(rows))


if __name__ == "__main__":
    command(main)
