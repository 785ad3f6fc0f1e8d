"""The one setting of network or training that sets two students apart, in words."""

from typing import Any

Settings = dict[str, Any]  # by the names of the configuration

DEFAULTS = {"decoder": "self-attention"}  # of a shape that does not name it
COUNTED = ("encoder_layers", "decoder_layers", "units", "ffn_units", "heads", "embedding_units")


def difference(settings: Settings, other: Settings) -> tuple[str, str] | None:
    """What the first student has, and the other in its place: ``("5,000 updates", "2,000")``.

    None unless they differ in exactly one setting, whose values are no lists. Longer trainings may keep checkpoints at
    larger distances; that is named, too, as it changes the average of the last ones.
    """
    both = [DEFAULTS | settings, DEFAULTS | other]
    differing = {name for name in {**settings, **other} if both[0].get(name) != both[1].get(name)}
    if differing == {"steps", "checkpoint_steps"}:
        own, instead = (f"{one['steps']:,}{{}}, a checkpoint every {one['checkpoint_steps']:,}" for one in both)
        return own.format(" updates"), instead.format("")
    if len(differing) != 1:
        return None
    (name,) = differing
    values = [one.get(name) for one in both]
    if any(isinstance(value, list | dict) for value in values):
        return None
    own, instead = map(text, values)
    match name:
        case "steps":
            return f"{own} updates", instead
        case "cell":
            return own.upper(), instead.upper()
        case "decoder":
            return f"{own} decoder", instead
    words = name.replace("_", " ")
    return (f"{own} {words}" if name in COUNTED else f"{words} {own}"), instead


def text(value: str | float | bool | None) -> str:
    if value is None or isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
