"""What lies in place of a text or a model: a pointer to it, a page about it, a checkpoint that its toolkit reads."""

import re
from collections.abc import Iterable
from pathlib import Path

from nmt_frontier.errors import UserError

HEAD_BYTES = 1 << 12  # tell everything that is named here
ZIP = b"PK\x03\x04"

COMMENTS = rb"\s*(?:<!--(?:(?!-->).)*-->\s*)*"  # in one way only: of many there are no more steps than bytes
START = rb"(?:\xef\xbb\xbf)?(?:\s*<\?xml[^>]*>)?" + COMMENTS
# A head with a title or the like: a corpus may begin with a line in <html>, or with Qt's rich text.
IN_HEAD = rb"<(?:title|meta|link|base|script|style)\b(?!.*qrichtext)"
HTML = rb"(?i:<html\b[^>]*>\s*<head\b[^>]*>" + COMMENTS + IN_HEAD + rb")"
DOCTYPE = rb"(?i:<!doctype\s+html\b[^>]*>" + COMMENTS + rb"(?:<html\b|<head\b|" + IN_HEAD + rb")(?!.*qrichtext))"
SHORT = rb"(?:(?:404: |entry |repository )?not found|invalid username or password\.?)"
ANSWER = rb"(?i:<html\b(?:(?!</html>).)*</html>|" + SHORT + rb")\s*\Z"
TORCH = rb"PK\x03\x04.{26}[^\x00]{1,200}?/(?:data\.pkl|byteorder)|\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19"
PICKLE = rb"\x80(?:[\x02\x03][](}cCKX]|[\x04\x05]\x95.{6}\x00\x00)|\((?:dp|lp)\d+\n|c(?:copy_reg|numpy)\b"
CONVERT = "convert it with its toolkit, as docs/models.md shows"

KINDS = {  # what a file is and what to do, by how it begins
    rb"version https?://(?:git-lfs\.github|hawser\.github)\.com/spec/": (
        "is a pointer of Git LFS, not the file; run `git lfs pull` in its repository, or download the file itself"
    ),
    rb"(?:\.\./)*(?:\.git)?/annex/objects/": (
        "is a pointer of git-annex, not the file; run `git annex get` for it in its repository"
    ),
    START + rb"(?:" + HTML + rb"|" + DOCTYPE + rb"|<Error>\s*<Code>|" + ANSWER + rb")": (
        "is a page or an answer of a web server, not the file; delete it, and download from the file's own address"
    ),
    rb"7z\xbc\xaf\x27\x1c|Rar!\x1a\x07": "is an archive of 7-Zip or RAR; unpack it",
    TORCH: f"is a checkpoint of torch, which can run code; if it is a model, {CONVERT}",
    PICKLE: f"is a pickle of Python, which can run code; if it is a model, {CONVERT}",
}


def check(name: object, head: bytes, zipped: bool = True) -> None:
    """Raises UserError, which says what to do, for a file that begins as no text and no model does.

    name: of the file, for the message. head: its first HEAD_BYTES. zipped: whether it may be a zip archive.
    """
    for pattern, what in KINDS.items():
        if re.match(pattern, head, re.DOTALL):  # compiled here: to decode needs none
            raise UserError(f"{name}: {what}")
    if not zipped and head.startswith(ZIP):
        raise UserError(f"{name}: is a zip archive; unpack it, or convert a checkpoint with its toolkit")


def check_files(paths: Iterable[Path], zipped: bool = True) -> None:
    """Raises UserError as ``check`` for the first of these files that is none; skips folders."""
    for path in paths:
        if path.is_file():
            with open(path, "rb") as file:
                check(path, file.read(HEAD_BYTES), zipped)
