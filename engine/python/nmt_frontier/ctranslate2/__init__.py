"""CTranslate2's ``Translator`` with this engine inside, so that programs written for that class run unchanged.

It opens model folders of the native engine, and CTranslate2's, which nmt-frontier converts when they are opened. An
argument that the engine does not have is an error with its name. New programs better use ``nmt_frontier.Translator``.

- ``translator``: the class
- ``results``: what its methods return
- ``request``: the arguments of a call, and those that the engine does not have
- ``batches``: how sentences are cut into batches, and streams read
- ``folders``: model folders, and the conversion of CTranslate2's
"""

from nmt_frontier.ctranslate2.request import set_random_seed
from nmt_frontier.ctranslate2.results import (
    AsyncResult,
    AsyncScoringResult,
    AsyncTranslationResult,
    ExecutionStats,
    ScoringResult,
    TranslationResult,
)
from nmt_frontier.ctranslate2.translator import Translator

__all__ = [
    "AsyncResult", "AsyncScoringResult", "AsyncTranslationResult", "ExecutionStats", "ScoringResult",
    "TranslationResult", "Translator", "set_random_seed",
]  # fmt: skip
