"""What holds for all tests."""

from hypothesis import settings

# A machine under load is slow, and no example is wrong for that.
settings.register_profile("load", deadline=None)
settings.load_profile("load")
