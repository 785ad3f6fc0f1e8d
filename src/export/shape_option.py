"""The option ``--shape``: a name of formats/shapes.yaml, or JSON."""

import json

from formats import shape
from nmt_frontier.errors import UserError


def shape_values(text: str) -> shape.Values:
    """The values of a shape, given by name or as JSON. Raises UserError for neither."""
    registry = shape.registry()
    if text in registry:
        return registry[text]
    if not text.startswith("{"):
        raise UserError(f"--shape {text}: no such name; there are {', '.join(registry)}")
    try:
        values: shape.Values = json.loads(text)
        return values
    except json.JSONDecodeError as error:
        raise UserError(f"--shape: not valid JSON: {error}") from None
