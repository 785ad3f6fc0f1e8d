"""Which units of XLIFF are translations, by what its versions and its programs call the others."""

from xml.etree.ElementTree import Element

# XLIFF 1.2 of a target: needs-adaptation and needs-review-adaptation are about what is no text.
_UNFINISHED = {"new", "needs-translation", "needs-l10n", "needs-review-translation", "needs-review-l10n"}
_UNCONFIRMED = {  # by attribute of a unit; the prefixes are those that the programs write
    "state": {"initial"},  # XLIFF 2
    "{mq}status": {
        "NotStarted", "PreTranslated", "Pretranslated", "PartiallyEdited", "AssembledFromFragments",
        "MachineTranslated", "AutoSplit", "AutoSplitAndEmpty", "Rejected",
    },  # memoQ
    "{m}confirmed": {"0"},  # Phrase
}  # fmt: skip
_CONFIRMED = {"Translated", "ApprovedTranslation", "ApprovedSignOff"}  # Trados


def is_translation(unit: Element, target: Element | None, translate: bool) -> bool:
    """Whether the target is a translation that somebody finished.

    translate: what holds around the unit. ``approved="no"`` counts where no state says more.
    """
    if unit.get("translate", "yes" if translate else "no") == "no":
        return False
    state = None if target is None else target.get("state")
    if state in _UNFINISHED or (state is None and unit.get("approved") == "no"):
        return False
    for name, value in unit.items():
        if value in _UNCONFIRMED.get(name, ()):
            return False
    return len(unit) < 3 or all(seg.get("conf") in _CONFIRMED for seg in unit.iterfind("{sdl}seg-defs/{sdl}seg"))
