"""Pack a model folder into one archive to hand on, with a model card and checksums of every file.

The card is a README as Hugging Face reads it. ``ctranslate2.Translator`` opens the unpacked folder of its models,
``nmt-frontier translate`` that of the native engine. Equal model folders, measurements and corpora give equal archives.
``--for argos`` writes a package of Argos Translate instead; it needs no measurements.
"""

import argparse
import gzip
import shutil
import tarfile
import tempfile
import textwrap
from pathlib import Path
from typing import TypedDict

import yaml
from msgspec.structs import asdict
from tabulate import tabulate

from decode.engines import ENGINES
from decode.engines.ctranslate2 import CTranslate2
from export import foreign_package
from export.model_folder import LEFT_OUT, SUMS, checked
from findings.best_model import RULE, best, verdict
from findings.captions import configuration, search
from findings.comparison import matching, number
from formats import measurement
from formats.measurement import Measurement
from nmt_frontier.command_line import json_value, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import atomic_path, sha256, write_text
from nmt_frontier.making import ROLES
from nmt_frontier.model import model_folder
from nmt_frontier.model.model_folder import Description
from nmt_frontier.search.native import Native

SUFFIX = ".tar.gz"
LICENCE = "LICENSE.md"  # a name that Hugging Face links to
TERMS = "The model was made of these data; whether and how it may be used follows from their licences."
CARD = """---
{front}---

# {source}-{target}, "{system}" of the study {study}

{role_sentence} It has the shape {shape}, {parameters:,} parameters, and weights in {quantization} for {engine}.

    tar xf {name}.tar.gz
{use}

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


USE = {  # how an engine's folder translates a sentence
    CTranslate2.name: """    pip install ctranslate2=={version} sentencepiece
    python - <<'END'
    import ctranslate2, sentencepiece
    pieces = sentencepiece.SentencePieceProcessor(model_file="{name}/sentencepiece.model")
    translator = ctranslate2.Translator("{name}")
    source = pieces.encode("A sentence.", out_type=str)
    print(pieces.decode(translator.translate_batch([source], use_vmap={vocabulary_map})[0].hypotheses[0]))
    END""",
    Native.name: """    echo "A sentence." | nmt-frontier translate --model {name}

The command is nmt-frontier's, after its `make install` (version {version} of the engine decoded here).""",
}


class CorpusOrigin(TypedDict):
    """Data that the model learned from. url: addresses, or lists of the parts of a file."""

    name: str
    role: str
    licence: str | None
    url: list[str | list[str]] | None


def measured(measurements: list[Measurement], description: Description) -> list[Measurement]:
    """The records of this model. Raises UserError for a model without any."""
    values = {"system": description.system, "compute_type": description.quantization, "engine": description.engine}
    if not (records := matching(measurements, **values)):
        raise UserError(f"no measurement of {values}; a model is packaged with its scores, measure it first")
    return records


def taught(measurements: list[Measurement], teachers: list[str]) -> list[Measurement]:
    """The records of these teachers in CTranslate2 in float32 without a map, at their widest beam."""
    exact = matching(measurements, engine=CTranslate2.name, compute_type="float32", vocabulary_map=False)
    records = [record for record in exact if record.system.name in teachers]
    return matching(records, beam_size=max((record.decoding.beam_size for record in records), default=0))


def best_sentence(measurements: list[Measurement], own: list[Measurement]) -> str:
    """A paragraph of the card, if one of these records is that of the study's best model."""
    if (record := best(measurements)) not in own:
        return ""
    praise = f"With {configuration(record)} it is the best model of its study: {RULE}."
    return "\n" + textwrap.fill(f"{praise} It has {verdict(measurements, record)}", 120) + "\n"


def terms(corpora: list[CorpusOrigin], teachers: list[str]) -> str:
    """What the model was made of, and what that means for its use."""
    translated = f"\nIt learned translations by {', '.join(teachers)}, whose own data count, too." if teachers else ""
    return f"{_table([*map(_corpus, corpora)])}\n\n{TERMS}{translated}"


