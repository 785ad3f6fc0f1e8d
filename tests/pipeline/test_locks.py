"""The locks agree, so that their packages live in one environment, whichever is installed last."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_package_has_two_versions():
    """But in a lock whose .in says that it stands apart."""
    whole = ROOT.glob("requirements*.lock")
    locks = [path for path in whole if "\n# Apart: " not in path.with_suffix(".in").read_text()]
    versions: dict[str, dict[str, list[str]]] = {}
    for path in locks:
        for name, version in re.findall(r"^([\w.-]+)==(\S+)", path.read_text(), re.MULTILINE):
            versions.setdefault(name, {}).setdefault(version, []).append(path.name)
    assert len(locks) > 5 and len(versions["numpy"]) == 1
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}
