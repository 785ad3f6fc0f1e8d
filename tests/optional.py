"""Packages and programs that `make install` leaves out, and that `make test-optional` brings.

A test that needs some has the mark ``optional`` with their names, or a fixture of ``FIXTURES``, or is in a file that
asks for ``modules`` and has the mark; without them it is skipped.
"""

import importlib.util
import shutil

import pytest

FIXTURES = {"browser": "chromium", "copier": "pymarian", "shipped": "busybox"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")  # of Debian, Ubuntu, Google


def program(name):
    """Where it is; for chromium, any of its kind."""
    return next(filter(None, map(shutil.which, BROWSERS if name == "chromium" else [name])), None)


def need(*names, whole_file=False):
    """Skip what needs them if one is missing."""
    missing = [name for name in names if not program(name) and importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"`make test-optional` brings {', '.join(missing)}", allow_module_level=whole_file)


def modules(*names):
    """These packages, imported."""
    need(*names, whole_file=True)
    return map(importlib.import_module, names)
