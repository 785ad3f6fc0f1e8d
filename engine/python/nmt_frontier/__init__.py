"""A model folder and text in, translations out.

- ``translator``: translates text with a model folder
- ``model``: what is on disk
- ``text``: what is text: pieces, and stages around a model
- ``search``: what is search: engines, batches, switches
- ``importers``: what reads the models of other toolkits
- ``making``: makes a model folder
- ``sentence``: a sentence as a line of text, or as pieces; ``characters``: emoji, and what is invisible
- ``languages``: codes of languages as files, programs and people write them
- ``limits``: the limits of decoding with any engine
- ``errors``: errors that the user can fix, in one line
- ``files``: outputs that appear whole or not at all, JSON, checksums
- ``first_bytes``: what lies in place of a text or a model, such as a pointer of Git LFS
- ``progress``: progress of long work
- ``command_line``: types of arguments; some arguments as a dataclass
- ``cpu``, ``machine``: the CPU, as Linux describes it, and the machine that a measurement runs on
- ``command``: the command ``nmt-frontier``
- ``bindings``: the engine's C interface: a loaded model, and workers that decode with it; ``kernels``: its products;
  ``peaks``: how fast a core computes these at best
- ``ctranslate2``, ``huggingface``: classes of CTranslate2 and transformers with this engine inside

>>> from nmt_frontier import Translator
>>> list(Translator("results/demo/models/tiny/native-int8").translate(["A dog runs."]))
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt_frontier.translator import Translator as Translator

__all__ = ["Translator"]


def __getattr__(name: str) -> Any:
    """Import the translator when it is asked for: what only describes a folder needs neither text nor search."""
    if name != "Translator":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from nmt_frontier.translator import Translator

    return Translator
