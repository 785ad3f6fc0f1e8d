"""Parts of the HTML pages: templates, and pictures inside a page, which then needs no other file."""

import base64
from pathlib import Path

import jinja2

from common.errors import UserError

TYPES = {".svg": "image/svg+xml", ".png": "image/png"}


def templates() -> jinja2.Environment:
    loader = jinja2.PackageLoader("report", "templates")
    return jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)


def data_uri(path: Path) -> str:
    """A picture as a data: address. Raises UserError for a format that browsers do not show."""
    if path.suffix not in TYPES:
        raise UserError(f"{path}: pictures on the page are {' or '.join(TYPES)}")
    return f"data:{TYPES[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode()}"