def card(
    description: Description,
    measurements: list[Measurement],
    licences: str,
    teachers: list[str],
    folder: Path,
) -> str:
    """The README of the package in ``folder``. licences: the text of ``terms``."""
    own = measured(measurements, description)
    first, cores = own[0], len(own[0].decoding.cores)
    front = {
        "language": [description.source, description.target],
        "license": "other",
        "license_name": "see-data",
        "license_link": LICENCE,
        "library_name": description.engine,
        "pipeline_tag": "translation",
        "tags": ["translation", description.engine, "nmt-frontier", description.role],
    }
    values = {
        "front": yaml.safe_dump(front, sort_keys=False, allow_unicode=True),
        "role_sentence": ROLES[str(description.role)],
        "name": folder.name,
        "sums": SUMS,
        "scores": _table([*map(_scores, own), *map(_scores, taught(measurements, teachers))]),
        "best": best_sentence(measurements, own),
        "signature": first.scores.bleu_signature,
        "cores": "one core" if cores == 1 else f"{cores} cores",
        "cpu": first.conditions.cpu,
        "terms": licences,
        "files": _table([{"file": path.name, "bytes": f"{path.stat().st_size:,}"} for path in _files(folder)]),
    }
    use = USE[description.engine].format(**asdict(description), name=folder.name, version=first.decoding.engine_version)
    label = ENGINES[description.engine].label
    return CARD.format(**asdict(description) | {"engine": label}, **values, use=use)


def _table(rows: list[dict[str, str]]) -> str:
    return str(tabulate(rows, headers="keys", tablefmt="pipe", disable_numparse=True))


def _scores(record: Measurement) -> dict[str, str]:
    return {
        "system": record.system.name,
        "test set": record.test_set,
        "search": search(record),
        "map": "yes" if record.decoding.vocabulary_map else "no",
        "BLEU": f"{record.scores.bleu:.2f}",
        "chrF": f"{record.scores.chrf:.2f}",
        "words/s": f"{record.words_per_second:,.0f}",
        "memory, MB": f"{number(record, 'peak_rss_bytes') / 1e6:.0f}",
    }


def _corpus(corpus: CorpusOrigin) -> dict[str, str]:
    addresses = [part for url in corpus["url"] or [] for part in ([url] if isinstance(url, str) else url)]
    return {
        "corpus": corpus["name"],
        "used for": corpus["role"],
        "licence": str(corpus["licence"]),
        "address": " ".join(addresses) or "-",
    }


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def package(
    model: Path, measurements: list[Measurement], corpora: list[CorpusOrigin], teachers: list[str], output: Path
) -> None:
    """Write the archive. Raises UserError for a model that is damaged, was not measured, or that OpenNMT-tf decodes."""
    if not output.name.endswith(SUFFIX):
        raise UserError(f"{output}: the archive's name has to end in {SUFFIX}")
    description = checked(model, USE)
    licences = terms(corpora, teachers)
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent) as temporary:
        folder = Path(temporary) / output.name.removesuffix(SUFFIX)
        shutil.copytree(model, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
        write_text(folder / LICENCE, f"# Data and licences\n\n{licences}\n")
        write_text(folder / model_folder.README, card(description, measurements, licences, teachers, folder))
        sums = [f"{sha256(path)}  {path.relative_to(folder)}\n" for path in _files(folder)]
        write_text(folder / SUMS, "".join(sums))
        with (
            atomic_path(output) as part,
            open(part, "wb") as raw,
            gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as packed,
            tarfile.open(mode="w", fileobj=packed) as archive,
        ):
            for path in _files(folder):
                archive.add(path, str(path.relative_to(temporary)), filter=_anonymous)


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """An entry without owner and time, so that equal files give equal bytes."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o644
    return entry


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=there, required=True, help="model folder")
    parser.add_argument("--measurements", type=there, help="measurements.json of the study")
    parser.add_argument("--corpora", type=json_value, help="JSON list: name, role, licence, url of each")
    parser.add_argument("--teachers", nargs="*", default=[], help="whose translations the model learned")
    parser.add_argument("--for", choices=foreign_package.PROGRAMS, dest="program", help="program that opens it")
    suffixes = f"*{SUFFIX}, for Argos Translate *{foreign_package.ARGOS_SUFFIX}"
    parser.add_argument("--output", type=Path, required=True, help=f"archive to write, {suffixes}")
    args = parser.parse_args()
    if args.program:
        licences = terms(args.corpora, args.teachers) if args.corpora else None
        foreign_package.PROGRAMS[args.program](args.model, licences, args.output)
        return
    if not args.measurements or not args.corpora:
        parser.error("--measurements and --corpora are needed, unless it is --for another program")
    package(args.model, measurement.read(args.measurements), args.corpora, args.teachers, args.output)


if __name__ == "__main__":
    command(main)
