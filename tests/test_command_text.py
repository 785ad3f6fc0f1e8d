"""The command of submissions reads and writes text as decode.translate: UTF-8, form C, white space, protected text."""

import functools
import random
import shutil
import subprocess
import sys
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from decode.protection import Protection, summary
from formats.protection import KINDS, SYMBOLS, Finder
from formats.sentence import sentence
from measure import perturb
from train import augmentation

ENGINE = Path(__file__).parents[1] / "engine"
PATTERNS = ENGINE.parent / "src" / "formats" / "protection.py"
MAIN = Path(__file__).parent / "data" / "text_main.cpp"
COMPOSED = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.decomposition(chr(code))]
MARKS = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.combining(chr(code))]
HANGUL = [chr(code) for code in (*range(0x1100, 0x1200), *range(0xAC00, 0xAC40), *range(0xD790, 0xD7A4))]
SPACES = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
ALPHABETS = (COMPOSED, MARKS, HANGUL, SPACES, list("aAeEoOuU\u00df\u6f22\U0001f600"))


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed, which compiles the command of submissions")
    folder = tmp_path_factory.mktemp("text")
    tables = ENGINE / "command" / "nfc_tables.py", ENGINE / "command" / "pattern_tables.py"
    subprocess.run([sys.executable, tables[0], folder / "nfc_tables.inc"], check=True)
    subprocess.run([sys.executable, tables[1], PATTERNS, folder / "pattern_tables.inc"], check=True)
    sources = [MAIN, *(ENGINE / "command" / f"{name}.cpp" for name in ("text", "nfc", "patterns", "protection"))]
    flags = ["-std=c++17", "-O1", "-D_GLIBCXX_ASSERTIONS", f"-I{ENGINE}", f"-I{folder}"]
    subprocess.run(["g++", *flags, *sources, "-o", folder / "text"], check=True)
    return folder / "text"


def written(program: Path, texts: list[bytes]) -> tuple[list[str], int]:
    """The output of the program, and the number of replaced characters."""
    done = subprocess.run([program], input=b"\0".join(texts), capture_output=True, check=True)
    *lines, replaced, _ = done.stdout.decode().split("\n")
    return lines, int(replaced)


@pytest.mark.slow
def test_each_character_is_normalised_as_by_python(program):
    """Beside a letter and a mark, which it may join."""
    texts = [f"e{char}\u0301" for char in (*COMPOSED, *MARKS, *HANGUL, *SPACES)]
    assert written(program, [text.encode() for text in texts]) == ([*map(sentence, texts)], 0)


@pytest.mark.slow
def test_random_texts_are_normalised_as_by_python(program):
    generator = random.Random(1)
    texts = ["".join(generator.choice(generator.choice(ALPHABETS)) for _ in range(9)) for _ in range(20_000)]
    found, _ = written(program, [text.encode() for text in texts])
    assert found == [*map(sentence, texts)] and any(a != b for a, b in zip(found, texts, strict=True))


def test_broken_bytes_are_replaced_as_by_python(program):
    generator = random.Random(2)
    leads = [0x41, 0x80, 0xA0, 0xBF, 0xC1, 0xC3, 0xE0, 0xE2, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF, 0x90, 0x8F]
    texts = [bytes(generator.choices(leads, k=generator.randint(1, 8))) for _ in range(20_000)]
    read = [text.decode(errors="replace") for text in texts]
    assert written(program, texts) == ([*map(sentence, read)], sum(text.count("\ufffd") for text in read))


WORDS = [
    "dog", "läuft", "犬が", "é", "x", "www.", "http", "https://", "ftp://", "example.org", "/a", "a@b.co", "%s", "🎉",
    "__", "{a}", "⟧", "[[", "]]", "<b>", "</b>", "<br/>", "<a", " b='c", "d'", "1,000", "€", "18.10", "²", "٣", "½",
    "👍🏽", "\u200d", "\ufe0f", "5\ufe0f\u20e3", "\u2028", "\t", "\r", "\ufeff", "e\u0301", "⟦1⟧", "⟦16⟧", "⟦",
    "%1$s%d", "Пёс", "WWW.", "Https://",
]  # fmt: skip
MARKS = [*"aZ09_.,:;/@%+-−'\"’()[]{}<>=!?#*$&|~`^\\ ", "\u00a0", "\u3000"]


