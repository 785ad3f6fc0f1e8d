"""The native engine on a CPU that is not here: does it say the same, byte for byte, with AVX512 and VNNI?

Bochs emulates such a CPU, instruction by instruction, so this says nothing of speed. It boots a kernel of Debian with a
file system in memory that holds Python, NumPy, the engine, models and sentences. There engine_emulated_run.py decodes
on the instruction sets that this machine lacks. Products, translations and their scores are compared with those of the
widest set here. Needs Bochs 3 (2.7, which Debian has, gives AVX512 no place in memory that Linux accepts), configured
with --enable-x86-64 --enable-cpu-level=6 --enable-avx --enable-evex --with-nogui, and with ``leaf->ecx =
get_std_cpuid_leaf_7_ecx()`` in leaf 7 of corei7_skylake-x.cc: Linux does not start on Bochs's CPUs that have VNNI. Then
the packages bochsbios, vgabios, isolinux, syslinux-common, xorriso, busybox-static and cpio; and the kernel of
linux-image-cloud-amd64 (``dpkg -x``).
"""

import argparse
import json
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from importlib import util
from pathlib import Path
from typing import Any

import nmt_frontier_engine as engine
import numpy as np
from engine_emulated_run import MARK
from nmt_frontier_engine import kernels
from tabulate import tabulate

from common import machine
from common.command_line import positive
from common.errors import UserError, command
from common.files import write_json
from decode.batching import batches
from decode.engines.native import Native
from decode.tokenizer import Tokenizer
from formats import native_model, records

RUN = Path(__file__).with_name("engine_emulated_run.py")
TYPES = ("float32", "int16", "int8")
BATCH_TOKENS = 512
SIZES = ((64, 48), (1024, 80), (4096, 48))  # inputs, outputs of products
ROWS = 13  # more than the rows of any tile
END = "THE END"
SECONDS = 3 * 3600  # after which the emulated machine is given up
ISOLINUX = (Path("/usr/lib/ISOLINUX/isolinux.bin"), Path("/usr/lib/syslinux/modules/bios/ldlinux.c32"))
INIT = f"""#!/bin/busybox sh
/bin/busybox mkdir -p /proc /dev /tmp
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
export PYTHONHOME=/usr PYTHONPATH=/packages LD_LIBRARY_PATH=/libraries OPENBLAS_NUM_THREADS=1
/usr/bin/python3 /work/{RUN.name} {" ".join(engine.available_sets())} > /dev/ttyS0 2>&1
echo {END} > /dev/ttyS0
/bin/busybox sleep 1000000
"""
BOOT = """default linux
label linux
 kernel vmlinuz
 append initrd=initrd console=ttyS0 quiet nosmp lsm=capability mitigations=off
"""
# A Skylake-X, which has AVX512, with VNNI. ips: the clock that it tells the kernel, for delays as long as it thinks.
MACHINE = """cpu: model=corei7_skylake_x, add_features="avx512vnni", count=1, ips=1500000000, reset_on_triple_fault=0
memory: guest=1536, host=1536
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/vgabios/vgabios.bin
ata0-master: type=cdrom, path={image}, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev={serial}
display_library: nogui
clock: sync=none
log: {log}
"""


def cases() -> Iterator[tuple[str, str, dict[str, np.ndarray]]]:
    """Type, name and arrays of products, among them those that drive sums as far as they go."""
    random = np.random.default_rng(1)
    for kind in TYPES:
        for inputs, outputs in SIZES:
            signs = np.where(np.arange(outputs) % 2, 1.0, -1.0)[:, None]
            matrices = {"random": random.normal(size=(outputs, inputs)), "one-sign": signs * np.ones((outputs, inputs))}
            for name, matrix in matrices.items():
                tensors = native_model.linear("w", matrix.astype(np.float32), random.normal(size=outputs), kind)
                rows = (
                    random.normal(size=(ROWS, inputs)) if name == "random" else random.choice([-1, 1], (ROWS, inputs))
                )
                rows, scale = kernels.quantise(rows.astype(np.float32), kind)
                arrays = {key.partition(".")[2]: tensor for key, tensor in tensors.items()}
                yield kind, f"{name}-{inputs}x{outputs}", arrays | {"rows": rows, "row_scale": scale}


def work(models: list[Path], test_set: Path, sentences: int, beam_sizes: list[int]) -> list[dict[str, Any]]:
    """Models, searches and batches of numbers; the batches are those of the pipeline."""
    found = []
    for model in models:
        folder = model / Native.folder("float32")
        encode, numbers = Tokenizer(folder).encode, native_model.Vocabulary.read(folder).numbers
        encoded = [numbers(encode(record[0])) for record in records.read(test_set)][:sentences]
        cut = [[encoded[place] for place in places] for places in batches(encoded, BATCH_TOKENS)]
        for kind in TYPES:
            for beam in beam_sizes:
                found.append({"model": f"{model.name}/{kind}", "beam_size": beam, "batches": cut})
    return found


