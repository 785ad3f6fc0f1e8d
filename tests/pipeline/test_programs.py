"""Programs: what they share is in modules, which no command line starts."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "src", ROOT / "engine/python", ROOT]  # the folders of packages; the last one that of papers


def modules():
    """The syntax trees of all modules of the product, by name."""
    found = {}
    for folder in SOURCES:
        for path in (folder / "papers" if folder == ROOT else folder).rglob("*.py"):
            found[".".join(path.relative_to(folder).with_suffix("").parts)] = ast.parse(path.read_text())
    return {name: tree for name, tree in found.items() if "submission_files" not in name}


def is_program(name, tree):
    guards = [ast.unparse(node.test) for node in tree.body if isinstance(node, ast.If)]
    return name.endswith("__main__") or "__name__ == '__main__'" in guards


def imported(tree):
    """The names of everything that a module imports, wherever it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_nothing_imports_from_a_program():
    trees = modules()
    programs = {name for name, tree in trees.items() if is_program(name, tree)}
    assert len(programs) > 50
    found = {f"{name}: {other}" for name, tree in trees.items() for other in imported(tree) if other in programs}
    assert sorted(found) == []
