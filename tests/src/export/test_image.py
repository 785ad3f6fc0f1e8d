"""Images of submissions: what they hold, how large they are, and that they translate as the model does."""

import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
from pathlib import Path

import huggingface_models
import models
import native
import pytest

from export import image, submission, translate_command
from export.image import ImageLayer
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, sha256, write_json
from nmt_frontier.importers.found import ImportOptions
from nmt_frontier.importers.model import export
from nmt_frontier.translator import Translator

BUILDAH = pytest.mark.optional("buildah")


def added(archive: tarfile.TarFile, name: str, content: bytes) -> str:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))
    return name


def layer(files: dict[str, int]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, size in files.items():
            added(archive, name, os.urandom(size))
    return packed.getvalue()


@pytest.fixture
def archive(tmp_path):
    """An image of three layers, as builders write it."""
    files = {"etc/passwd": 10, "./usr/bin/python3": 3000}, {"run.sh": 20}, {"model/model.bin": 500}
    layers = [*map(layer, files)]
    with tarfile.open(tmp_path / "x.tar", "w") as outer:
        places = [added(outer, f"blobs/sha256/{number}", content) for number, content in enumerate(layers)]
        digests = [place.removeprefix("blobs/").replace("/", ":") for place in places]
        entries = [{"digest": digest, "size": len(content)} for digest, content in zip(digests, layers, strict=True)]
        added(outer, "blobs/sha256/m", json.dumps({"layers": entries}).encode())
        added(outer, "index.json", json.dumps({"manifests": [{"digest": "sha256:m"}]}).encode())
    return tmp_path / "x.tar", [len(content) for content in layers]


def test_sizes_add_up_with_and_without_base_and_model(archive):
    path, packed = archive
    layers = image.layers(path)
    files = (("etc", "usr"), 3010), (("run.sh",), 20), (("model",), 500)
    assert layers == [ImageLayer(*found, size) for found, size in zip(files, packed, strict=True)]
    lines = image.sizes(layers, of_base=1).splitlines()[2:]
    rows = [[cell.strip().replace(",", "") for cell in line.strip("|").split("|")] for line in lines]
    found = {name: (int(files), int(compressed)) for name, files, _, compressed, _ in rows}
    assert found == {
        "the base image": (3010, packed[0]),
        "`run.sh`": (20, packed[1]),
        "`model`": (500, packed[2]),
        "**all**": (3530, sum(packed)),
        "**without the base**": (520, packed[1] + packed[2]),
        "**without the model**": (3030, packed[0] + packed[1]),
        "**without base and model**": (20, packed[1]),
    }


def test_without_buildah_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(UserError, match="buildah is missing"):
        image.build(recipe(tmp_path / "submission"), tmp_path / "x.tar")
    assert not (tmp_path / "x.tar").exists()


def recipe(folder: Path, head: str = "FROM scratch") -> Path:
    """A submission's folder with a file in each of two layers."""
    folder.mkdir()
    for name, content in (("run.sh", "echo"), ("model", "weights")):
        (folder / name).write_text(content)
    (folder / "Dockerfile").write_text(f'{head}\nCOPY run.sh /\nCOPY model /\nENTRYPOINT ["/run.sh"]\n')
    return folder


@pytest.mark.long
@BUILDAH
def test_a_base_is_an_archive_of_the_makefile_or_an_image_that_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(image, "BASE", tmp_path / "python.tar")
    image.build(recipe(tmp_path / "base"), image.BASE)
    for given, output in ((None, "x.tar"), (f"oci-archive:{image.BASE}", "y.tar")):
        image.build(recipe(tmp_path / output[0], "ARG BASE=nowhere\nFROM ${BASE}"), tmp_path / output, given)
        table = (tmp_path / output).with_suffix(".SIZES.md").read_text()
        assert table.count("the base image") == 2 and table.count("`run.sh`") == 1
    image.BASE.unlink()
    with pytest.raises(UserError, match=r"(?s)first `make build/images/python.tar`.*nowhere"):
        image.build(tmp_path / "x", tmp_path / "z.tar")
    assert not (tmp_path / "z.tar").exists()


def test_the_native_engine_is_not_for_gpus(tmp_path):
    with pytest.raises(UserError, match="the native engine decodes on CPUs"):
        submission.make(native.folders() / "int8", tmp_path / "x", "gpu")


def busybox(folder: Path, machine: int, loader: str = "") -> Path:
    """The head of a program for a machine of ELF, in a folder of its own."""
    folder.mkdir()
    (folder / "busybox").write_bytes(b"\x7fELF".ljust(18, b"\0") + machine.to_bytes(2, "little") + loader.encode())
    return folder


def test_a_busybox_is_static_and_for_the_processor(tmp_path, monkeypatch):
    dynamic = busybox(tmp_path / "dynamic", 183, "/lib/ld-linux-aarch64.so.1")
    other, fitting = busybox(tmp_path / "other", 62), busybox(tmp_path / "fitting", 183)
    (tmp_path / "translate").write_bytes(b"program")
    monkeypatch.setattr(
        translate_command, "build", lambda processor: tmp_path / processor.replace("aarch64", "translate")
    )
    model = native.folders() / "int8"
    monkeypatch.setenv("PATH", f"{dynamic}{os.pathsep}{other}")
    with pytest.raises(UserError, match="no busybox for aarch64 that is linked statically"):
        submission.make(model, tmp_path / "x", processor="aarch64")
    assert not (tmp_path / "x").exists()
    monkeypatch.setenv("PATH", f"{dynamic}{os.pathsep}{other}{os.pathsep}{fitting}")
    submission.make(model, tmp_path / "x", processor="aarch64")
    assert (tmp_path / "x/bin/sh").read_bytes() == (fitting / "busybox").read_bytes()
    assert (tmp_path / "x/translate").read_bytes() == b"program"


def test_libraries_are_for_this_processor_alone(tmp_path):
    with pytest.raises(UserError, match="only the native engine is compiled for vax here"):
        submission.make(models.folders()["float32"], tmp_path / "x", processor="vax")


def test_a_processor_without_a_compiler_is_named():
    with pytest.raises(UserError, match=r"nothing compiles for vax here; .* apt-get install g\+\+-vax-linux-gnu"):
        translate_command.build("vax")


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """A submission with the program that is built for it."""
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed, which compiles the command of submissions")
    try:
        translate_command.sources()
        submission._static_busybox(translate_command.HERE)
    except UserError as error:
        pytest.skip(f"cannot be made here: {error}")
    folder = tmp_path_factory.mktemp("submission") / "native"
    submission.make(native.folders() / "int8", folder)
    return folder


def translated(command: list, text: bytes) -> subprocess.CompletedProcess:
    return subprocess.run([*map(str, command)], input=text, capture_output=True, check=False)


ODD = ["", " ", "a", "\u1100\u1161 e\u0301 \ufb01", "x" * 40_000, "a b " * 3000]
ODD += ["\0", "a\r", "\u00a0a\u2028", "\ufeff42"]
LINES = [*models.sentences(300, seed=3), *ODD, *models.sentences(100, seed=4)]
TEXT = b"\n".join([*map(str.encode, LINES), b"\xff\xe2\x82 a \xed\xa0\x80", b"the end"])


def expected() -> bytes:
    text = [line.decode(errors="replace").rstrip("\r\n") for line in TEXT.split(b"\n")]
    return "".join(f"{line}\n" for line in Translator(native.folders() / "int8").translate(text)).encode()


@pytest.mark.long
@pytest.mark.parametrize("hardware", ["CPU-ST", "CPU-MT"])
@pytest.mark.parametrize("task", ["throughput", "latency"])
def test_the_program_writes_what_decode_translate_writes(shipped, hardware, task):
    done = translated([shipped / "run.sh", hardware, task], TEXT)
    assert done.stdout == expected() and len({*done.stdout.split(b"\n")}) > 50
    counts = "5 broken bytes replaced by U+FFFD\n1 lines longer than 1000 pieces cut there\n"
    looped = "24 translations repeated themselves and were ended\n"  # the model's weights are random
    assert done.stderr.decode() == counts + looped


@pytest.mark.long
def test_the_program_is_compiled_once(shipped):
    program = translate_command.engine_build() / "command" / "translate"
    assert program.read_bytes() == (shipped / "translate").read_bytes()
    before = program.stat().st_mtime_ns
    assert translate_command.build() == program and program.stat().st_mtime_ns == before


@pytest.mark.long
def test_the_program_leaves_out_pieces_that_are_no_text(shipped, tmp_path):
    folder = shutil.copytree(native.folders() / "int8", tmp_path / "model")
    vocabulary = read_json(folder / "vocabulary.json")
    pieces = vocabulary.get("target", vocabulary["source"])
    write_json(folder / "vocabulary.json", {**vocabulary, "hidden": pieces[3::2]})
    lines = models.sentences(100, seed=5)
    done = translated(
        [shipped / "translate", folder, "CPU-ST", "throughput"], "".join(f"{x}\n" for x in lines).encode()
    )
    assert done.stdout.decode().splitlines() == [*Translator(folder, checksums=False).translate(lines)]
    assert [*Translator(native.folders() / "int8").translate(lines)] != done.stdout.decode().splitlines()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["marian", "m2m_100"])