def copy_python(root: Path) -> None:
    """This Python, NumPy, the engine and the shared libraries that they need."""
    standard = Path(sysconfig.get_paths()["stdlib"])
    left_out = shutil.ignore_patterns("site-packages", "test", "tests", "idlelib", "ensurepip", "config-*", "*.pyi")
    shutil.copytree(standard, root / "usr/lib" / standard.name, ignore=left_out)
    (root / "usr/bin").mkdir()
    shutil.copy(Path(sys.executable).resolve(), root / "usr/bin/python3")
    for name in ("numpy", engine.__name__):
        folder = Path(util.find_spec(name).origin).parent
        shutil.copytree(folder, root / "packages" / name, ignore=left_out)
        if (libraries := folder.with_name(f"{name}.libs")).exists():
            shutil.copytree(libraries, root / "packages" / libraries.name)
    programs = [root / "usr/bin/python3", *root.rglob("*.so")]
    listed = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout.split()
    (root / "libraries").mkdir()
    (root / "lib64").mkdir()
    for path in {Path(word) for word in listed if word.startswith("/") and not word.startswith(str(root))}:
        if path.is_file():
            shutil.copy(path, root / ("lib64" if path.name.startswith("ld-") else "libraries"))


def prepare(folder: Path, models: list[Path], jobs: list[dict[str, Any]]) -> None:
    """What the emulated machine works on, and its program."""
    folder.mkdir(parents=True)
    shutil.copy(RUN, folder)
    (folder / "work.json").write_text(json.dumps(jobs))
    for kind, name, arrays in cases():
        np.savez(folder / f"{kind}.{name}.npz", **arrays)
    for model in models:
        for kind in TYPES:
            (copy := folder / model.name / kind).mkdir(parents=True)
            shutil.copy(model / Native.folder(kind) / native_model.NAME, copy)


def image(scratch: Path, root: Path, kernel: Path) -> Path:
    """A bootable CD with the file system in ``root``."""
    disc = scratch / "disc"
    disc.mkdir()
    copy_python(root)
    (root / "bin").mkdir()
    shutil.copy("/bin/busybox", root / "bin")
    (root / "init").write_text(INIT)
    (root / "init").chmod(0o755)
    packing = "find . | cpio -o -H newc --quiet | gzip -1"
    with open(disc / "initrd", "wb") as packed:
        subprocess.run(["sh", "-c", packing], cwd=root, stdout=packed, check=True)
    for path in ISOLINUX:
        shutil.copy(path, disc)
    shutil.copy(kernel, disc / "vmlinuz")
    (disc / "isolinux.cfg").write_text(BOOT)
    booting = ["-b", "isolinux.bin", "-c", "boot.cat", "-no-emul-boot", "-boot-load-size", "4", "-boot-info-table"]
    subprocess.run(["xorriso", "-as", "mkisofs", "-quiet", "-o", scratch / "boot.iso", *booting, disc], check=True)
    return scratch / "boot.iso"


def read(text: str) -> dict[str, dict[str, list[str]]]:
    """Digests of what came out, by instruction set and work."""
    found: dict[str, dict[str, list[str]]] = {}
    for line in text.replace("\r", "").split("\n"):
        if line.startswith(MARK):
            isa, work, answer = json.loads(line.removeprefix(MARK))
            found.setdefault(isa, {})[work] = answer
    return found


def emulated(bochs: str, disc: Path, scratch: Path) -> str:
    """What the machine says. Raises UserError where it does not come to its end."""
    serial, settings, nothing = scratch / "serial", scratch / "settings", subprocess.DEVNULL
    settings.write_text(MACHINE.format(image=disc, serial=serial, log=scratch / "log"))
    serial.write_text("")
    start, said = time.monotonic(), 0
    with subprocess.Popen([bochs, "-q", "-f", settings], stdin=nothing, stdout=nothing, stderr=nothing) as process:
        try:
            while END not in (text := serial.read_text(errors="replace")):
                if process.poll() is not None or time.monotonic() - start > SECONDS:
                    raise UserError(f"the emulated machine did not come to its end; its last words: {text[-500:]!r}")
                if (lines := text.count(MARK)) > said:
                    said = lines
                    print(f"{said} answers after {time.monotonic() - start:.0f} s", file=sys.stderr)
                time.sleep(10)
        finally:
            process.kill()
    return text


def table(said: dict[str, dict[str, list[str]]], here: dict[str, list[str]]) -> list[dict[str, Any]]:
    """A row for each set and kind of work: how many of the answers are those of this machine."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for isa, works in said.items():
        for name, answer in here.items():
            what, _, rest = name.partition(" ")
            kind = rest.partition(".")[0] if what == "product" else rest.rpartition(" ")[0]
            row = {"isa": isa, "what": what, "of": kind, "equal": 0, "all": 0}
            row = rows.setdefault((isa, f"{what} {kind}"), row)
            row["equal"] += sum(a == b for a, b in zip(answer, works.get(name, []), strict=False))
            row["all"] += len(answer)
    return [*rows.values()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, nargs="+", required=True, help="folders of systems, results/X/models/Y")
    parser.add_argument("--test-set", type=Path, required=True, help="records")
    parser.add_argument("--sentences", type=positive, default=200)
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=[1, 4])
    parser.add_argument("--bochs", default="bochs", help="the program, of version 3")
    parser.add_argument("--kernel", type=Path, required=True, help="vmlinuz of linux-image-cloud-amd64")
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    args = parser.parse_args()

    jobs = work(args.models, args.test_set, args.sentences, args.beam_sizes)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        root = scratch / "root"
        prepare(root / "work", args.models, jobs)
        run = [sys.executable, root / "work" / RUN.name]
        told = read(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
        widest = engine.available_sets()[-1]
        disc = image(scratch, root, args.kernel)
        rows = table(read(emulated(args.bochs, disc, scratch)), told[widest])
    about = {"test_set": records.name(args.test_set), "compared_with": widest, **machine.describe()}
    write_json(args.output, {**about, "rows": rows})
    print(tabulate(rows, headers="keys"))


if __name__ == "__main__":
    command(main)
