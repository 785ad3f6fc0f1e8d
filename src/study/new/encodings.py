"""What a file is encoded in that does not say so, and is not UTF-8: a guess by the languages of the study."""

from collections.abc import Iterable
from contextlib import suppress

import charset_normalizer
import regex

from nmt_frontier.languages import shortest

GUESSED_BYTES = 1 << 16
OF_LANGUAGES = {  # encodings that texts in these languages have, of Windows, ISO, DOS and Mac
    "cs sk pl hu sl hr bs ro sq": ("cp1250", "iso8859_2", "cp852", "mac_latin2"),
    "ru uk be bg sr mk kk ky mn": ("cp1251", "koi8_r", "koi8_u", "iso8859_5", "cp866", "mac_cyrillic"),
    "sr": ("cp1250", "iso8859_2"),
    "el": ("cp1253", "iso8859_7", "cp737"),
    "tr az ku": ("cp1254", "iso8859_9", "cp857"),
    "he": ("cp1255", "iso8859_8", "cp862"),
    "ar fa ur ps ug": ("cp1256", "iso8859_6", "cp864"),
    "lt lv et": ("cp1257", "iso8859_13", "cp775"),
    "vi": ("cp1258",),
    "th": ("cp874",),
    "ja": ("cp932", "euc_jp", "iso2022_jp"),
    "zh": ("gb18030", "big5hkscs"),
    "ko": ("cp949", "johab"),
}
WESTERN = ("cp1252", "iso8859_15", "cp850", "mac_roman")  # of the other ones

_NO_WORD = (
    regex.compile(  # what letters of another encoding look like: signs inside of words or at one, capitals inside
        r"\p{L}[^\p{L}\p{M}\p{N}\s'’.,:·/_@-]\p{L}|\p{S}\p{L}|\p{L}\p{S}|\p{Ll}\p{Lu}|[^\P{C}\s\p{Cf}]"
    )
)


def guess(text: bytes, pair: Iterable[str]) -> str | None:
    """The likeliest encoding of a text in one or both languages, of those that they use, else of all.

    English has no letters beyond ASCII, so the other language alone decides.
    """
    languages = {shortest(code) for code in pair} - {"en"}
    used = [name for codes, names in OF_LANGUAGES.items() if languages & {*codes.split()} for name in names]
    others = languages - {code for codes in OF_LANGUAGES for code in codes.split()}
    used += WESTERN if others or not used else ()
    lines = b"\n".join(line for line in text[:GUESSED_BYTES].split(b"\n") if not line.isascii())
    if fitting := [] if 0 in text else _fitting(lines, used):
        best = charset_normalizer.from_bytes(lines, cp_isolation=fitting).best()
        return best.encoding if best else fitting[0]
    best = charset_normalizer.from_bytes(text[:GUESSED_BYTES]).best()
    return best.encoding if best else None


def _fitting(text: bytes, names: Iterable[str]) -> list[str]:
    """The encodings in which the fewest places are no words."""
    odd: dict[str, int] = {}
    for name in dict.fromkeys(names):
        with suppress(UnicodeDecodeError):
            odd[name] = len(_NO_WORD.findall(text.decode(name)))
    return [name for name in odd if odd[name] == min(odd.values())]
