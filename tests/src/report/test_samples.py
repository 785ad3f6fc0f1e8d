import pytest
from hypothesis import given
from hypothesis import strategies as st
from reports import run

from formats import records
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_text
from report import samples

LINES = 50


@pytest.fixture
def study(tmp_path):
    pairs = [(f"source {line}", f"reference {line} <b> | & ü") for line in range(1, LINES + 1)]
    records.write(tmp_path / "test.tsv.zst", pairs)
    for system in ("teacher", "deep"):
        write_text(tmp_path / f"{system}.txt", "".join(f"{system} {line}\n" for line in range(1, LINES + 1)))
    return tmp_path


def chosen(study, count=20, seed=1):
    outputs = {system: study / f"{system}.txt" for system in ("teacher", "deep")}
    return samples.choose(study / "test.tsv.zst", outputs, count, seed)


@given(st.integers(1, 500), st.integers(1, 60), st.integers(0, 99))
def test_lines_are_spread_evenly(total, count, seed):
    numbers = samples.numbers(total, count, seed)
    assert len(numbers) == min(total, count)
    assert numbers == sorted(set(numbers)) and numbers[0] >= 0 and numbers[-1] < total
    part = total / len(numbers)
    assert all(abs(number - (at + 0.5) * part) <= part / 2 + 1 for at, number in enumerate(numbers))


def test_the_seed_decides_and_the_columns_of_a_sample_are_of_one_line(study):
    assert chosen(study) == chosen(study) != chosen(study, seed=2)
    for sample in chosen(study):
        line = sample.line
        assert sample.source == f"source {line}" and sample.reference.startswith(f"reference {line} ")
        assert sample.outputs == {"teacher": f"teacher {line}", "deep": f"deep {line}"}


def test_an_output_of_another_length_and_an_empty_test_set(study):
    write_text(study / "deep.txt", "one\n")
    with pytest.raises(UserError, match=r"deep.txt: 1 lines, but its test set has 50; decode it again"):
        chosen(study)
    records.write(study / "test.tsv.zst", [])
    with pytest.raises(UserError, match="a test set without sentences"):
        chosen(study)


def test_markdown_shows_every_sentence_and_escapes(study):
    found = chosen(study)
    markdown = samples.markdown(samples.Samples("test", found))
    for sample in found:
        assert all(f"| {part} |" in markdown for part in (sample.source, *sample.outputs.values()))
        assert f"| reference | {sample.reference.replace('|', chr(92) + '|')} |" in markdown


def test_samples_command_line(study):
    outputs = [study / f"out/samples{suffix}" for suffix in (".md", ".json")]
    common = ["--test-set", f"test={study}/test.tsv.zst", "--outputs", f"deep={study}/deep.txt", "--count", 3]
    assert run("report.samples", *common, "--output", *outputs).returncode == 0
    assert [len(read_json(outputs[1])["samples"]), outputs[0].read_text().count("| source |")] == [3, 3]
    done = run("report.samples", *common, "--output", study / "x.pdf")
    assert done.returncode == 1 and "samples are written as .md or .json" in done.stderr
    done = run("report.samples", "--test-set", "test.tsv.zst", "--outputs", "a=b", "--output", study / "x.md")
    assert done.returncode == 2 and "not of the form name=path" in done.stderr
