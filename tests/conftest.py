"""What holds for all tests."""

from hypothesis import settings

# A machine under load is slow, and no example is wrong for that.
settings.register_profile("load", deadline=None)
settings.load_profile("load")


def pytest_collection_modifyitems(items):
    """Whole studies and trainings take minutes: they come first, so that cores that share the files end together."""
    items.sort(key=lambda item: item.path.stem not in ("test_finished_study", "test_studies", "test_train"))
