"""Say what a model folder is, and what decodes it here."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError
from nmt_frontier.limits import longest_output
from nmt_frontier.model import model_folder
from nmt_frontier.model.model_folder import Description
from nmt_frontier.search import loading


def described(folder: Path) -> str:
    """What a model folder is, in lines. Raises UserError for what is no model folder."""
    found = model_folder.describe(folder)
    size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    made = found.made_by and found.made_by.imported
    rows = {
        "made": f"imported from {made}" if made else f"by the study {found.study}, system {found.system}",
        "languages": f"{found.source or 'unknown'} to {found.target or 'unknown'}",
        "role": found.role,
        "shape": found.shape,
        "parameters": f"{found.parameters:,}" if found.parameters else None,
        "weights": found.quantization,
        "map": "a vocabulary map" if found.vocabulary_map else "none",
        "longest": f"{longest_output(found)} pieces of a translation",
        "size": f"{size / 1e6:,.1f} MB",
        "decoded by": _engine(folder, found),
    }
    return "\n".join([str(folder), *(f"  {name:<12}{value}" for name, value in rows.items() if value)])


def _engine(folder: Path, found: Description) -> str:
    """The engine, and whether it decodes these weights here."""
    try:
        engine = loading.of(folder)
    except UserError as error:
        return str(error).removeprefix(f"{folder}: ")
    here = found.quantization in engine.supported()
    return engine.label if here else f"{engine.label}, which does not compute in {found.quantization} here"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="nmt-frontier describe", description=__doc__)
    parser.add_argument("folders", type=there, nargs="+", metavar="FOLDER", help="model folder")
    args = parser.parse_args(arguments)
    print("\n".join(map(described, args.folders)))
