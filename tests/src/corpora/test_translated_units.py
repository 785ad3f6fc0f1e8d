"""XLIFF: units that are no translations, by state, program and surroundings."""

import pytest
from mirrored_texts import read
from surroundings import isolated  # noqa: F401 (a fixture of all tests here)


def xliff_of(body, version="1.2", file=""):
    old = version == "1.2"
    languages = 'source-language="en" target-language="de"' if old else ""
    root = "" if old else 'srcLang="en" trgLang="de" '
    prefixes = 'xmlns:sdl="http://sdl.com/FileTypes/SdlXliff/1.0" xmlns:mq="MQXliff" xmlns:m="urn:m"'
    return f'<xliff version="{version}" {root}{prefixes}><file {languages} {file}><body>{body}</body></file></xliff>'


def unit(name, attributes="", target="", after=""):
    return f"<trans-unit {attributes}><source>{name}</source><target {target}>{name}</target>{after}</trans-unit>\n"


def segs(*values):
    inside = "".join(f'<sdl:seg id="1"{f" conf={value!r}" if value else ""}/>' for value in values)
    return f"<sdl:seg-defs>{inside}</sdl:seg-defs>"


@pytest.mark.parametrize(
    ("kept", "dropped"),
    [
        (unit("a", "", 'state="translated"'), unit("b", "", 'state="new"')),
        (unit("a", "", 'state="final"'), unit("b", "", 'state="needs-review-translation"')),
        (unit("a", "", 'state="needs-adaptation"'), unit("b", "", 'state="needs-l10n"')),
        (unit("a", 'approved="yes"'), unit("b", 'approved="no"')),
        (unit("a", 'approved="no"', 'state="translated"'), unit("b", 'approved="yes"', 'state="needs-translation"')),
        (unit("a", 'translate="yes"'), unit("b", 'translate="no"')),
        (unit("a", after=segs("Translated")), unit("b", after=segs("Draft"))),
        (unit("a", after=segs("ApprovedSignOff", "Translated")), unit("b", after=segs("Translated", None))),
        (unit("a", 'mq:status="Proofread"'), unit("b", 'mq:status="NotStarted"')),
        (unit("a", 'mq:status="ManuallyConfirmed"'), unit("b", 'mq:status="MachineTranslated"')),
        (unit("a", 'm:confirmed="1"'), unit("b", 'm:confirmed="0"')),
    ],
)
def test_what_xliff_calls_no_translation(kept, dropped):
    broken = unit("c & d")  # so that each is parsed alone
    for body, reasons in ((kept + dropped, []), (broken + kept + dropped, ["malformed"])):
        assert read("xliff", xliff_of(body).encode()) == ([("a", "a")], [*reasons, "not_a_translation"])


@pytest.mark.parametrize("chunk", [1 << 18, 60])
def test_what_xliff_does_not_translate(chunk):
    inside = unit("b") + unit("c", 'translate="yes"') + f'<group translate="yes">{unit("d")}</group>' + unit("e")
    comment = '<!-- <group translate="no"> --><group translate="no"/>'
    groups = f'{unit("a")}{comment}<group><group id="1" translate="no">{inside}</group>{unit("f")}</group>{unit("g")}'
    found, reasons = read("xliff", xliff_of(groups).encode(), chunk=chunk)
    assert "".join(source for source, _ in found) == "acdfg" and reasons == ["not_a_translation"] * 2
    files = xliff_of(groups, file='translate="no"').replace("</xliff>", xliff_of(unit("h")).split(">", 1)[1])
    found, reasons = read("xliff", files.encode(), chunk=chunk)
    assert "".join(source for source, _ in found) == "cdh" and reasons == ["not_a_translation"] * 5


def test_what_xliff_2_does_not_translate():
    segments = "".join(
        f"<unit {of_unit}><segment {state}><source>{name}</source><target>{name}</target></segment></unit>"
        for name, of_unit, state in (
            ("a", "", 'state="translated"'),
            ("b", "", 'state="initial"'),
            ("c", 'translate="no"', ""),
            ("d", "", ""),
        )
    )
    assert read("xliff", xliff_of(segments, "2.0").encode()) == ([("a", "a"), ("d", "d")], ["not_a_translation"] * 2)
