"""A model that was trained elsewhere, as its reader found it, and the tokenizer files beside it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sentencepiece import SentencePieceProcessor

from nmt_frontier import first_bytes
from nmt_frontier.errors import UserError
from nmt_frontier.importers.float_model import FloatModel
from nmt_frontier.importers.marian_binary import content
from nmt_frontier.model import shape_text
from nmt_frontier.text import tokenizers

Config = dict[str, Any]  # of another toolkit, by the names that it has there
Sides = tuple[str | None, str | None]  # source and target language, where they are known
SHARED_NAMES = ("sentencepiece.model", "spm.model", "sentencepiece.bpe.model", "spiece.model")
SIDE_NAMES = (("source.spm", "target.spm"), ("source.model", "target.model"), tokenizers.SIDES)
FOREIGN = (
    0.5  # share of pieces that a tokenizer and the vocabulary have in common, below which they are not one model's
)
CODE_NAMES = ("bpe.model", "bpe.codes", "bpecodes", "codes")


@dataclass
class ImportOptions:
    """What the user said about a model: files that belong to it, where they are not the ones beside it.

    tokenizer: one file or one a side; none if ``spaces``, which says that lines are pieces. languages: of both sides,
    by the codes of the model where it has several. frame: pieces instead of those that the model's files say, by the
    names ``prefix`` and ``suffix``, of a source, and ``target_prefix``.
    """

    vocabularies: Sequence[Path] = ()
    tokenizer: Sequence[Path] = ()
    spaces: bool = False
    shortlist: Path | None = None
    languages: Sides | None = None
    frame: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass
class Found:
    """A model, and what it needs to translate text.

    toolkit: with the file or folder, for people. tokenizer: files by their names in text.tokenizers, none if lines are
    pieces. vocabulary_map: writes the lines of a map in CTranslate2's format to a file. longest: pieces at which
    its toolkit cuts off a translation, if it says so. search: options of the command with which it searches.
    """

    toolkit: str
    model: FloatModel
    shape: str
    parameters: int
    tokenizer: Mapping[str, Path]
    languages: Sides = (None, None)
    vocabulary_map: Callable[[Path], None] | None = None
    longest: int | None = None
    search: str = ""
    notes: list[str] = field(default_factory=list)


def transformer(model: FloatModel) -> str:
    """The shape of a Transformer, in words."""
    names = ("encoder_layers", "decoder_layers", "units", "feed_forward_units", "encoder_heads")
    encoder, decoder, units, inner, heads = (int(str(model.metadata[name])) for name in names)
    tied = len({name for name, _ in model.embeddings.values()}) == 1
    return shape_text.transformer(encoder, decoder, units, inner, heads, share_embeddings=tied)


def tokenizer_files(folder: Path, options: ImportOptions, needed: str) -> dict[str, Path]:
    """The tokenizer of a model by the names of a model folder: the one that the options name, or the one beside it.

    needed: what the pieces of this model come from, for messages. Raises UserError where there is none.
    """
    if options.spaces:
        return {}
    if options.tokenizer:
        return named(options.tokenizer)
    for source, target in SIDE_NAMES:
        if (folder / source).exists() and (folder / target).exists():
            return named([folder / source, folder / target])
    for name in (*SHARED_NAMES, *CODE_NAMES):
        if (folder / name).exists():
            return named([folder / name])
    models = [path for path in sorted(folder.glob("*.spm")) if not any(path.name in names for names in SIDE_NAMES)]
    if len(models) == 1:
        return named(models)
    given = "give the files with --tokenizer, or --spaces if its text is pieces with spaces between them"
    raise UserError(f"{folder}: no tokenizer in it; {needed}; {given}")


def named(files: Sequence[Path]) -> dict[str, Path]:
    """Tokenizer files by the names of a model folder. Raises UserError for one that is missing or none."""
    if missing := [path for path in files if not path.is_file()]:
        raise UserError(f"{missing[0]}: no such tokenizer")
    first_bytes.check_files(files)
    if len(files) == 2:
        return dict(zip(tokenizers.SIDES, files, strict=True))
    (path,) = files
    return {tokenizers.CODES if is_codes(path) else tokenizers.SHARED: path}


def is_codes(path: Path) -> bool:
    """Whether a file holds BPE codes, which are text, not a SentencePiece model."""
    with open(path, "rb") as file:
        start = file.read(512)
    return start.startswith(b"#version") or (path.name in CODE_NAMES and b"\0" not in start)


def check_tokenizer(source: Path, found: Found) -> None:
    """Raises UserError for a tokenizer that is damaged, or whose pieces are mostly not those of the model.

    Either side may have more pieces: vocabularies of both languages, and those without rare pieces. Only
    SentencePiece models are compared; BPE codes are read, and other tokenizers brought the vocabulary. source: for
    messages.
    """
    for name, path in found.tokenizer.items():
        if name == tokenizers.CODES:
            tokenizers.merges(path)
        if name not in (tokenizers.SHARED, *tokenizers.SIDES):
            continue
        vocabulary = found.model.vocabulary
        known, own = (
            {*(vocabulary.target if name == tokenizers.SIDES[1] else vocabulary.source)},
            _text_pieces(source, path),
        )
        common = len(own & known)
        if common < FOREIGN * min(len(own), len(known)):
            raise UserError(
                f"{source}: only {common:,} of the {len(own):,} pieces of {path.name} are among the {len(known):,} of"
                " the model; it is another model's, give the right one with --tokenizer"
            )


def _text_pieces(source: Path, path: Path) -> set[str]:
    """The pieces of a SentencePiece model that are text."""
    try:
        model = SentencePieceProcessor(model_proto=content(path))
    except (RuntimeError, OSError) as error:
        raise UserError(f"{source}: {path.name} is no SentencePiece model, or damaged; get it again") from error
    numbers = range(model.get_piece_size())
    return {
        model.id_to_piece(number) for number in numbers if not (model.is_control(number) or model.is_unknown(number))
    }
