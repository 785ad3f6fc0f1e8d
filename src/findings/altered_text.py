"""Text as people write it, by rule: what a student learns from such text is measured on the same rules.

What is inserted into texts is not shared: a test set with the URLs of the training data would measure memory.
"""

import itertools
from random import Random

FINAL = ".!?…。！？"


def title(text: str) -> str:
    """Every word with a capital: str.title makes Don'T of don't."""
    return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))


def without_final(text: str) -> str:
    return text.rstrip(FINAL).rstrip()


def doubled(text: str) -> str:
    """The final punctuation twice."""
    return text + text[-1] if text.endswith(tuple(FINAL)) else text


def typos(text: str, drawn: Random, share: float) -> str:
    """A typo in this share of the words."""
    return " ".join(typo(word, drawn) if drawn.random() < share else word for word in text.split(" "))


def typo(word: str, drawn: Random) -> str:
    """A word with two letters swapped, one dropped, or one doubled; as it is if it has no two letters side by side."""
    letters = [place for place, (one, other) in enumerate(itertools.pairwise(word)) if (one + other).isalpha()]
    if not letters:
        return word
    place, kind = drawn.choice(letters), drawn.choice(("swapped", "dropped", "doubled"))
    before, one, other, after = word[:place], word[place], word[place + 1], word[place + 2 :]
    if kind == "dropped":
        return before + one + after
    return before + (other + one if kind == "swapped" and one != other else one + one + other) + after
