"""Texts in the files of a mirror folder, and corpora made of them."""

import bz2
import gzip
import hashlib
import io
import lzma
import tarfile
import zipfile
from functools import partial

import pytest
import zstandard

from corpora import fetch
from corpora.readers import READERS
from corpora.readers.reader import Input, Selection, Unread
from nmt_frontier.errors import UserError
from study import config

ENGLISH = "".join(f"A dog runs over field {number}.\n" for number in range(3000))
GERMAN = "".join(f"Ein Hund läuft über Feld {number}.\n" for number in range(3000))
PAIRS = list(zip(ENGLISH.splitlines(), GERMAN.splitlines(), strict=True))
COMPRESS = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}


def encoded(text):
    return text if isinstance(text, bytes) else text.encode()


def checksum(text):
    return hashlib.sha256(encoded(text)).hexdigest()


def read(name, data, columns=(0, 1), languages=("en", "de"), chunk=1 << 18):
    """The records that are kept, and the reasons of the others."""
    reader = READERS[name.split()[0]](Selection([*languages], [*columns]))
    kept, dropped = [], []
    for block in reader.blocks((data[at : at + chunk] for at in range(0, len(data), chunk)), Input("x", Unread())):
        records = zip(*block.columns, strict=True)
        kept += [record for number, record in enumerate(records) if number not in block.dropped]
        dropped += block.dropped.values()
    return kept, dropped


def rows(blocks):
    """The records in blocks of TSV."""
    return [tuple(line.split("\t")) for line in b"".join(blocks).decode().split("\n")[:-1]]


def opened(folder, role="train", pair=("en", "de"), **source):
    """Blocks of TSV of a corpus and its provenance; its files are in the folder."""
    return fetch.fetch("x", config.corpus({"role": role, **source}), list(pair), folder, folder / "cache", 1)


def fetched(folder, **source):
    """The records of a corpus and its provenance; its files are in the folder."""
    blocks, provenance = opened(folder, **source)
    return rows(blocks), provenance


def saved(folder, english=ENGLISH, german=GERMAN, name="x.{lang}", pack=bytes):
    for language, text in (("en", english), ("de", german)):
        (folder / name.replace("{lang}", language)).write_bytes(pack(encoded(text)))
    return {"file": name}


def raised(call, *arguments, **keys):
    """The error of a call: one line."""
    with pytest.raises(UserError) as error:
        call(*arguments, **keys)
    assert "\n" not in str(error.value)
    return str(error.value)


fails = partial(raised, fetched)


def tarred(path, files, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def zipped(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)


# Corpora as pairs of compressed files with checksums


def entry(mirror="x.{lang}.gz", url=(), english=ENGLISH, german=GERMAN, **more):
    source = {"mirror": mirror, "url": list(url)} if url else {"file": mirror}
    return {"role": "train", **source, "sha256": {"en": checksum(english), "de": checksum(german)}, **more}


def corpus(*arguments, **more):
    return config.corpus(entry(*arguments, **more))


def mirrored(folder, english=ENGLISH, german=GERMAN, compress=gzip.compress):
    folder.mkdir(exist_ok=True)
    saved(folder, english, german, "x.{lang}.gz", compress)
    return folder


def records_of(asked, tmp_path, mirror=None):
    """The records of a corpus and its origins, with a download cache in ``tmp_path``."""
    blocks, provenance = fetch.fetch("x", asked, ["en", "de"], mirror, tmp_path / "cache", 1)
    return rows(blocks), provenance.origins


refused = partial(raised, records_of)
