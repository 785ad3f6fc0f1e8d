"""Inline codes of TMX and XLIFF: what parts words leaves a space, what formats them leaves nothing."""

import pytest
from mirrored_texts import read
from surroundings import isolated  # noqa: F401 (a fixture of all tests here)

PARTING = [
    '<ph type="lb"/>',  # TMX
    '<ph x="1" type="pb"></ph>',
    "<ph>&lt;br/&gt;</ph>",
    '<it pos="begin">&lt;BR class="x"&gt;</it>',
    "<bpt>&lt;/p&gt;</bpt><ept>&lt;p&gt;</ept>",
    "<ph>&lt;br0/&gt;</ph>",  # OmegaT
    '<ph>&lt;mq:ch val="&#9;" /&gt;</ph>',  # memoQ
    "<ut>{\\line }</ut>",  # Trados
    "<ph>\\n</ph>",
    "<ph>&amp;nbsp;</ph>",
    "<br/>",
    '<x:br xmlns:x="http://www.w3.org/1999/xhtml"/>',
    '<x id="1" ctype="lb"/>',  # XLIFF 1.2
    '<x id="1" ctype="x-br"/>',
    '<ph id="1" ctype="x-html-BR">&amp;1</ph>',
    '<x id="LINE_BREAK" equiv-text="&lt;br&gt;"/>',
    ' <x id="1" ctype="lb"/> <x id="2" ctype="lb"/>\n',
    '<ph id="1" type="fmt" subType="xlf:lb"/>',  # XLIFF 2
    '<ph id="1" equiv="LINE_BREAK" disp="&lt;br/&gt;"/>',
    '<cp hex="0009"/>',
    '<cp hex="a"/>',
]
FORMATTING = [
    "<bpt>&lt;b&gt;</bpt>",
    '<ph type="fnote">1</ph>',
    "<ph>&lt;bronze/&gt;</ph>",
    "<ph>&lt;s&gt;</ph>",
    '<g id="p" ctype="bold"/>',
    '<ph id="br" type="fmt" subType="xlf:b"/>',
    '<cp hex="001A"/>',
]
UNITS = {
    "tmx": '<tu><tuv lang="en"><seg>{0}</seg></tuv><tuv lang="de"><seg>{0}</seg></tuv></tu>',
    "xliff": "<trans-unit><source>{0}</source><target>{0}</target></trans-unit>",
}
FILES = {
    "tmx": '<tmx version="1.4"><body>{}</body></tmx>',
    "xliff": '<xliff version="1.2"><file source-language="en" target-language="de"><body>{}</body></file></xliff>',
}


def sides(name, texts):
    found, dropped = read(name, FILES[name].format("".join(map(UNITS[name].format, texts))).encode())
    assert not dropped and all(source == target for source, target in found)
    return [source for source, _ in found]


@pytest.mark.parametrize("name", FILES)
def test_only_codes_that_part_words_leave_a_space(name):
    assert sides(name, [f"First{code}Second" for code in PARTING]) == ["First Second"] * len(PARTING)
    assert sides(name, [f"First{code}Second" for code in FORMATTING]) == ["FirstSecond"] * len(FORMATTING)
    assert sides(name, [f"{code}First Second{code}" for code in PARTING]) == ["First Second"] * len(PARTING)


def test_codes_whose_markup_the_unit_has():
    data = '<data id="d1">&lt;br class="x"/&gt;</data>\n<data id="d2">&lt;b&gt;</data>'
    segment = "<segment><source>{0}</source><target>{0}</target></segment>".format(
        'A<ph id="1" dataRef="d1"/><pc id="2" dataRefStart="d2" dataRefEnd="d2">B</pc>C'
    )
    unit = f"<unit><originalData>{data}</originalData>\n{segment}</unit><unit>{segment}</unit>"
    file = f'<xliff version="2.0" srcLang="en" trgLang="de"><file>{unit}</file></xliff>'
    assert read("xliff", file.encode()) == ([("A BC", "A BC"), ("ABC", "ABC")], [])


def test_bytes_of_qt():
    message = "<message><source>A{0}B</source><translation>A{0}B</translation></message>"
    messages = message.format('<byte value="x9"/>') + message.format('<byte value="x1b"/>')
    file = f'<TS version="2.1" language="de" sourcelanguage="en"><context>{messages}</context></TS>'
    assert read("ts", file.encode())[0] == [("A B", "A B"), ("AB", "AB")]


def test_text_inside_of_parting_codes_stays():
    entries = '<g ctype="x-html-li">one</g><g ctype="x-html-li">t<hi type="bold">w</hi>o</g>'
    assert sides("xliff", [f'{entries} <pc dispStart="&lt;p&gt;">three</pc>']) == ["one two three"]
