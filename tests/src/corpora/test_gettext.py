"""PO: which form of a plural is which, its encoding, KDE's contexts and credits."""

import pytest
from mirrored_texts import read
from surroundings import isolated  # noqa: F401 (a fixture of all tests here)

from nmt_frontier.errors import UserError


def po_header(*lines):
    return 'msgid ""\nmsgstr ""\n' + "".join(f'"{line}\\n"\n' for line in lines) + "\n"


def plural(*forms, kde=False):
    if kde:
        lines = "\\n".join(forms)
        return f'msgid "_: said of dogs\\n"\n"_n: a dog\\n"\n"%n dogs"\nmsgstr "{lines}"\n\n'
    translations = "".join(f'msgstr[{number}] "{form}"\n' for number, form in enumerate(forms))
    return f'msgid "a dog"\nmsgid_plural "%n dogs"\n{translations}\n'


SLOVENIAN = "nplurals=4; plural=(n%100==1 ? 1 : n%100==2 ? 2 : n%100==3 || n%100==4 ? 3 : 0);"
ARABIC = "nplurals=6; plural=n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5;"


@pytest.mark.parametrize("kde", [False, True])
@pytest.mark.parametrize(
    ("header", "number", "forms"),
    [
        (ARABIC, 6, (1, 3)),
        (SLOVENIAN, 4, (1, 0)),
        ("nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2);", 3, (0, 1)),  # Latvian
        ("nplurals=2; plural=(n > 1);", 2, (0, 1)),
        ("nplurals=2; plural=n==1;", 2, (1, 0)),
        ("nplurals=1; plural=0;", 1, (0, 0)),
        ("nplurals=2; plural=__import__('os');", 2, (0, 1)),
        ("nplurals=2; plural=n%0;", 2, (0, 1)),
        ("nplurals=INTEGER; plural=EXPRESSION;", 2, (0, 1)),
        (None, 2, (0, 1)),
        (None, 3, None),
        ("nplurals=3; plural=n==1 ? 0 : 7;", 3, None),
        ("nplurals=3; plural=(n", 2, None),
        (ARABIC, 2, None),
    ],
)
def test_plurals_of_po_are_those_of_the_header(header, number, forms, kde):
    text = po_header(*[f"Plural-Forms: {header}"] * bool(header)) + plural(*map(str, range(number)), kde=kde)
    if forms:
        one, several = map(str, forms)
        assert read("po", text.encode()) == ([("a dog", one), ("%n dogs", several)], [])
    else:
        assert read("po", text.encode()) == ([], ["missing_side"] * 2)


def test_a_plural_that_lacks_a_form():
    text = po_header(f"Plural-Forms: {SLOVENIAN}") + plural("", "en pes", "dva psa", "trije psi")
    assert read("po", text.encode())[0] == [("a dog", "en pes"), ("%n dogs", "dva psa")]
    assert read("po", (po_header("Language: de") + plural("", "")).encode())[1] == ["missing_side"] * 2


def test_po_says_its_encoding():
    comments = "# Übersetzer\n" * 1000  # longer than the first bytes
    for charset, stated in (("iso-8859-1", "ISO-8859-1"), ("utf-8", "CHARSET"), ("utf-8", "ascii")):
        header = po_header('Project-Id-Version: a \\"b\\"', f"Content-Type: text/plain; charset={stated}")
        text = f'{comments}{header}msgid "one"\nmsgstr "Grüße"\n'
        for line_end in ("\n", "\r\n"):
            assert read("po", text.replace("\n", line_end).encode(charset)) == ([("one", "Grüße")], [])
    inside = f'msgid "one"\nmsgstr "Grüße"\n\n{po_header("Content-Type: text/plain; charset=ISO-8859-1")}'
    assert read("po", inside.encode())[0] == [("one", "Grüße")]
    with pytest.raises(UserError, match="unknown encoding georgian-ps"):
        read("po", po_header("Content-Type: text/plain; charset=GEORGIAN-PS").encode())


def test_po_of_kde_has_contexts_and_credits():
    text = (
        'msgid "_: verb\\n"\n"Open"\nmsgstr "Öffnen"\n\n'
        'msgid "_: NAME OF TRANSLATORS\\n"\n"Your names"\nmsgstr "Jan"\n\n'
        'msgctxt "EMAIL OF TRANSLATORS"\nmsgid "Your emails"\nmsgstr "jan@example.org"\n\n'
        'msgid "translator-credits"\nmsgstr "Jan <jan@example.org>"\n\n'
        'msgid "_: no context"\nmsgstr "_: keiner"\n'
    )
    assert read("po", text.encode()) == (
        [("Open", "Öffnen"), ("_: no context", "_: keiner")],
        ["not_a_translation"] * 3,
    )
