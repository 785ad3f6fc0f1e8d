"""JSON for git: readable by lines, and small."""

import json
from typing import Any

WIDTH = 5000  # characters of a line of JSON; a measurement has fewer


def compact(value: Any) -> str:
    """JSON with as much on a line as fits; equal values give equal text."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if len(text) <= WIDTH or not isinstance(value, dict | list):
        return text
    if isinstance(value, list):
        return "[\n" + ",\n".join(map(compact, value)) + "\n]"
    return "{\n" + ",\n".join(f"{compact(str(key))}:{compact(one)}" for key, one in value.items()) + "\n}"
