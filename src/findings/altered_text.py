"""Text as people write it, by rule: what a student learns from such text is measured on the same rules.

What is inserted into texts is not shared: a test set with the URLs of the training data would measure memory.
"""

from findings.metrics import WITHOUT_SPACES

NO_SPACES = {*WITHOUT_SPACES, "ja", "zh"}  # languages whose sentences follow each other without a space
FINAL = ".!?…。！？"


def title(text: str) -> str:
    """Every word with a capital: str.title makes Don'T of don't."""
    return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))


def without_final(text: str) -> str:
    return text.rstrip(FINAL).rstrip()


def doubled(text: str) -> str:
    """The final punctuation twice."""
    return text + text[-1] if text.endswith(tuple(FINAL)) else text
