"""Import a teacher that was trained elsewhere, for CTranslate2 or for the native engine.

It may be an OpenNMT-tf run, a CTranslate2 folder, or a model of another toolkit that CTranslate2's converters read. For
the native engine, runs and Marian's models are read directly, with every kind of decoder; the weights of other models
are CTranslate2's in float32.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import ctranslate2
from msgspec import Struct

from export import read_opennmt_tf
from export.settings import Converted
from formats import opennmt_tf
from formats.conversion import Converter
from nmt_frontier.command_line import json_value, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import atomic_path, read_json, typed, write_json
from nmt_frontier.importers import read_ctranslate2, read_marian
from nmt_frontier.importers.ctranslate2_model import ENVIRONMENTS
from nmt_frontier.importers.float_model import FloatModel
from nmt_frontier.importers.marian_parameters import Parameters, read_pieces
from nmt_frontier.model import native_weights
from nmt_frontier.search.native import Native

Options = dict[str, Any]  # of a command line, by name: a value, a list, or a switch

FOR_NATIVE = Native.folder("")  # before the type in the name of a folder
USE_NATIVE = "the native engine decodes more kinds of models, distillation: {engine: native}"
USE_CTRANSLATE2 = "CTranslate2 translates with this teacher, distillation: {engine: ctranslate2}"


class TeacherSource(Struct):
    """The part of an entry of ``teachers`` that says where its model is from: one of the three."""

    checkpoint: str | None = None
    ctranslate2: str | None = None
    converted: Converted | None = None

    @classmethod
    def of(cls, entry: object) -> Self:
        """Raises UserError for a wrong entry, and for one that is from nowhere."""
        teacher = typed(entry, cls, "--teacher: not an entry of `teachers`")
        if not (teacher.checkpoint or teacher.ctranslate2 or teacher.converted):
            raise UserError("--teacher: needs checkpoint, ctranslate2 or converted")
        return teacher


def import_native(teacher: TeacherSource, vocabulary: Path | None, output: Path) -> None:
    """Write ``output``, a folder named native-TYPE. Raises UserError as import_teacher, and for what native lacks."""
    kind = native_weights.kind(output)
    with atomic_path(output) as part:
        _float_model(teacher, vocabulary, output).write(kind, part)


def _float_model(teacher: TeacherSource, vocabulary: Path | None, output: Path) -> FloatModel:
    if teacher.checkpoint:
        with _with_vocabulary(Path(teacher.checkpoint), vocabulary) as run:
            return read_opennmt_tf.read(run)
    if teacher.converted and teacher.converted.toolkit == "marian":
        return _read_marian(teacher.converted.options)
    return _through_ctranslate2(teacher, output)


def _read_marian(options: Options) -> FloatModel:
    """The model of two files, by the names of the options of CTranslate2's converter, which reads fewer models."""
    if options.keys() != {"model_path", "vocab_paths"} or len(options["vocab_paths"]) != 2:
        raise UserError("converted.options of a model of Marian's: needs model_path and two vocab_paths, no others")
    parameters = Parameters(Path(options["model_path"]))
    source, target = (read_pieces(Path(path), side, parameters) for side, path in enumerate(options["vocab_paths"]))
    return read_marian.read(parameters, source, target)


def _through_ctranslate2(teacher: TeacherSource, output: Path) -> FloatModel:
    with tempfile.TemporaryDirectory() as folder:
        exact = Path(folder) / "float32"
        import_teacher(teacher, None, exact)
        try:
            return read_ctranslate2.read(exact)
        except UserError as error:
            raise UserError(f"{output}: {str(error).removeprefix(f'{exact}: ')}; {USE_CTRANSLATE2}") from None


def import_teacher(teacher: TeacherSource, vocabulary: Path | None, output: Path) -> None:
    """Write ``output``, a folder of CTranslate2 named after its type. ``teacher`` is its entry in the configuration.

    Raises UserError for a model that is missing, that its converter refuses, or whose weights are not finite.
    """
    compute_type = output.name
    with atomic_path(output) as part:
        if teacher.checkpoint:
            _convert_checkpoint(Path(teacher.checkpoint), vocabulary, part, compute_type)
        elif teacher.ctranslate2:
            _copy_ctranslate2(Path(teacher.ctranslate2), part)
        elif teacher.converted:
            _run_converter(teacher.converted, part, compute_type)
        origin = Path(teacher.checkpoint or teacher.ctranslate2 or output)
        read_ctranslate2.check_finite(Path(teacher.ctranslate2 or part), origin)


