"""The pieces of a model of Hugging Face by number, its languages, and the files that split its text.

Numbers come from ``tokenizer.json``, or else from ``vocab.json``, or from a SentencePiece model: T5's numbers are those
of the model, fairseq's (mBART, NLLB) begin with four pieces of its own. Pieces of languages, and others that are no
text, follow. Text is split by the SentencePiece model where there is one, else by byte-level BPE.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nmt_frontier import first_bytes
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json
from nmt_frontier.importers.found import SHARED_NAMES, ImportOptions, named, tokenizer_files
from nmt_frontier.importers.huggingface_folder import about_tokenizer
from nmt_frontier.languages import shortest
from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.text import tokenizers

TOKENIZER, NUMBERS, MERGES = "tokenizer.json", "vocab.json", "merges.txt"
FAIRSEQ = ("<s>", "<pad>", "</s>", "<unk>")  # the first pieces of its vocabularies
CONTROL = {*FAIRSEQ, "<mask>"}
# Pieces of languages: M2M100's, NLLB's and mBART's; those of MADLAD-400 are a part of the text.
MADLAD = re.compile(r"<2\w+>")
LANGUAGE = re.compile(r"__(?P<m2m>\w+)__|(?P<nllb>[a-z]{3}_[A-Z][a-z]{3})|(?P<mbart>[a-z]{2}_[A-Z]{2})")
# Languages that tokenizers of transformers know by themselves.
M2M100 = """
af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht hu hy id ig
ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt ro ru sd si sk sl
so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu
"""
MBART50 = """
ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP nl_XX
ro_RO ru_RU si_LK tr_TR vi_VN zh_CN af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN
pl_PL ps_AF pt_XX sv_SE sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI
"""
KNOWN = {
    "M2M100Tokenizer": [f"__{code}__" for code in M2M100.split()],
    "MBart50Tokenizer": MBART50.split(),
    "MBart50TokenizerFast": MBART50.split(),
}


@dataclass
class Pieces:
    """all: by number, as many as the embeddings have rows. hidden: those that are no text. languages: piece by code."""

    all: list[str]
    hidden: list[str]
    tokenizer: Mapping[str, Path]
    languages: dict[str, str] = field(default_factory=dict)


def read(folder: Path, options: ImportOptions, rows: int, fairseq: bool = False) -> Pieces:
    """rows: of the embeddings, some of which may have no piece. fairseq: how numbers differ from SentencePiece's.

    Raises UserError for files that are missing, damaged, or have more pieces than there are rows.
    """
    first_bytes.check_files(folder / name for name in (TOKENIZER, NUMBERS, MERGES))
    splitter = _splitter(folder, options)
    try:
        text, special = _numbered(folder, splitter, fairseq)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{folder}: its tokenizer is damaged ({error}); get the model again") from None
    numbers = text | special
    if (most := max(numbers.values(), default=0)) >= rows:
        raise UserError(
            f"{folder}: its tokenizer has {most + 1:,} pieces, its embeddings {rows:,} rows; a file is wrong"
        )
    by_number = {number: piece for piece, number in numbers.items()}
    every = [by_number.get(number, f"<unused_{number}>") for number in range(rows)]
    hidden = [piece for piece in every if piece in special or piece in CONTROL or piece not in numbers]
    languages = {}
    for piece in hidden:
        if match := LANGUAGE.fullmatch(piece):
            languages[match["m2m"] or piece] = piece
    languages |= {piece: piece for piece in every if MADLAD.fullmatch(piece)}
    return Pieces(every, hidden, splitter, languages)


def vocabulary(
    folder: Path, pieces: Pieces, options: ImportOptions, config: Mapping[str, Any], end: int, unknown: str
) -> Vocabulary:
    """The vocabulary of a model that reads a sentence and its end, with languages where it has some.

    config: forced_bos_token_id begins a translation unless the language does. Raises UserError for languages that are
    not said or that it does not have.
    """
    about, forced = about_tokenizer(folder), config.get("forced_bos_token_id")
    prefix: list[str] = []
    target = [] if forced is None else [pieces.all[forced]]
    if options.languages and (own := f"<2{options.languages[1]}>") in pieces.languages:
        prefix = [own]
    elif any(map(LANGUAGE.fullmatch, pieces.languages.values())):
        named = options.languages or (about.get("src_lang"), about.get("tgt_lang"))
        given = [_own(language, pieces.languages) for language in named]
        for language in given:
            if language not in pieces.languages:
                some = f"{len(pieces.languages)}, like {', '.join([*pieces.languages][:3])}"
                what = f"{language} is none of its languages" if language else "no file says its languages"
                raise UserError(f"{folder}: {what}; give two with --languages (it has {some})")
        prefix, target = ([pieces.languages[str(language)]] for language in given)
    return Vocabulary(
        pieces.all, pieces.all, unknown, prefix, [pieces.all[end]], target, pieces.languages, pieces.hidden
    )


def _own(language: str | None, codes: Collection[str]) -> str | None:
    """The model's code of a language, such as deu_Latn for de; the language as it is if no code or several fit."""
    alike = [code for code in codes if language and shortest(code) == shortest(language)]
    return alike[0] if len(alike) == 1 and language not in codes else language


