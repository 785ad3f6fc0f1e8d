"""Divide a text into sentences by rules, with the package sentencex."""

from collections.abc import Callable

from common.errors import UserError


def splitter(language: str) -> Callable[[str], list[str]]:
    """A function that divides a text; its sentences, with the spaces behind them, make up the text again.

    language: a code; a language that the package does not know has the rules of a related one, or those of English.
    Raises UserError if the package is not installed.
    """
    try:
        from sentencex import segment  # inside: only --sentences needs it
    except ImportError as error:
        raise UserError(f"--sentences needs the package sentencex ({error}); run `make install`") from None
    return lambda text: list(segment(language, text))
