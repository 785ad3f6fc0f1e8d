"""A teacher that was trained elsewhere, as a CTranslate2 folder: an OpenNMT-tf run, a CTranslate2 folder, or a model of
another toolkit that CTranslate2's converters read.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import ctranslate2

from distill.systems import ENVIRONMENTS
from export.convert import load
from formats.conversion import Converter
from formats.errors import UserError, command
from formats.files import read_json, whole, write_json


def import_teacher(teacher: dict[str, Any], vocabulary: Path | None, output: Path) -> None:
    """Write ``output``, a folder named after its compute type. ``teacher`` is its entry in the configuration.

    Raises UserError where there is no such model, or its converter fails.
    """
    compute_type = output.name
    with whole(output) as part:
        if teacher["checkpoint"]:
            _opennmt(Path(teacher["checkpoint"]), vocabulary, part, compute_type)
        elif teacher["ctranslate2"]:
            _ctranslate2(Path(teacher["ctranslate2"]), part)
        else:
            _converted(teacher["converted"], part, compute_type)


def _opennmt(run: Path, vocabulary: Path | None, output: Path, compute_type: str) -> None:
    """The last checkpoint of a run; a vocabulary beside it goes before the study's."""
    if not (run / "model_description.py").is_file():
        raise UserError(f"{run}: no model_description.py here; give the folder of an OpenNMT-tf run")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(run, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("events.*"))
        if not (Path(folder) / "vocabulary.txt").exists():
            if vocabulary is None:
                raise UserError(f"{run}: no vocabulary.txt here; a run with its own tokenization needs its own one")
            shutil.copy(vocabulary, Path(folder) / "vocabulary.txt")
        converter = Converter(load(Path(folder)))
        try:
            converter.convert(str(output), quantization=compute_type)
        except ValueError as error:  # CTranslate2's own words: a model that it does not have, a recurrent one
            raise UserError(f"{run}: {error}") from error


def _ctranslate2(model: Path, output: Path) -> None:
    """A copy as it is: distill.teacher has CTranslate2 convert the weights when it loads them."""
    if not ctranslate2.contains_model(str(model)):
        raise UserError(f"{model}: no CTranslate2 model here (model.bin and its vocabulary)")
    shutil.copytree(model, output)


def _converted(asked: dict[str, Any], output: Path, compute_type: str) -> None:
    name = f"ct2-{asked['from']}-converter"
    program = Path(asked["environment"], "bin", name) if asked["environment"] else Path(sys.executable).with_name(name)
    if not program.exists():
        raise UserError(f"{program}: no converter here; the environment needs the package ctranslate2")
    words = [str(program), "--output_dir", str(output), "--quantization", compute_type]
    for option, value in asked["options"].items():
        if value is not False:
            words += [
                f"--{option}",
                *([] if value is True else map(str, value if isinstance(value, list) else [value])),
            ]
    done = subprocess.run(words, capture_output=True, text=True)
    if not done.returncode and asked["from"] == "transformers":
        # Its tokenizers end a source with </s>, ours do not; the other converters of CTranslate2 note this themselves.
        config = output / "config.json"
        write_json(config, {**read_json(config), "add_source_eos": True})
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise UserError(f"{' '.join([name, *words[1:]])}: {reason}{_environment_advice(asked)}")


def _environment_advice(asked: dict[str, Any]) -> str:
    """Of a toolkit that the study's Python does not import."""
    if asked["environment"] or asked["from"] not in ENVIRONMENTS:
        return ""
    commands = ENVIRONMENTS[asked["from"]].format("models/environment")
    return (
        f"; {asked['from']} does not import on Python 3.11, make it an environment with `{commands}` "
        "and name that in converted.environment"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--teacher", type=json.loads, required=True, help="JSON: its entry in the configuration")
    parser.add_argument("--vocabulary", type=Path, nargs="?", help="the study's, for a run that has none")
    parser.add_argument("--output", type=Path, required=True, help="folder to write, named after its compute type")
    args = parser.parse_args()
    import_teacher(args.teacher, args.vocabulary, args.output)


if __name__ == "__main__":
    command(main)