def _convert_checkpoint(run: Path, vocabulary: Path | None, output: Path, compute_type: str) -> None:
    """Convert the last checkpoint of an OpenNMT-tf run."""
    with _with_vocabulary(run, vocabulary) as complete:
        converter = Converter(opennmt_tf.load_checkpoint(complete))
        try:
            converter.convert(str(output), quantization=compute_type)
        except ValueError as error:  # from CTranslate2: it lacks the architecture, for instance recurrent networks
            raise UserError(f"{run}: {error}; {USE_NATIVE}") from error


@contextmanager
def _with_vocabulary(run: Path, vocabulary: Path | None) -> Iterator[Path]:
    """Links to an OpenNMT-tf run, with a vocabulary: its own, or the study's. Errors inside name the run."""
    if not (run / "model_description.py").is_file():
        raise UserError(f"{run}: no model_description.py here; give the folder of an OpenNMT-tf run")
    with tempfile.TemporaryDirectory() as folder:
        for path in run.resolve().iterdir():  # no copies: checkpoints are large, and a run has many
            (Path(folder) / path.name).symlink_to(path)
        if not (Path(folder) / "vocabulary.txt").exists():
            if vocabulary is None:
                raise UserError(f"{run}: no vocabulary.txt here; a run with its own tokenization needs its own one")
            shutil.copy(vocabulary, Path(folder) / "vocabulary.txt")
        try:
            yield Path(folder)
        except UserError as error:
            raise UserError(str(error).replace(folder, str(run))) from error


def _copy_ctranslate2(model: Path, output: Path) -> None:
    """Copy without conversion: CTranslate2 converts the weights when distill.teacher loads them."""
    if not ctranslate2.contains_model(str(model)):
        raise UserError(f"{model}: no CTranslate2 model here (model.bin and its vocabulary)")
    shutil.copytree(model, output)


def _run_converter(converted: Converted, output: Path, compute_type: str) -> None:
    """Run a converter of CTranslate2. ``converted``: its toolkit, the Python environment and the options."""
    name = f"ct2-{converted.toolkit}-converter"
    environment = converted.environment
    program = Path(environment, "bin", name) if environment else Path(sys.executable).with_name(name)
    if not program.exists():
        raise UserError(f"{program}: no converter here; the environment needs the package ctranslate2")
    arguments = ["--output_dir", str(output), "--quantization", compute_type, *_as_arguments(converted.options)]
    process = subprocess.run([str(program), *arguments], capture_output=True, text=True)
    if process.returncode:
        reason = (process.stderr.strip().splitlines() or ["no message"])[-1]
        raise UserError(f"{' '.join([name, *arguments])}: {reason}{_environment_advice(converted)}")
    if converted.toolkit == "transformers":
        # Transformers' tokenizers append </s> to a source, this project's do not; other converters of CTranslate2 set
        # this option themselves.
        config = output / "config.json"
        write_json(config, {**read_json(config), "add_source_eos": True})


def _as_arguments(options: Options) -> list[str]:
    """Options of a command line: True is a flag alone, False no flag, a list several values."""
    arguments = []
    for option, value in options.items():
        if value is not False:
            values = value if isinstance(value, list) else [value]
            arguments += [f"--{option}", *([] if value is True else map(str, values))]
    return arguments


def _environment_advice(converted: Converted) -> str:
    """How to install a toolkit that is not installed with the project."""
    if converted.environment or converted.toolkit not in ENVIRONMENTS:
        return ""
    commands = ENVIRONMENTS[converted.toolkit].format("models/environment")
    missing = f"{converted.toolkit} is not installed with this project"
    return f"; {missing}: make it an environment with `{commands}` and name that in converted.environment"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--teacher", type=json_value, required=True, help="JSON: its entry in the configuration")
    parser.add_argument("--vocabulary", type=there, nargs="?", help="the study's, for a run that has none")
    parser.add_argument("--output", type=Path, required=True, help="folder to write, named TYPE or native-TYPE")
    args = parser.parse_args()
    write = import_native if args.output.name.startswith(FOR_NATIVE) else import_teacher
    write(TeacherSource.of(args.teacher), args.vocabulary, args.output)


if __name__ == "__main__":
    command(main)