def _splitter(folder: Path, options: ImportOptions) -> Mapping[str, Path]:
    """The files that split text, by their names in a model folder."""
    if options.tokenizer or options.spaces or any((folder / name).exists() for name in SHARED_NAMES):
        return tokenizer_files(folder, options, "")
    if (folder / TOKENIZER).exists():
        return {tokenizers.JSON: folder / TOKENIZER}
    if (folder / NUMBERS).exists() and (folder / MERGES).exists():
        return {tokenizers.NUMBERS: folder / NUMBERS, tokenizers.MERGES: folder / MERGES}
    needed = f"it needs {TOKENIZER}, or {NUMBERS} with {MERGES}, or a SentencePiece model"
    raise UserError(f"{folder}: no tokenizer in it; {needed}; give one with --tokenizer")


def _numbered(folder: Path, splitter: Mapping[str, Path], fairseq: bool) -> tuple[dict[str, int], dict[str, int]]:
    """Pieces of text, and special ones, with their numbers."""
    if (path := folder / TOKENIZER).exists():
        stored = read_json(path)
        model = stored["model"]["vocab"]  # a list of pairs in a unigram model, whose numbers are the places
        pairs = model.items() if isinstance(model, dict) else ((piece, at) for at, (piece, _) in enumerate(model))
        added = stored.get("added_tokens", [])
        special = {one["content"]: one["id"] for one in added if one["special"]}
        return dict(pairs) | {one["content"]: one["id"] for one in added}, special
    if (path := folder / NUMBERS).exists():
        text = dict(read_json(path))
    elif tokenizers.SHARED in splitter:
        text = _of_sentencepiece(named([splitter[tokenizers.SHARED]])[tokenizers.SHARED], fairseq)
    else:
        raise UserError(f"{folder}: no file tells the numbers of its pieces; it needs {TOKENIZER} or {NUMBERS}")
    return text, _special(folder, max(text.values()) + 1, fairseq)


def _of_sentencepiece(path: Path, fairseq: bool) -> dict[str, int]:
    processor = tokenizers.pieces(path)
    pieces = [processor.id_to_piece(number) for number in range(processor.get_piece_size())]
    if fairseq:  # the model begins with <unk>, <s>, </s>
        pieces = [*FAIRSEQ, *pieces[3:]]
    return {piece: number for number, piece in enumerate(pieces)}


def _special(folder: Path, after: int, fairseq: bool) -> dict[str, int]:
    """Special pieces: with numbers where a file tells them; others, in the order in which they are listed, follow.

    Some folders list no languages, as their tokenizers know them.
    """
    about = about_tokenizer(folder)
    told = about.get("added_tokens_decoder", {})
    found = {one["content"]: int(number) for number, one in told.items() if one.get("special", True)}
    if (path := folder / "added_tokens.json").exists():
        found |= read_json(path)
    listed = [*_listed(about)]
    if (path := folder / "special_tokens_map.json").exists():
        listed += [*_listed(read_json(path))]
    own_numbers = (folder / NUMBERS).exists()
    if about.get("language_codes", "m2m100") in ("m2m100", "mbart50"):
        listed += KNOWN.get(about.get("tokenizer_class", ""), [])
    listed = [piece for piece in dict.fromkeys(listed) if LANGUAGE.fullmatch(piece) and piece not in found]
    if listed and fairseq and not own_numbers:
        listed.append("<mask>")
    return found | {piece: after + number for number, piece in enumerate(listed)}


def _listed(about: Mapping[str, Any]) -> Iterator[str]:
    for one in about.get("additional_special_tokens") or about.get("extra_special_tokens") or []:
        yield one["content"] if isinstance(one, dict) else one
