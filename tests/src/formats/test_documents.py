"""The types of documents: kept files of earlier versions have them, and nothing in a file changes when it is read."""

import pytest
from msgspec import convert, to_builtins
from reports import REFERENCE

from formats.counts import Cleaned
from formats.gap import Gap
from formats.learning import Learned, Learning
from formats.rounding import Quantization
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, typed, write_json
from papers.wnmt2018.documents import Components
from report.samples import Samples
from report.scale_plan import NodePlan

KINDS = {
    "gap.json": Gap,
    "systems/*/learning.json": Learning,
    "corpora/clean/*.json": Cleaned,
    "quantization.json": Quantization,
    "samples.json": Samples,
    "search-components.json": Components,
    "scale_plan.json": NodePlan,
}
EXTRA = {
    "recovered",
    "origin",
    "licence",
    "lines",
    "text_sha256",
    "checksum",
}  # of sources, and of how a file was found


def unchanged(read, written) -> bool:
    """Whether all that was read is as written; a field that was not written is None."""
    if isinstance(read, dict):
        left_out = written.keys() - read.keys()
        return left_out <= EXTRA and all(
            unchanged(value, written[name]) if name in written else value is None for name, value in read.items()
        )
    if isinstance(read, list | tuple):
        return len(read) == len(written) and all(map(unchanged, read, written))
    return read == written


@pytest.mark.parametrize("pattern", KINDS)
def test_kept_files_have_their_types(pattern):
    paths = [*REFERENCE.rglob(pattern)]
    assert paths
    for path in paths:
        written = read_json(path)
        assert unchanged(to_builtins(convert(written, KINDS[pattern])), written), path


def test_a_document_is_written_as_the_same_dictionary_would_be(tmp_path):
    values = {"system": "a", "targets": "best", "teachers": ["b"], "shares": {"ü": 1.0}, "drop_worst": 5}
    values |= {"sentences": {"ü": 3}}
    write_json(tmp_path / "x.json", [values])
    write_json(tmp_path / "y.json", [Learned(**values)])
    assert (tmp_path / "x.json").read_bytes() == (tmp_path / "y.json").read_bytes()


def test_a_wrong_field_is_named():
    with pytest.raises(UserError, match=r"x\.json: not a plan \(Expected `int`, got `str` - at `\$\.nodes\[0\]`\)"):
        plan = read_json(REFERENCE / "cluster/scale_plan.json")
        typed(plan | {"nodes": ["1"]}, NodePlan, "x.json: not a plan")
