"""Write the tables of nfc.cpp, of normalisation form C and letters, as Python 3.11 knows them, and of what is invisible
(nmt_frontier.characters): ``nfc_tables.py FILE``.

Training data are normalised by the same version of Unicode; another Python has another version and is refused.
"""

import sys
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from nmt_frontier.characters import EMOJI, IDEOGRAPHS, INVISIBLE, JOINED, MONGOLIAN, classified

UNICODE = "14.0.0"  # of Python 3.11
SURROGATES, HANGUL = range(0xD800, 0xE000), range(0xAC00, 0xD7A4)  # Hangul is computed
LONGEST = 4  # code points of a decomposition


def table(name: str, kind: str, rows: Iterable[Iterable[int]]) -> str:
    lines = "".join(f"    {{{', '.join(map(hex, row))}}},\n" for row in rows)
    return f"const {kind} {name}[] = {{\n{lines}}};\n"


def ranges(name: str, characters: Iterable[str]) -> str:
    rows: list[list[int]] = []
    for code in map(ord, characters):
        if rows and rows[-1][1] == code - 1:
            rows[-1][1] = code
        else:
            rows.append([code, code])
    return table(name, "Range", rows)


def main() -> None:
    if (version := unicodedata.unidata_version) != UNICODE:
        sys.exit(f"nfc_tables.py: needs Unicode {UNICODE}, which Python 3.11 has; this Python has {version}")
    characters = [chr(code) for code in range(sys.maxunicode + 1) if code not in SURROGATES and code not in HANGUL]
    whole = [(c, unicodedata.normalize("NFD", c)) for c in characters]
    decompositions = [(ord(c), *map(ord, parts)) for c, parts in whole if parts != c]
    assert max(map(len, decompositions)) <= 1 + LONGEST
    marks = [(ord(c), unicodedata.combining(c)) for c in characters if unicodedata.combining(c)]
    pairs = []
    for c in characters:
        parts = unicodedata.decomposition(c).split()
        if len(parts) == 2 and not parts[0].startswith("<") and unicodedata.normalize("NFC", c) == c:
            pairs.append((*(int(part, 16) for part in parts), ord(c)))
    joined = [c for c in classified(JOINED) if unicodedata.category(c)[0] in "LMN"]
    text = (
        table("kDecompositions", "Decomposition", decompositions)
        + table("kMarks", "Mark", marks)
        + table("kCompositions", "Composition", sorted(pairs))
        + ranges("kLetters", filter(str.isalpha, map(chr, range(sys.maxunicode))))
        + ranges("kInvisible", classified(INVISIBLE))
        + ranges("kEmoji", classified(EMOJI))
        + ranges("kIdeographs", classified(IDEOGRAPHS))
        + ranges("kMongolian", classified(MONGOLIAN))
        + ranges("kJoined", joined)
    )
    Path(sys.argv[1]).write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()
