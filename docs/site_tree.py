"""The site has the tree of the repository, so that every link of a page works in both.

MkDocs looks for pages below one folder. This hook replaces what it found by the files below that pages may link to,
under their own paths: a link from docs/ to results/ is the same in the repository and on the site, and MkDocs reports
it where the file is missing.
"""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PUBLIC = (
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "Snakefile", "Makefile"),
    *("docs", "engine", "results/reference", "benchmarks", "configs", "notebooks", "src", "tests", "workflow"),
)
HIDDEN = {"__pycache__", "nmt_frontier.egg-info"}


def public_files() -> list[Path]:
    """Every file of PUBLIC, relative to the root of the repository."""
    roots = [ROOT / name for name in PUBLIC]
    paths = [path for root in roots for path in ([root] if root.is_file() else sorted(root.rglob("*")))]
    return [path.relative_to(ROOT) for path in paths if path.is_file() and not HIDDEN & set(path.parts)]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    theme = [file for file in files if file.src_dir != config.docs_dir]
    own = [File(str(path), str(ROOT), config.site_dir, config.use_directory_urls) for path in public_files()]
    return Files([*theme, *own])
