"""Import mtdata.index without what its import does: index everything, 16 s and 140 MB in the home folder.

In mtdata 0.5.1, ``mtdata/index/__init__.py`` ends with ``INDEX = Index.get_instance()``. Unless the file
``mtdata.cached_index_file`` exists, that call loads every module of the catalogue and pickles the result there; no
option prevents it. So we point it at a temporary pickle of an index without entries. The pickle is written by hand:
``pickle.dumps()`` needs the class ``Index``, which cannot be imported without running that last line.
As soon as mtdata builds its index on demand, `index_module` becomes ``import mtdata.index``.
"""

import importlib
import logging
import pickle
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType

# The opcodes of ``Index.__new__(Index)``: no entries, no attributes. Only isinstance() is asked of it.
EMPTY_INDEX = pickle.GLOBAL + b"mtdata.index\nIndex\n" + pickle.EMPTY_TUPLE + pickle.NEWOBJ + pickle.STOP


@cache
def index_module() -> ModuleType:
    """The package ``mtdata.index``, none of whose modules is loaded yet."""
    import mtdata

    with tempfile.TemporaryDirectory() as folder:
        mtdata.cached_index_file = Path(folder) / "empty.pkl"
        mtdata.cached_index_file.write_bytes(EMPTY_INDEX)
        return importlib.import_module("mtdata.index")


@contextmanager
def quiet() -> Iterator[None]:
    """Undo what mtdata does to logging: it configures the root logger on import and reports each module it loads."""
    root, disabled = logging.getLogger(), logging.root.manager.disable
    handlers, level = list(root.handlers), root.level
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.disable(disabled)
