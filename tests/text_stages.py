"""Stages of text around a function that translates instead of a model."""

from functools import partial

from nmt_frontier.text.alignment import copied
from nmt_frontier.text.stage import Stages, Translation


def through(stages, change, lines):
    """The lines translated by ``change``, a line in each window, and the texts that it was given.

    Alignments are those of texts that it copies.
    """
    given = []

    def translate(lines, named):
        for texts in lines:
            given.extend(texts)
            yield [[Translation(change(text), partial(copied, text)) for text in texts]]

    return [found.text for window in Stages(stages, translate).windows(lines) for found in window], given
