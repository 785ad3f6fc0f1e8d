"""What the engine's attention says of a translation: its alignment, and source words for unknown pieces."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_frontier.sentence import composed, sentence
from nmt_frontier.text.alignment import Alignment, Span, copied
from nmt_frontier.text.stage import Translation
from nmt_frontier.text.surfaces import decoded, encoded
from nmt_frontier.text.tokenizers import Processors


class Attended(list[Any]):
    """A translation in pieces, as the engine numbers them or as text.

    text: its pieces as text. attention: of the head that is aligned, else the mean of the last layer's; float32
    [pieces; pieces of the source]. looped: whether its end was cut off, as in Looped.
    """

    def __init__(self, pieces: Iterable[Any], text: list[str], attention: NDArray[np.float32], looped: bool):
        super().__init__(pieces)
        self.text, self.attention, self.looped = text, attention, looped


class Attention:
    """Makes translations of what the engine attends to.

    replace_unknown: write the aligned source word instead of an unknown piece.
    """

    def __init__(self, processors: Processors, replace_unknown: bool):
        (self._source, self._target), self._replace_unknown = processors, replace_unknown
        self.unknown: str = self._target.id_to_piece(self._target.unk_id())

    def translation(self, source: str, text: str, output: object) -> Translation:
        """text: the engine's output as text; output: Attended, or nothing if the text was not decoded, but copied."""
        if not isinstance(output, Attended) or not output:
            return Translation(text, lambda: self._undecoded(source, text))
        if not self._replace_unknown or self.unknown not in output.text:
            return Translation(text, lambda: self._aligned(source, text, output, self._surfaces(output)))
        surfaces = self._replaced(source, output)
        text = sentence("".join(surfaces))
        return Translation(text, lambda: self._aligned(source, text, output, surfaces))

    def _undecoded(self, source: str, text: str) -> Alignment:
        if text:
            return copied(text)
        spans = self._pieces(source)  # the model left it empty
        return Alignment(spans, [], np.zeros((0, len(spans)), np.float32))

    def _aligned(self, source: str, text: str, output: Attended, surfaces: Sequence[str]) -> Alignment:
        ends = [0, *accumulate(map(len, surfaces))]
        whole = "".join(surfaces)
        if whole.strip() != text:  # composed, or with other spaces
            ends = [len(composed(whole[:end])) for end in ends]
            whole = composed(whole)
        lead = len(whole) - len(whole.lstrip())
        places = [min(max(end - lead, 0), len(text)) for end in ends]
        return Alignment(self._pieces(source), [*pairwise(places)], output.attention)

    def _pieces(self, text: str) -> list[Span]:
        lengths = [*map(len, encoded(self._source, text))]
        return [(end - size, end) for size, end in zip(lengths, accumulate(lengths), strict=True)]

    def _surfaces(self, output: Attended) -> list[str]:
        return decoded(self._target, output.text)

    def _replaced(self, source: str, output: Attended) -> list[str]:
        """The text of each piece; for an unknown one that of the source word, once if several in a row share it."""
        spans, found, before = self._pieces(source), list[str](), ""
        for piece, surface, row in zip(output.text, self._surfaces(output), output.attention, strict=True):
            word = _word(source, spans[min(int(row.argmax()), len(spans) - 1)]) if piece == self.unknown else ""
            if word:
                apart = bool(found) and not "".join(found).endswith(" ")
                surface = "" if word == before else " " * apart + word
            found.append(surface)
            before = word
        return found


def _word(text: str, span: Span) -> str:
    """The word around a piece, without the marks at its ends."""
    begin, end = span
    while begin < end and text[begin].isspace():
        begin += 1
    end = max(end, begin + 1)
    while begin and not text[begin - 1].isspace():
        begin -= 1
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[begin:end].strip(".,;:!?()\"'") or text[begin:end]
