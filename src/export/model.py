"""Make model folders of a model that was trained elsewhere: say what it is, and write it for the native engine.

It recognises Marian's weights, also those of Firefox and Bergamot, CTranslate2's folders, Argos' packages, and from
Hugging Face OPUS-MT, M2M100, NLLB, BART, mBART-50, T5, mT5 and MADLAD-400, and runs of OpenNMT-tf. Each type of weights
becomes a folder ``<output>/native-<type>``, which all commands take like any other.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from common.command_line import there
from common.errors import UserError, command
from decode.engines.native import Native
from export import model_folder
from export.toolkits import ctranslate2, huggingface, marian, opennmt_tf
from export.toolkits.found import Found, Options, check_tokenizer
from formats import native_weights, tokenizers
from formats.marian_binary import content
from formats.model_folder import Description, Making

TOOLKITS = (ctranslate2, huggingface, opennmt_tf, marian)  # modules with `recognised` and `read`; asked in this order


def find(source: Path, options: Options) -> Found:
    """The model in a file or folder. Raises UserError for what no reader knows, and as the reader."""
    if not source.exists():
        raise UserError(f"{source}: no such file or folder")
    for toolkit in TOOLKITS:
        if toolkit.recognised(source):
            found: Found = toolkit.read(source, options)
            check_tokenizer(source, found)
            return found
    raise UserError(f"{source}: no model that this can read; docs/models.md lists the files of each toolkit")


def described(source: Path, found: Found) -> str:
    """What the model is, in a few lines."""
    vocabulary, languages = found.model.vocabulary, [language or "unknown" for language in found.languages]
    sizes = [len(vocabulary.source), len(vocabulary.target)]
    shared = vocabulary.source == vocabulary.target
    pieces = f"{sizes[0]:,}, shared" if shared else f"{sizes[0]:,} source, {sizes[1]:,} target"
    rows = {
        "architecture": found.shape,
        "languages": " to ".join(languages),
        "pieces": pieces,
        "parameters": f"{found.parameters:,}{', integers' if found.model.integers else ''}",
        "tokenizer": ", ".join(path.name for path in found.tokenizer.values()) or "none: lines are pieces",
        **(
            {"search": f"{found.search}, as the model's own; decode.translate is greedy without"}
            if found.search
            else {}
        ),
    }
    return "\n".join([f"{source}: {found.toolkit}", *(f"  {name:<13}{value}" for name, value in rows.items()),
                      *(f"  {note}" for note in found.notes)])  # fmt: skip


def write(found: Found, kinds: Sequence[str], system: str, output: Path) -> list[Path]:
    """Write a model folder of each type. Returns them. Raises UserError for files that do not belong together."""
    folders, vocabulary = [], found.model.vocabulary
    with tempfile.TemporaryDirectory() as scratch:
        candidates = None
        if found.vocabulary_map:
            found.vocabulary_map(candidates := Path(scratch) / "map.txt")
        tokenizer = {name: Path(scratch) / name for name in found.tokenizer}
        for name, path in found.tokenizer.items():
            tokenizer[name].write_bytes(content(path))
        for kind in kinds:
            found.model.write(kind, files := Path(scratch) / Native.folder(kind))
            description = Description(
                format=1,
                engine=Native.name,
                study="imported",
                system=system,
                role="imported",
                source=found.languages[0],
                target=found.languages[1],
                max_decoding_length=found.longest,
                languages=vocabulary.languages or tokenizers.languages(vocabulary.source) or None,
                shape=found.shape,
                parameters=found.parameters,
                quantization=kind,
                vocabulary_map=candidates is not None,
                tokenizer=None if found.tokenizer else tokenizers.PLAIN,
                made_by=Making(imported=found.toolkit, search=found.search or None),
            )
            model_folder.make(description, files, tokenizer, candidates, output / files.name)
            folders.append(output / files.name)
    return folders


def export(source: Path, output: Path, kinds: Sequence[str], options: Options) -> None:
    """Write the model folders, and print what was found and written. Raises UserError as ``find`` and ``write``."""
    found = find(source, options)
    found.languages = options.languages or found.languages
    found.model.vocabulary.reframe(source, options.frame)
    print(described(source, found))
    for folder in write(found, kinds, output.resolve().name, output):
        print(f"wrote {folder}")
    if "int8" in kinds and found.model.integers:
        changed, total = found.model.coarser()
        print(f"int8 keeps the integers of {total - changed:,} of {total:,} channels; the others got coarser steps")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=there, help="file or folder of the model")
    parser.add_argument("--output", type=Path, required=True, help="folder of the model folders; its name is theirs")
    parser.add_argument("--types", nargs="+", choices=native_weights.TYPES, default=["int8"], help="(default: int8)")
    parser.add_argument("--languages", nargs=2, metavar=("SOURCE", "TARGET"), help="codes, where no file tells them")
    parser.add_argument(
        "--tokenizer", type=there, nargs="+", default=[], help="SentencePiece model, one a side, or BPE"
    )
    parser.add_argument("--spaces", action="store_true", help="lines are pieces with spaces between them")
    parser.add_argument("--source-prefix", metavar="PIECES", help="before every source, where no file tells them")
    parser.add_argument("--source-suffix", metavar="PIECES", help="after every source, often </s>")
    parser.add_argument("--target-prefix", metavar="PIECES", help="what every translation begins with")
    parser.add_argument("--vocabularies", type=there, nargs="+", default=[], help="of Marian's, one or one a side")
    parser.add_argument("--shortlist", type=there, help="lexical shortlist of Marian's, a text or its binary file")
    args = parser.parse_args()
    if len(args.tokenizer) > 2 or len(args.vocabularies) > 2:
        parser.error("--tokenizer and --vocabularies take one file, or one for each side")
    languages = tuple(args.languages) if args.languages else None
    given = {"prefix": args.source_prefix, "suffix": args.source_suffix, "target_prefix": args.target_prefix}
    frame = {name: pieces.split() for name, pieces in given.items() if pieces is not None}
    options = Options(args.vocabularies, args.tokenizer, args.spaces, args.shortlist, languages, frame)
    export(args.source, args.output, args.types, options)


if __name__ == "__main__":
    command(main)
