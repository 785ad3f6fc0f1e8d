"""The site has the tree of the repository, so that every link of a page works in both.

MkDocs looks for pages below one folder. This hook replaces what it found by the files below that pages may link to,
under their own paths: a link from docs/ to results/ is the same in the repository and on the site, and MkDocs reports
it where the file is missing.

What `make pages` made lies on the site beside the JSON that it is made from. It is not in the repository, so pages
name it without a link, as `build/pages/demo/table.md` or, in the README of the study, as `table.md`; on the site the
name becomes a link. So does that of the demo's page that translates, where the demo has run.
"""

import os
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
PUBLIC = (
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "Snakefile", "Makefile"),
    *("docs", "engine", "results/reference", "benchmarks", "configs", "notebooks", "papers"),
    *("src", "tests", "workflow"),
)
MADE, KEPT = Path("build/pages"), Path("results/reference")
TRY = Path("results/demo/report/try.html")
NAMED = re.compile(r"(?<![\[`])`([\w./-]+)`(?![\]`])")
HIDDEN = {"__pycache__", "nmt_frontier_pipeline.egg-info"}


def public_files() -> list[Path]:
    """Every file of PUBLIC, relative to the root of the repository."""
    roots = [ROOT / name for name in PUBLIC]
    paths = [path for root in roots for path in ([root] if root.is_file() else sorted(root.rglob("*")))]
    return [path.relative_to(ROOT) for path in paths if path.is_file() and not HIDDEN & set(path.parts)]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    theme = [file for file in files if file.src_dir != config.docs_dir]
    own = [File(str(path), str(ROOT), config.site_dir, config.use_directory_urls) for path in public_files()]
    known = {file.src_uri for file in own}
    made = {str(KEPT / path.relative_to(ROOT / MADE)): path for path in made_files()}
    made |= {str(TRY): ROOT / TRY} if (ROOT / TRY).exists() else {}
    generated = [
        File.generated(config, name, abs_src_path=str(path)) for name, path in made.items() if name not in known
    ]
    return Files([*theme, *own, *generated])


def made_files() -> list[Path]:
    return [path for path in sorted((ROOT / MADE).rglob("*")) if path.is_file()]


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make links of the names of what `make pages` made."""
    folder = Path(page.file.src_uri).parent

    def linked(found: re.Match) -> str:
        name = Path(found[1])
        below = MADE in name.parents
        target = KEPT / name.relative_to(MADE) if below else Path(os.path.normpath(folder / name))
        made = KEPT in target.parents and (ROOT / MADE / target.relative_to(KEPT)).is_file()
        if name == TRY and (ROOT / TRY).exists():
            target, made = TRY, True
        return f"[`{name.name if below else name}`]({os.path.relpath(target, folder)})" if made else found[0]

    return NAMED.sub(linked, markdown)