def test_the_program_takes_marks_of_languages(shipped, tmp_path, kind):
    """With a SentencePiece model for each side, whose vocabulary has the marks, and with languages as prefixes."""
    if kind == "marian":
        huggingface_models.marked(tmp_path / "model")
    else:
        huggingface_models.write(tmp_path / "model", kind)
    export(
        tmp_path / "model", tmp_path / "out", ["int8"], ImportOptions(languages=huggingface_models.LANGUAGES.get(kind))
    )
    folder = tmp_path / "out/native-int8"
    marks = [">>deu<<", ">>deu<< "] if kind == "marian" else [">>fr<< ", ">>de<<>>fr<<", ">>en<< >>de<< "]
    lines = [f"{mark}{line}" for line in models.sentences(20, seed=6) for mark in ("", *marks, " ", "<2fr> ")]
    lines += [*marks, f"{marks[0]}{'a ' * 3000}"]
    command = [shipped / "translate", folder, "CPU-ST", "throughput"]
    done = translated(command, "".join(f"{line}\n" for line in lines).encode())
    assert done.stdout.decode().splitlines() == [*Translator(folder).translate(lines)]
    assert len({*done.stdout.splitlines()}) > 2
    refused = translated(command, b"a\n>>xx<< a\n")
    assert refused.returncode == 1 and b"begins with >>xx<<, a language that the model does not have" in refused.stderr