@functools.cache
def texts(count: int, seed: int) -> list[str]:
    """Texts of what patterns turn on, those of the suite, and perturbed ones."""
    drawn = random.Random(seed)
    made = ["".join(drawn.choice(drawn.choice((WORDS, MARKS, " "))) for _ in range(drawn.randint(1, 14)))
            for _ in range(count)]  # fmt: skip
    suite = [row[0] for language in ("en", "de", "fr", "cs", "ja") for row in perturb.suite(language)]
    pairs = [("A small dog runs 5 times.", "Ein Hund rennt.")] * 40
    rows = [row[0] for name in perturb.PERTURBATIONS for row in perturb.perturbed(name, pairs, seed)]
    kinds = sorted({*KINDS} - {"tag"})
    items = [getattr(augmentation, kind)(drawn) for kind in kinds for _ in range(100)]
    glued = [f"{drawn.choice(WORDS)}{item}{drawn.choice(MARKS)}{drawn.choice(items)}" for item in items]
    return [*made, *suite, *rows, *items, *glued]


def asked(program: Path, given: list[str], *arguments: object) -> list[str]:
    """The texts that the program writes."""
    text = "".join(f"{line}\0" for line in given).encode()
    done = subprocess.run([program, *map(str, arguments)], input=text, capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize("kinds", [",".join(KINDS), "number", " tag ,  email"])
def test_items_are_those_that_python_finds(program, kinds):
    lines = texts(20_000, 3)
    finder = Finder(map(str.strip, kinds.split(",")))
    expected = [[(match.lastgroup, *map(str, match.span())) for match in finder.found(line)] for line in lines]
    found = [line.split() for line in asked(program, lines, kinds)]
    assert [[*zip(*[iter(line)] * 3, strict=True)] for line in found] == expected
    assert sum(map(len, expected)) > 5000


@pytest.mark.parametrize("missing", [None, "append", "keep"])
@pytest.mark.parametrize("symbols", [0, 2, 16])
def test_text_is_hidden_and_restored_as_by_python(program, missing, symbols):
    """The translations are pieces of the lines in any order, with spaces or without, and symbols not asked for."""
    drawn = random.Random(f"{missing} {symbols}")
    lines = [" ".join(drawn.sample(texts(20_000, 3), 2)) for _ in range(1000)]
    outputs, given = [], []

    def windows(batch):
        again = bool(given)
        batch = [*batch]
        given.extend(batch)
        if again:
            yield batch
            return
        for hidden in batch:
            parts = [*hidden.split(" "), drawn.choice(SYMBOLS), "Hund", "5"]
            some = drawn.sample(range(len(parts)), drawn.randint(1, len(parts)))
            order = some if drawn.random() < 0.5 else sorted(some)
            outputs.append(sentence(drawn.choice((" ", "")).join(parts[place] for place in order)))
        yield [output if hidden else "" for output, hidden in zip(outputs, batch, strict=True)]

    counts = Counter()
    found = [line for part in Protection(KINDS, missing, symbols, counts).windows(windows, lines) for line in part]
    pairs = [text for pair in zip(lines, outputs, strict=True) for text in pair]
    expected = [*given, *found, summary(counts).replace(",", "") + ";"]
    written = asked(program, pairs, ",".join(KINDS), missing or "lost", symbols)
    written[-1] = written[-1].replace(",", "") + ";"
    for place, (one, other) in enumerate(zip(written, expected, strict=True)):
        assert one == other, (place, lines[place % len(lines)])
