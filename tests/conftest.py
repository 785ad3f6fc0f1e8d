"""What holds for all tests."""

import os
import tempfile
from pathlib import Path

import optional
import pytest
from hypothesis import HealthCheck, settings
from language_models import model  # noqa: F401 (a fixture)
from web import server  # noqa: F401 (a fixture)

# Estimates do not follow from what this user has measured.
os.environ.setdefault("NMT_FRONTIER_RATES", str(Path(__file__).with_name("data") / "rates.json"))

# A machine under load is slow, and no example is wrong for that. Each run has the same examples, so that none fails by
# chance; the loop between edits has a third of them. `pytest --hypothesis-profile search` looks for further ones.
settings.register_profile("all", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("fast", settings.get_profile("all"), max_examples=30)
settings.register_profile("search", settings.get_profile("all"), derandomize=False, max_examples=5_000)
settings.load_profile("all")

# The files that take longest come first, so that the processes that share the files end together; of studies only one,
# so that the second finds what numba compiled for the first.
LONGEST = (
    *("test_studies", "test_native_build", "test_finished_study", "test_training", "test_replicas", "test_image"),
    *("test_native_decoders", "test_workflow", "test_benchmark", "test_benchmarks", "test_keys", "test_translate"),
)


def pytest_addoption(parser):
    parser.addoption(
        "--cpu", help="one of tests/cpus.py: pretend that this is the machine's, to see that no test cares"
    )


def pytest_configure(config):
    if config.getoption("markexpr") == "not slow" and not config.getoption("--hypothesis-profile"):
        settings.load_profile("fast")
    if name := config.getoption("--cpu"):
        import cpus  # inside: it loads CTranslate2

        folder = tempfile.TemporaryDirectory()
        config.add_cleanup(folder.cleanup)
        cpus.pretend_everywhere(name, Path(folder.name), pytest.MonkeyPatch())


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker("slow")
        for fixture in optional.FIXTURES.keys() & {*item.fixturenames}:
            item.add_marker(pytest.mark.optional(optional.FIXTURES[fixture]))
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))


def pytest_runtest_setup(item):
    optional.need(*(name for mark in item.iter_markers("optional") for name in mark.args))
