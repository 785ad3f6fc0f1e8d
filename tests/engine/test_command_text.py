"""The command of submissions reads and writes text as nmt-frontier translate: UTF-8, form C, white space, invisible."""

import random
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from nmt_frontier.characters import INVISIBLE, classified
from nmt_frontier.sentence import sentence

ENGINE = Path(__file__).parents[2] / "engine"
MAIN = Path(__file__).parents[1] / "data" / "text_main.cpp"
COMPOSED = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.decomposition(chr(code))]
MARKS = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.combining(chr(code))]
HANGUL = [chr(code) for code in (*range(0x1100, 0x1200), *range(0xAC00, 0xAC40), *range(0xD790, 0xD7A4))]
SPACES = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
TAGS = [chr(0xE0000 + ord(letter)) for letter in "gbsct\x7f"]
ALPHABETS = (COMPOSED, MARKS, HANGUL, SPACES, list("aAeEoOuU\u00df\u6f22\U0001f600"))
FOLLOWED = "a1#\u00a9❤🏴🏽葛〇ᠠ\u1806ا،१द।\u094d\u20e3\ua840"  # by invisible characters, which some of them keep


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed, which compiles the command of submissions")
    folder = tmp_path_factory.mktemp("text")
    subprocess.run([sys.executable, ENGINE / "text" / "nfc_tables.py", folder / "nfc_tables.inc"], check=True)
    sources = [MAIN, ENGINE / "text" / "text.cpp", ENGINE / "text" / "nfc.cpp"]
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


@pytest.mark.slow
def test_invisible_characters_are_gone_as_in_python(program):
    generator, invisible = random.Random(3), classified(INVISIBLE)
    often = [*"\u200c\u200d\u180b\u180e\u180f\ufe00\ufe0e\ufe0f\ufeff\U000e0100", *TAGS]
    texts = [f"{before}{character}" for before in FOLLOWED for character in invisible]
    alphabets = (FOLLOWED, often, often, invisible, MARKS)
    texts += ["".join(generator.choice(generator.choice(alphabets)) for _ in range(9)) for _ in range(20_000)]
    texts += [f"🏴{''.join(TAGS[:end])}{TAGS[-1]}" for end in range(6)]
    assert written(program, [text.encode() for text in texts]) == ([*map(sentence, texts)], 0)


def test_broken_bytes_are_replaced_as_by_python(program):
    generator = random.Random(2)
    leads = [0x41, 0x80, 0xA0, 0xBF, 0xC1, 0xC3, 0xE0, 0xE2, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF, 0x90, 0x8F]
    texts = [bytes(generator.choices(leads, k=generator.randint(1, 8))) for _ in range(20_000)]
    read = [text.decode(errors="replace") for text in texts]
    assert written(program, texts) == ([*map(sentence, read)], sum(text.count("\ufffd") for text in read))
