"""A new study before its sizes are chosen, and what all parts of its configuration are written with."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from corpora.language_codes import scripts
from study.new.look import HeldOut, Look

CHARACTERS = {"Hani", "Hang", "Hira"}  # scripts with thousands of characters
PER_WEIGHT = 100_000  # lines that a weight of 1 stands for


@dataclass(frozen=True)
class Draft:
    """A new study before its sizes are chosen. folder: of the held-out sets."""

    name: str
    pair: list[str]
    looks: list[Look]
    held_out: list[HeldOut]
    folder: Path
    cores: int
    hours: float
    invalid: str

    @property
    def characters(self) -> bool:
        return any(CHARACTERS & set(scripts(code)) for code in self.pair)

    def of_role(self, role: str) -> dict[str, Look]:
        return {look.corpus.name: look for look in self.looks if look.corpus.role == role}


def weight(lines: int) -> float:
    return round(max(lines / PER_WEIGHT, 0.01), 2)


def as_yaml(value: Any, flow: bool = False) -> str:
    """A value as YAML on one line. flow: whether it is inside braces or brackets."""
    if isinstance(value, dict):
        pairs = (f"{as_yaml(key, flow=True)}: {as_yaml(item, flow=True)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(as_yaml(item, flow=True) for item in value) + "]"
    quoted = json.dumps(value, ensure_ascii=False)  # JSON is YAML
    return value if isinstance(value, str) and _is_bare(value, flow) else quoted


def _is_bare(value: str, flow: bool) -> bool:
    """Whether text needs no quotes."""
    try:
        return bool(yaml.safe_load(f"[{value}]" if flow else f"key: {value}") == ([value] if flow else {"key": value}))
    except yaml.YAMLError:
        return False
