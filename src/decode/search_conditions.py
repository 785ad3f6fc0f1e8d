"""What stands below the pictures of search: which system, what text, how often, and where it was measured."""

from typing import Any

from decode.measurements import repeats


def conditions(found: dict[str, Any], what: str, *notes: str) -> str:
    """Of the measurements of one question; ``what`` was decoded, ``notes`` are on the picture itself."""
    model = found.get("model") or found["rows"][0]
    text = f"{model['system']} ({model['shape']}); {found['test_set']}, {what}; {repeats([found])}, "
    text += f"{found['cpu']} ({found['isa']})."
    return " ".join([text, *notes])
