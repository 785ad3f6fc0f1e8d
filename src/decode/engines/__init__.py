"""The engines that a study compares: the native one, and others behind the same interface.

To add an engine, write one module with one class (nmt_frontier.search.engine), add the class to ENGINES and to the
entry points in pyproject.toml, and name it at the switches that it has (nmt_frontier.search.switches).

- ``ctranslate2``: CTranslate2
- ``opennmt_tf``: OpenNMT-tf, the baseline; ``opennmt_tf_search``: its beam search by CTranslate2's rules
- ``marian``: Marian; ``marian_worker``: a process that decodes with it
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from decode.engines.ctranslate2 import CTranslate2
from decode.engines.marian import Marian
from decode.engines.opennmt_tf import OpenNMTTF
from nmt_frontier.search.engine import Engine
from nmt_frontier.search.native import Native

ENGINES: dict[str, type[Engine]] = {engine.name: engine for engine in (OpenNMTTF, CTranslate2, Native, Marian)}


def running(shape: Mapping[str, Any], names: Collection[str]) -> list[type[Engine]]:
    """The engines among ``names`` that decode a model of this shape trained by OpenNMT-tf."""
    return [engine for engine in ENGINES.values() if engine.name in names and engine.runs(shape)]


def refusal(engine: type[Engine], shape: Mapping[str, Any], names: Collection[str] = ENGINES) -> str | None:
    """Why an engine does not decode a model of this shape, and which engines among ``names`` do; None if it does.

    Example: ``CTranslate2 has no recurrent model; OpenNMT-tf and native decode it``.
    """
    if (lacks := engine.lacks(shape)) is None:
        return None
    others = [other.label for other in running(shape, names)]
    decode = f"; {' and '.join(others)} decode{'s' * (len(others) == 1)} it" if others else ""
    return f"{engine.label} {lacks}{decode}"


def folders(shape: Mapping[str, Any], types: Sequence[str], names: Collection[str]) -> list[str]:
    """Names of a system's model folders, given its shape and the types and engines of the study."""
    return [engine.folder(name) for engine in running(shape, names) for name in engine.exported(types)]
