"""What holds for all tests."""

from hypothesis import settings

# A machine under load is slow, and no example is wrong for that.
settings.register_profile("load", deadline=None)
settings.load_profile("load")


def pytest_collection_modifyitems(items):
    """Whole studies take minutes: they come first, so that files shared out to several cores end at the same time."""
    items.sort(key=lambda item: item.path.stem not in ("test_finished_study", "test_studies"))
