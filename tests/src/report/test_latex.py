"""Tables of Markdown in LaTeX."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reports import FIXTURE

from formats import measurement
from report import latex, markup, measurements

DOCUMENT = r"\documentclass{article}\usepackage{booktabs}\begin{document}\tiny %s \end{document}"


def test_a_table_with_heading_and_note():
    rows = [{"name": "a_b", "BLEU": "1.50"}, {"name": "50 % & more", "BLEU": "–"}]
    text = markup.document("Title", "Some *note*.", markup.table(rows, left=["name"]))
    assert latex.tables(text).splitlines() == [
        "% # Title", "% Some *note*.", r"\begin{tabular}{lr}", r"\toprule", r"name & BLEU \\", r"\midrule",
        r"a\_b & 1.50 \\", r"50 \% \& more & -- \\", r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`a_b`", r"\texttt{a\_b}"),
        ("**1.5** \\*", r"\textbf{1.5} *"),
        ("[a table](x_y.md)", "a table"),
        ("12~ ×2", r"12\textasciitilde{} $\times$2"),
        ("2^3 {x} \\\\", r"2\textasciicircum{}3 \{x\} \textbackslash{}"),
    ],
)
def test_text_of_cells(text, expected):
    assert latex.inline(text) == expected


@given(st.lists(st.text("ab|&_ ", min_size=1).map(str.strip), min_size=1, max_size=4))
def test_cells_stay_as_many_whatever_is_in_them(cells):
    rows = [{f"column {number}": markup.escaped(cell) for number, cell in enumerate(cells)}]
    row = latex.tables(markup.table(rows)).splitlines()[4]
    assert row.replace(r"\&", "").count("&") == len(cells) - 1 and row.count(r"\textbar{}") == "".join(cells).count("|")


@pytest.mark.optional("pdflatex")
def test_latex_reads_the_table_of_a_study(tmp_path):
    text = latex.tables(measurements.table(measurement.read(FIXTURE)))
    (tmp_path / "x.tex").write_text(DOCUMENT % f"\n{text}\n", encoding="utf-8")
    call = ["pdflatex", "-interaction=batchmode", "-halt-on-error", "x.tex"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (tmp_path / "x.log").read_text()[-2000:]
