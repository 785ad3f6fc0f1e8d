"""What holds for all tests."""

from hypothesis import settings
from web import server  # noqa: F401 (a fixture)

# A machine under load is slow, and no example is wrong for that.
settings.register_profile("load", deadline=None)
settings.load_profile("load")

# The files that take longest come first, so that the processes that share the files end together.
LONGEST = (
    *("test_studies", "test_finished_study", "test_training", "test_native_build", "test_replicas", "test_benchmark"),
    *("test_benchmarks", "test_native_decoders", "test_keys"),
)


def pytest_collection_modifyitems(items):
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))
