"""What stands below the pictures of search: which system, what text, how often, and where it was measured."""

from typing import Any


def conditions(found: dict[str, Any], what: str, *notes: str) -> str:
    """Of the measurements of one question; ``what`` was decoded, ``notes`` are on the picture itself."""
    model = found.get("model") or found["rows"][0]
    runs = f"medians of {found['runs']} runs" if found["runs"] > 1 else "a single run"
    text = (
        f"{model['system']} ({model['shape']}); {found['test_set']}, {what}; {runs}, {found['cpu']} ({found['isa']})."
    )
    return " ".join([text, *notes])
