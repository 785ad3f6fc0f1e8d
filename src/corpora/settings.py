"""The entry of a corpus in an effective configuration: where its text is from, what it is for, how it is cleaned.

A rule hands it to fetch, and its ``cleaning`` to clean; `corpus` in config.schema.yaml describes the keys.
"""

from common.document import Number, Section


class Cleaning(Section):
    control_characters: bool
    max_tokens: int | bool
    max_length_ratio: Number | bool
    identical: bool
    min_script_share: Number | bool
    max_digit_mismatch: Number | bool
    max_repeats: int | bool
    langid: list[str]
    langid_languages: list[str] | None
    duplicates: bool
    near_duplicates: bool


class Package(Section):
    name: str
    version: str
    sha256: str
    member: str


class Builtin(Section):
    split: str
    sentences: int


class Corpus(Section):
    role: str
    weight: Number
    cleaning: Cleaning
    lines: int | None
    max_lines: int | None
    sample: int | None
    licence: str
    mirror: str | None
    sha256: dict[str, str] | str | None
    file: str | dict[str, str] | None
    url: list[str | list[str]] | None
    package: Package | None
    mtdata: str | None
    sacrebleu: str | None
    member: str | None
    format: str | None
    columns: dict[str, int | str] | None
    query: str | None
    names: dict[str, str | int] | None
    invalid: str
    invalid_share: Number
    encoding: str | None
    builtin: Builtin | None
