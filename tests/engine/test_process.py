"""A loaded model leaves its process as it was; what a translation does not need is not imported for it."""

import json

import pytest
from native import folders, run

CHANGED = """
import json, os, signal, sys, warnings
from nmt_frontier import Translator

def state():
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    return dict(os.environ), [os.sched_getaffinity(0), handlers, [*warnings.filters]]

if sys.argv[2] == "ctranslate2":
    import numpy  # it adds filters when CTranslate2 imports it

environment, others = state()
[*Translator(sys.argv[1]).translate(["a"])]
found, same = state()
print(json.dumps([[name for name, _ in sorted(environment.items() ^ found.items())], same == others]))
"""

IMPORTED = """
import sys
from nmt_frontier import Translator

[*Translator(sys.argv[1]).translate(["a"])]
slow = {"argparse", "html.parser", "importlib.metadata", "numpy", "subprocess"}
print(sorted(slow.intersection(sys.modules)))
"""


@pytest.mark.parametrize(
    ("engine", "allowed"),
    # CTranslate2 has no other options, and what it has read holds for the process (formats.ctranslate2_loading).
    [("int8", set()), ("ctranslate2", {"CT2_FORCE_CPU_ISA", "MKL_NUM_THREADS"})],
)
def test_a_loaded_model_changes_nothing_of_its_process(engine, allowed):
    changed, same = json.loads(run(CHANGED, folders() / engine, engine, MKL_NUM_THREADS="1"))
    assert same and {*changed} <= allowed


def test_a_line_is_translated_without_what_takes_long_to_import():
    assert run(IMPORTED, folders() / "int8") == "[]\n"