@pytest.mark.long
def test_the_program_refuses_what_it_cannot_do(shipped, tmp_path):
    usage = b"usage: run.sh CPU-ST|CPU-MT throughput|latency < source > target\n"
    for arguments in (["GPU", "latency"], ["CPU-ST"], ["CPU-ST", "latency", "--protect", "url"]):
        wrong = translated([shipped / "run.sh", *arguments], b"a\n")
        assert (wrong.returncode, wrong.stdout, wrong.stderr) == (2, b"", usage)
    copy = shutil.copytree(shipped, tmp_path / "copy", symlinks=True)
    weights = copy / "model" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    damaged = translated([copy / "run.sh", "CPU-ST", "latency"], b"a\n")
    assert (damaged.returncode, damaged.stdout, damaged.stderr.count(b"\n")) == (1, b"", 1)
    assert b"weights.safetensors: FAILED" in damaged.stderr
    folder = shutil.copytree(native.folders() / "int8", tmp_path / "other")
    write_json(folder / "model.json", {**read_json(folder / "model.json"), "engine": "marian"})
    other = translated([shipped / "translate", folder, "CPU-ST", "latency"], b"a\n")
    assert other.returncode == 1 and b"model.json: this model is for the engine 'marian'" in other.stderr


@pytest.mark.long
def test_a_reader_that_goes_away_ends_the_program(shipped):
    call = [shipped / "run.sh", "CPU-MT", "throughput"]
    run = subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    run.stdout.close()
    run.communicate(b"a b c\n" * 20_000, timeout=300)
    assert run.returncode == 128 + signal.SIGPIPE


@pytest.mark.long
@BUILDAH
def test_an_image_is_built_and_translates_without_a_network(shipped, tmp_path):
    """In a container without the host's network; shell, program and model come from the image."""
    layers = image.build(shipped, tmp_path / "x.tar")
    assert [found.holds for found in layers] == [("bin",), ("run.sh", "translate"), ("model",)]
    assert layers[1].files == sum((shipped / name).stat().st_size for name in ("run.sh", "translate"))
    assert layers[2].files == sum(path.stat().st_size for path in (shipped / "model").iterdir())
    assert sum(found.files for found in layers[:2]) < 104e6  # the paper's image without the model
    assert "**without the model**" in (tmp_path / "x.SIZES.md").read_text()
    assert {path.name for path in tmp_path.iterdir()} == {"x.tar", "x.SIZES.md"}  # no storage stays behind
    digest = sha256(tmp_path / "x.tar")
    with image.buildah(tmp_path / "storage") as tool:
        container = tool.run("from", f"oci-archive:{tmp_path / 'x.tar'}")
        call = ["unshare", "--net", "buildah", *tool.options, "run", "--isolation", "chroot", container, "--"]
        done = translated([*call, "/run.sh", "CPU-MT", "throughput"], TEXT)
    assert done.stdout == expected(), done.stderr
    assert sha256(tmp_path / "x.tar") == digest
