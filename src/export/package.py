"""A model folder as one archive to hand on: with a model card, and checksums of every file.

The card is a README as Hugging Face reads it. The unpacked folder is what ``ctranslate2.Translator`` opens. Equal model
folders, measurements and corpora give an equal archive.
"""

import argparse
import gzip
import json
import shutil
import tarfile
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import yaml
from tabulate import tabulate

from decode.measurements import RULE, best, configuration, verdict
from export.model_folder import ROLES, checked
from formats.errors import UserError, command
from formats.files import read_json, sha256, whole, write_text

SUFFIX = ".tar.gz"
SUMS = "SHA256SUMS"
LICENCE = "LICENSE.md"  # a name that Hugging Face links to
TERMS = "The model was made of these data; whether and how it may be used follows from their licences."
CARD = """---
{front}---

# {source}-{target}, "{system}" of the study {study}

{role_sentence} It has the shape {shape}, {parameters:,} parameters, and weights in {quantization} for {engine}.

    tar xf {name}.tar.gz
    pip install ctranslate2=={version} sentencepiece
    python - <<'END'
    import ctranslate2, sentencepiece
    pieces = sentencepiece.SentencePieceProcessor(model_file="{name}/sentencepiece.model")
    translator = ctranslate2.Translator("{name}")
    source = pieces.encode("A sentence.", out_type=str)
    print(pieces.decode(translator.translate_batch([source], use_vmap={vocabulary_map})[0].hypotheses[0]))
    END

`sha256sum --check {sums}` finds a damaged file.

## Scores and speed

{scores}
{best}
BLEU: {signature}. Words a second are those of the source, with tokenization and detokenization, on {cores} of
{cpu}.

## Data and licences

{terms}

## Files

{files}
"""


def measured(measurements: list[dict[str, Any]], description: dict[str, Any]) -> list[dict[str, Any]]:
    """The records of this model. Raises UserError if there is none."""
    names = {
        "system": description["system"],
        "compute_type": description["quantization"],
        "engine": description["engine"],
    }
    found = [record for record in measurements if names.items() <= record.items()]
    if not found:
        raise UserError(f"no measurement of {names}; a model is packaged with its scores, measure it first")
    return found


def taught(measurements: list[dict[str, Any]], teachers: list[str]) -> list[dict[str, Any]]:
    """The records of these teachers at full precision, with the map off, at their widest beam."""
    asked = {"engine": "ctranslate2", "compute_type": "float32", "vocabulary_map": False}
    found = [record for record in measurements if record["system"] in teachers and asked.items() <= record.items()]
    return [record for record in found if record["beam_size"] == max(row["beam_size"] for row in found)]


def best_sentence(measurements: list[dict[str, Any]], own: list[dict[str, Any]]) -> str:
    """What the card says if one of these records is that of the study's best model."""
    if (record := best(measurements)) not in own:
        return ""
    said = f"With {configuration(record)} it is the best model of its study: {RULE}."
    return "\n" + textwrap.fill(f"{said} It has {verdict(measurements, record)}", 120) + "\n"


def terms(corpora: list[dict[str, Any]], teachers: list[str]) -> str:
    """What the model was made of, and what follows for its use."""
    translated = f"\nIt learned translations by {', '.join(teachers)}, whose own data count, too." if teachers else ""
    return f"{_table([*map(_corpus, corpora)])}\n\n{TERMS}{translated}"


def card(
    description: dict[str, Any], measurements: list[dict[str, Any]], made_of: str, teachers: list[str], folder: Path
) -> str:
    """The README of the package in ``folder``."""
    own = measured(measurements, description)
    first, cores = own[0], len(own[0]["cores"])
    front = {
        "language": [description["source"], description["target"]],
        "license": "other",
        "license_name": "see-data",
        "license_link": LICENCE,
        "library_name": description["engine"],
        "pipeline_tag": "translation",
        "tags": ["translation", description["engine"], "nmt-frontier", description["role"]],
    }
    values = {
        "front": yaml.safe_dump(front, sort_keys=False, allow_unicode=True),
        "role_sentence": ROLES[description["role"]],
        "name": folder.name,
        "version": first["engine_version"],
        "sums": SUMS,
        "scores": _table([*map(_scores, own), *map(_scores, taught(measurements, teachers))]),
        "best": best_sentence(measurements, own),
        "signature": first["bleu_signature"],
        "cores": "one core" if cores == 1 else f"{cores} cores",
        "cpu": first["cpu"],
        "terms": made_of,
        "files": _table([{"file": path.name, "bytes": f"{path.stat().st_size:,}"} for path in _files(folder)]),
    }
    return CARD.format(**description, **values)


def _table(rows: list[dict[str, str]]) -> str:
    return tabulate(rows, headers="keys", tablefmt="pipe", disable_numparse=True)


def _scores(record: dict[str, Any]) -> dict[str, str]:
    return {
        "system": record["system"],
        "test set": record["test_set"],
        "search": "greedy" if record["beam_size"] == 1 else f"beam {record['beam_size']}",
        "map": "yes" if record["vocabulary_map"] else "no",
        "BLEU": f"{record['bleu']:.2f}",
        "chrF": f"{record['chrf']:.2f}",
        "words/s": f"{record['source_words_per_second']:,.0f}",
        "memory, MB": f"{record['peak_rss_bytes'] / 1e6:.0f}",
    }


def _corpus(corpus: dict[str, Any]) -> dict[str, str]:
    addresses = [part for url in corpus["url"] or [] for part in ([url] if isinstance(url, str) else url)]
    return {
        "corpus": corpus["name"],
        "used for": corpus["role"],
        "licence": corpus["licence"],
        "address": " ".join(addresses) or "-",
    }


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def package(
    model: Path, measurements: list[dict[str, Any]], corpora: list[dict[str, Any]], teachers: list[str], output: Path
) -> None:
    """Write the archive. Raises UserError for a model that was not measured, is of another engine or damaged."""
    if not output.name.endswith(SUFFIX):
        raise UserError(f"{output}: the archive's name has to end in {SUFFIX}")
    description = checked(model)
    made_of = terms(corpora, teachers)
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent) as temporary:
        folder = Path(temporary) / output.name.removesuffix(SUFFIX)
        shutil.copytree(model, folder, ignore=shutil.ignore_patterns("README.md", "tuned.json", ".*"))
        write_text(folder / LICENCE, f"# Data and licences\n\n{made_of}\n")
        write_text(folder / "README.md", card(description, measurements, made_of, teachers, folder))
        sums = [f"{sha256(path)}  {path.relative_to(folder)}\n" for path in _files(folder)]
        write_text(folder / SUMS, "".join(sums))
        with (
            whole(output) as part,
            open(part, "wb") as raw,
            gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as packed,
            tarfile.open(mode="w", fileobj=packed) as archive,
        ):
            for path in _files(folder):
                archive.add(path, str(path.relative_to(temporary)), filter=_anonymous)


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without owner and time, so that equal files give equal bytes."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o644
    return entry


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="model folder")
    parser.add_argument("--measurements", type=Path, required=True, help="measurements.json of the study")
    parser.add_argument("--corpora", type=json.loads, required=True, help="JSON list: name, role, licence, url of each")
    parser.add_argument("--teachers", nargs="*", default=[], help="whose translations the model learned")
    parser.add_argument("--output", type=Path, required=True, help=f"archive to write, *{SUFFIX}")
    args = parser.parse_args()
    package(args.model, read_json(args.measurements), args.corpora, args.teachers, args.output)


if __name__ == "__main__":
    command(main)
