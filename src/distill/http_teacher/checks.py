"""Whether an answer is a translation: one line, in the right language, of a sane length, and nothing but that."""

import re

import numpy as np

from corpora.language import Identifier
from corpora.text_features import Characters, Measured, characters
from distill.http_teacher.kept import Answer
from distill.http_teacher.prompt import names_of
from distill.http_teacher.server import REJECTED
from findings.loops import looping
from formats import batches, records

CUT_OFF = "length"  # finish of an answer that reached its limit of tokens
FILTERED = "content_filter"
SLACK = 20  # characters by which a short text may be longer than its ratio allows
NAME = 3  # words of the longest text that may be the same on both sides, all in capitals at least at their beginnings
SCRIPT_SHARE = 0.5  # of the letters
# By how much langid.py prefers another language at most, in log-probability. From SHORT characters on, 0.05 % of true
# captions of Multi30k fail, and 1 % of Tatoeba's shorter ones; of those in English or French instead of German 95 % and
# more. What is shorter gets twice as much: 1 to 2 % of true texts fail, and half of the wrong ones pass.
MARGIN, SHORT = 5.0, 20

_THOUGHT = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)
_REFUSAL = re.compile(
    r"\bas an? (ai|artificial intelligence|(large )?language model)\b"
    r"|\bi('m| am) (just |only )?(an ai|a (large )?language model)\b"
    r"|\bi('m| am)? ?(can(no|['’])?t|unable to|not able to|won['’]t|will not)\b.{0,30}?"
    r"\b((assist|help)( you)? with|assist|translate|fulfill?|comply|provide (a|the|this|that))\b"
    r"|\bals (ki|sprachmodell)\b"
    r"|\bich kann (dabei|damit|(diese[nrs]?|den|das) (text|satz|anfrage|inhalt))\b.{0,30}\bnicht\b"
    r"|\bje ne peux pas (traduire|vous aider (avec|à))|\ben tant qu(e |['’])(ia|intelligence|modèle de langage)\b"
    r"|\bno puedo (traducir|ayudar(te|le) (con|a))|\bcomo (una ia|modelo de lenguaje)\b",
    re.IGNORECASE,
)
_WORD = "(translation|translated text|übersetzung|traduction|traducción|traduzione|tradução|vertaling)"
_EXPLANATION = re.compile(
    rf"^\W*((sure|certainly|of course|okay)\W+)?(here('s| is| are)|hier ist|voici)\b.{{0,60}}\b{_WORD}"
    rf"|^\W*((the|a|your|die|eine|la|une) )?{_WORD}\b[^.!?]{{0,40}}:"
    rf"|\b{_WORD} (of|for|von|de) (the|your|this|den|das)\b|\btranslates (to|as|into)\b"
    r"|[.!?)\"”“»]\s*[(\[*_]*(note|explanation|anmerkung|hinweis)\b[^.!?]{0,20}:|```|</?think>"
    r"|<\|\w+\|>|</?s>|<(start|end)_of_turn>|\[/?INST\]",  # what a wrong template leaves of a conversation
    re.IGNORECASE,
)
_QUOTES = "\"'“”„«»‘’「」"
_MARKS = "*_`"  # of Markdown
_QUOTED = re.compile(rf"[{_QUOTES}][^{_QUOTES}]+[{_QUOTES}]|([{_MARKS}]{{1,3}})[^{_MARKS}]+\1")


def text_of(answer: Answer) -> str:
    """What the model answered, without its thoughts and without spaces around it."""
    return _THOUGHT.sub("", answer.text, count=1).strip()


def named(words: list[str]) -> bool:
    """Whether a text may be a name, a number or a word that both languages have."""
    return len(words) == 1 or (len(words) <= NAME and not any(word[0].islower() for word in words))


class Checks:
    """Finds the first reason why an answer is no translation.

    languages: codes of the source and the target language. ratio: of the longer text to the shorter one, in characters.
    """

    def __init__(self, languages: list[str], ratio: float):
        self._target, self._ratio = languages[1], ratio
        self._characters: Characters = characters([languages[1]])
        self._identifier = Identifier()
        self._column = self._identifier.classes.index(languages[1])
        names = "|".join(map(re.escape, (name for each in languages for name in names_of(each))))
        self._label = re.compile(rf"^\W*({names})( translation)?\s*:", re.IGNORECASE)

    def reason(self, source: str, answer: Answer) -> str | None:
        """None for an answer that passes."""
        text = text_of(answer)
        if answer.finish == REJECTED:
            return "rejected"
        if answer.finish == FILTERED:
            return "refusal"
        if answer.finish == CUT_OFF:
            return "cut_off"
        if not text:
            return "empty"
        for reason, pattern in (("refusal", _REFUSAL), ("explanation", _EXPLANATION), ("explanation", self._label)):
            if pattern.search(text) and not pattern.search(source):
                return reason
        if len(text.splitlines()) > 1:
            return "several_lines"
        if _QUOTED.fullmatch(text) and source[0] not in _QUOTES + _MARKS:
            return "quotes"
        return self._of_text(source, records.sentence(text))

    def _of_text(self, source: str, text: str) -> str | None:
        if source.casefold().split() == text.casefold().split() and not named(source.split()):
            return "copy"
        shorter, longer = sorted((len(source), len(text)))
        if longer > self._ratio * shorter + SLACK:
            return "length"
        if looping(text) and not looping(source):
            return "loop"
        side = Measured(batches.indexed(f"{text}\n".encode()), self._characters).sides[0]
        if side.control[0]:
            return "control_characters"
        if side.in_script[0] < SCRIPT_SHARE * side.letters[0]:
            return "wrong_script"
        return "wrong_language" if side.letters[0] and self._wrong_language(text) else None

    def _wrong_language(self, text: str) -> bool:
        encoded = np.frombuffer(text.encode(), np.uint8)
        scores = self._identifier.log_probabilities(encoded, np.array([0]), np.array([len(encoded)]))[0]
        return float(scores.max() - scores[self._column]) > (MARGIN if len(text) >= SHORT else 2 * MARGIN)
