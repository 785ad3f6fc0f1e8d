"""Write the tables of patterns.cpp: ``pattern_tables.py PROTECTION FILE``; the first is src/formats/protection.py.

Each of its patterns becomes a program for a matcher that backtracks as Python's. A pattern with a construct that no
other one has is refused.
"""

import re._constants as sre
import re._parser as parser
import runpy
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from nfc_tables import ranges, table

Ranges = tuple[tuple[int, int], ...]
Steps = list[tuple[str, int, int]]  # jumps are relative, so that programs are put together as they are
CATEGORIES = {
    sre.CATEGORY_SPACE: str.isspace,
    sre.CATEGORY_DIGIT: str.isdecimal,
    sre.CATEGORY_WORD: lambda character: character.isalnum() or character == "_",
}


class Program:
    """sets: of characters, which its steps number."""

    def __init__(self) -> None:
        self.steps: Steps = []
        self.sets: dict[Ranges, int] = {}

    def add(self, pattern: str) -> int:
        """Add a pattern; returns its first step."""
        start = len(self.steps)
        self.steps += [*self._all(parser.parse(pattern)), ("kEnd", 0, 0)]
        return start

    def set(self, found: Iterable[tuple[int, int]]) -> int:
        return self.sets.setdefault(tuple(found), len(self.sets))

    def _all(self, nodes: Iterable[Any]) -> Steps:
        return [step for operation, value in nodes for step in self._one(operation, value)]

    def _one(self, operation: Any, value: Any) -> Steps:
        if operation is sre.LITERAL:
            return [("kSet", self.set([(value, value)]), 0)]
        if operation is sre.IN:
            return [("kSet", self.set(characters(value)), 0)]
        if operation is sre.SUBPATTERN:
            return self._all(value[-1])
        if operation is sre.BRANCH:
            first, *others = (self._all(nodes) for nodes in value[1])
            return either(first, others)
        if operation is sre.MAX_REPEAT:
            least, most, nodes = value
            body = self._all(nodes)
            once: Steps = [("kSplit", len(body) + 1, 0), *body]
            if most is not sre.MAXREPEAT:
                return [*body * least, *once * (most - least)]
            return [*body * least, ("kSplit", len(body) + 2, 0), *body, ("kJump", -len(body) - 1, 0)]
        if operation is sre.ASSERT_NOT:
            direction, nodes = value
            body = [*self._all(nodes), ("kEnd", 0, 0)]
            return [("kNotBehind" if direction < 0 else "kNotAhead", nodes.getwidth()[0], len(body) + 1), *body]
        sys.exit(f"pattern_tables.py: no step for {operation}")


def either(first: Steps, others: list[Steps]) -> Steps:
    if not others:
        return first
    rest = either(others[0], others[1:])
    return [("kSplit", len(first) + 2, 0), *first, ("kJump", len(rest) + 1, 0), *rest]


@cache
def category(name: Any) -> list[tuple[int, int]]:
    return ranges(CATEGORIES[name])


def characters(items: Iterable[Any]) -> list[tuple[int, int]]:
    """The ranges of a set, sorted and apart."""
    found, negated = [], False
    for kind, value in items:
        if kind is sre.NEGATE:
            negated = True
        elif kind is sre.CATEGORY:
            found += category(value)
        else:
            found.append(value if kind is sre.RANGE else (value, value))
    joined: list[tuple[int, int]] = []
    for first, last in sorted(found):
        if joined and first <= joined[-1][1] + 1:
            first, last = joined[-1][0], max(joined.pop()[1], last)
        joined.append((first, last))
    if not negated:
        return joined
    edges = [-1, *(edge for pair in joined for edge in pair), sys.maxunicode + 1]
    return [(a + 1, b - 1) for a, b in zip(edges[::2], edges[1::2], strict=True) if a + 1 < b]


def main() -> None:
    source = runpy.run_path(sys.argv[1])
    program, names = Program(), [*source["KINDS"], "symbol"]
    patterns = {**source["PATTERNS"], "symbol": source["SYMBOL"]}
    starts = [(names.index(kind), program.add(pattern)) for kind, pattern in patterns.items()]
    marks = program.add(f"{source['_ANY'].pattern}|{source['WWW']}")
    numbers = {"kMarks": marks, "kAlphanumeric": program.set(ranges(str.isalnum))}
    for name in ("LETTER", "SPACED", "DIVIDING"):
        numbers[f"k{name.title()}"] = program.set(characters(parser.parse(source[name])[0][1]))
    text = "".join(f"constexpr int {name} = {number};\n" for name, number in numbers.items())
    quoted = ", ".join(f'"{name}"' for name in names)
    text += f"const char* const kNames[] = {{{quoted}}};\n"
    sets: list[tuple[int, ...]] = []
    flat: list[tuple[int, int]] = []
    for found in program.sets:
        ascii_ = sum(1 << code for first, last in found for code in range(first, min(last, 127) + 1))
        sets.append((len(flat), len(flat) + len(found), ascii_ & (1 << 64) - 1, ascii_ >> 64))
        flat += found
    steps = "".join(f"    {{{name}, {a}, {b}}},\n" for name, a, b in program.steps)
    text += table("kPatterns", "Pattern", starts) + table("kRanges", "Range", flat) + table("kSets", "Set", sets)
    Path(sys.argv[2]).write_text(f"{text}const Step kSteps[] = {{\n{steps}}};\n", encoding="ascii")


if __name__ == "__main__":
    main()
