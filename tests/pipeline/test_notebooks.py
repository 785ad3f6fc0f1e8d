"""The notebooks answer their questions on the committed results, and on altered ones, and change nothing.

What a notebook finds is compared with the same computed from its JSON. All run in one kernel, one after the other.
"""

import json
import math
import shutil
from pathlib import Path
from statistics import mean, median

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from findings import cost
from nmt_frontier.files import read_json, write_json

pytestmark = pytest.mark.long

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
REFERENCE = Path(__file__).parents[2] / "results/reference"
PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))
TOLERANCE = 0.5  # BLEU on the dev set that the best model may lose (docs/results.md)


@pytest.fixture(scope="module")
def kernel():
    """A client whose kernel stays: starting one and loading matplotlib and pandas takes most of the time."""
    resources = {"metadata": {"path": str(NOTEBOOKS)}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
        client = NotebookClient(nbformat.v4.new_notebook(), timeout=300, resources=resources)
        with client.setup_kernel():
            yield client


def studies(notebook):
    """The lines with the place of the results; a study is looked for from the folder of the notebooks."""
    lines = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code").splitlines()
    return [line for line in lines if line.startswith("STUDY = ")]


def run(kernel, name, study=None):
    """Run a notebook from top to bottom; study: instead of its own. Returns its variables that JSON can hold."""
    (path,) = NOTEBOOKS.glob(f"{name}-*.ipynb")
    notebook = nbformat.read(path, as_version=4)
    (line,) = studies(notebook)
    names = "{name: value for name, value in globals().items() if isinstance(value, (str, int, float, list, dict))}"
    last = f"import json\nprint(json.dumps({names}, default=str, skipkeys=True))"
    notebook.cells.insert(0, nbformat.v4.new_code_cell("%reset -f"))
    notebook.cells.append(nbformat.v4.new_code_cell(last))
    kernel.nb = notebook
    for number, cell in enumerate(notebook.cells):
        if study:
            cell.source = cell.source.replace(line, f"from pathlib import Path\nSTUDY = Path({str(study)!r})")
        kernel.execute_cell(cell, number)
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = sum("image/png" in output.get("data", {}) for output in shown)
    return json.loads(notebook.cells[-1].outputs[0].text) | {"pictures": pictures}


def altered(study, pattern, change, folder):
    """A copy of the files of a study, each as ``change`` gives it back."""
    for path in sorted((REFERENCE / study).glob(pattern)):
        copy = folder / path.relative_to(REFERENCE / study)
        copy.parent.mkdir(parents=True, exist_ok=True)
        write_json(copy, change(read_json(path)))
    return folder


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_question_first_advice_last_and_no_outputs(path):
    """What a run shows belongs to its study, not into the repository."""
    notebook = nbformat.read(path, as_version=4)
    first, *_, last = notebook.cells
    assert "**Question:" in first.source and "?**" in first.source
    assert last.cell_type == "markdown" and last.source.startswith("## What to do with the answer")
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert any(word in code[0] for word in ("from report", "from formats")) and len(studies(notebook)) == 1
    assert not any(f"\n{word} " in f"\n{source}" for source in code for word in ("def", "class", "while"))


def test_the_set_is_numbered_and_changes_nothing(kernel, tmp_path):
    assert [path.name[:2] for path in PATHS] == [f"{number:02}" for number in range(1, 7)]
    shutil.copy(REFERENCE / "demo/measurements.json", tmp_path)
    run(kernel, "01", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["measurements.json"]
    assert (tmp_path / "measurements.json").read_bytes() == (REFERENCE / "demo/measurements.json").read_bytes()


def test_a_study_that_is_not_there(kernel, tmp_path):
    with pytest.raises(CellExecutionError, match=f"{tmp_path}/none: no measurements.json; set STUDY to"):
        run(kernel, "01", tmp_path / "none")


def rows(study):
    """The records of the first test set that nothing disturbed."""
    records = read_json(study / "measurements.json")
    timed = [row for row in records if row["test_set"] == records[0]["test_set"] and row["bleu"] is not None]
    return [row for row in timed if not row.get("noisy")] or timed


def without_the_fastest(records):
    """The records without those of eight bits, which are the fastest."""
    return [record for record in records if record["compute_type"] != "int8"]


@pytest.mark.parametrize("change", [None, without_the_fastest])
def test_01_names_the_best_student(kernel, tmp_path, change):
    study = REFERENCE / "engine/demo"
    if change:
        study = altered("engine/demo", "measurements.json", change, tmp_path)
    found = run(kernel, "01", study)
    students = [row for row in rows(study) if row["role"] != "teacher" and row.get("dev_bleu") is not None]
    least = max(row["dev_bleu"] for row in students) - TOLERANCE
    good = [row for row in students if row["dev_bleu"] >= least]
    best = max(good, key=lambda row: row["dev_bleu"] + math.log2(row["source_words_per_second"]))
    assert found["answer"].startswith(f"{best['system']} {best['engine']} {best['compute_type']}") and found["pictures"]
    assert found["answer"].endswith(" map") == best["vocabulary_map"]
    assert (found["answer"].split()[2] == "int8") == (change is None)


def without_distillation(gap):
    """A gap in which the twin is as good as the student that was distilled."""
    for beams in gap["test_sets"].values():
        for result in beams["beams"].values():
            for pair in result["comparisons"]:
                pair.update(bleu_delta=0.0, bleu_p=[1.0] * len(pair["seeds"]))
    return gap


@pytest.mark.parametrize("change", [None, without_distillation])
def test_02_finds_the_effect_of_distillation(kernel, tmp_path, change):
    study = altered("multi30k", "gap.json", change, tmp_path) if change else REFERENCE / "multi30k"
    found = run(kernel, "02", study if change else None)
    gap = read_json(study / "gap.json")
    beams = next(iter(gap["test_sets"].values()))["beams"]
    greedy = next(iter(beams.values()))
    of_teacher = beams[str(gap["teacher_beam"])]["systems"]
    (teacher,) = (row["bleu"] for row in of_teacher if row["system"] == gap["teacher"])
    students = [group["bleu"] for group in greedy["groups"] if group["mixture"]]
    assert found["remaining"] == pytest.approx(teacher - max(students))
    pairs = [p for p in greedy["comparisons"] if p["twins"] and p["difference"] == "distillation"]
    assert [twin["student"] for twin in found["twins"]] == [pair["student"] for pair in pairs] != []
    for twin, pair in zip(found["twins"], pairs, strict=True):
        of_student = [row for row in greedy["systems"] if row["student"] == pair["student"]]
        below = teacher - mean(row["bleu"] for row in of_student if row["mixture"] == "original")
        assert twin["gap"] == pytest.approx(below)
        assert (twin["won"], twin["p"]) == (pytest.approx(pair["bleu_delta"]), max(pair["bleu_p"]))
        assert twin["closed"] == pytest.approx(pair["bleu_delta"] / below)
        assert (twin["won"] > 0) == (change is None)
    assert found["pictures"] == 1


def harmful_small_maps(timing):
    """All maps with few candidates lose BLEU, and none is faster than the whole vocabulary."""
    small = sorted(row["candidates"] for row in timing["rows"])[len(timing["rows"]) // 4]
    for row in timing["rows"]:
        if row["map"] != "whole":
            row["times_faster_min"] = 0.9
            row |= {"bleu_delta": -1.0, "bleu_p": 0.001} if row["candidates"] < small else {}
    return timing


@pytest.mark.parametrize("change", [None, harmful_small_maps])
@pytest.mark.parametrize("study", ["mixed-gpu", "multi30k-captions"])
def test_03_picks_the_smallest_map_that_loses_nothing(kernel, tmp_path, study, change):
    folder = altered(study, "maps.timing.json", change or (lambda timing: timing), tmp_path)
    found = run(kernel, "03", folder)
    alone = [row for row in read_json(folder / "maps.timing.json")["rows"] if row["batch_tokens"] == 1]
    maps = [row for row in alone if row["map"] != "whole"]
    harmless = [row for row in maps if row["bleu_delta"] >= 0 or row["bleu_p"] >= 0.05]
    best = min(harmless, key=lambda row: row["candidates"])
    assert found["harmless"] == len(harmless) and found["picked_map"] == best["map"]
    assert found["worth_it"] == (best["times_faster_min"] > 1) and found["pictures"] == 1
    assert change is None or (len(harmless) < len(maps) and not found["worth_it"])


def twice_as_slow(records):
    cost = "core_seconds_per_million_words"
    return [record | {cost: 2 * record[cost]} for record in records]


@pytest.mark.parametrize("change", [None, twice_as_slow])
def test_04_pays_for_whole_machines(kernel, tmp_path, change):
    study = REFERENCE / "architectures"
    if change:
        study = altered("architectures", "measurements.json", change, tmp_path)
    found = run(kernel, "04", study)
    good = [row for row in rows(study) if row["bleu"] >= max(r["bleu"] for r in rows(study)) - found["bleu_to_lose"]]
    core_seconds = min(row["core_seconds_per_million_words"] for row in good)
    cores = found["words_per_day"] * found["peak"] / 86_400 * core_seconds / 1e6
    listed = {name: price for name, price in cost.prices().items() if "gpus" not in price}
    month = {name: -(-cores // price["cores"]) * price["usd_per_hour"] * 730 for name, price in listed.items()}
    assert found["usd_a_month"] == pytest.approx(min(month.values()))
    assert found["machine"] == min(month, key=month.get)
    assert found["machines"] == -(-cores // listed[found["machine"]]["cores"])
    million_words = found["words_per_day"] * 365 / 12 / 1e6
    assert found["usd_per_million"] == pytest.approx(min(month.values()) / million_words)
    assert found["full"] * found["machines"] >= found["words_per_day"] and found["pictures"] == 1


def near_duplicates(corpus):
    """A corpus that lost half of itself to one rule."""
    half = corpus["lines_in"] // 2
    if corpus["name"] == "europarl-slice":
        corpus["dropped"] |= {"near_duplicate": half}
        corpus["samples"]["near_duplicate"] = [["one", "eins"]]
        corpus["lines_out"] -= half
    return corpus


@pytest.mark.parametrize("change", [None, near_duplicates])
def test_05_finds_the_rule_that_drops_most(kernel, tmp_path, change):
    folder = altered("paper-sizes", "corpora/clean/*.json", change or (lambda corpus: corpus), tmp_path)
    found = run(kernel, "05", folder)
    corpora = [read_json(path) for path in (folder / "corpora/clean").glob("*.json")]
    shares = {(c["name"], rule): n / c["lines_in"] for c in corpora for rule, n in c["dropped"].items()}
    worst = max(shares, key=shares.get)
    assert (found["worst_corpus"], found["worst_rule"]) == worst and found["pictures"] == 2
    assert found["worst_share"] == pytest.approx(100 * shares[worst])
    kept = [sum(corpus[f"lines_{end}"] for corpus in corpora) for end in ("in", "out")]
    assert [found["lines_in"], found["lines_out"]] == kept and found["kept"] == pytest.approx(kept[1] / kept[0])


def slow_rows(ratios):
    """Rows between products take most of the time, and little of the limit is reached."""
    if isinstance(ratios, dict):  # fidelity.json: eight bits lose a BLEU
        for row in ratios["rows"]:
            row["bleu"] -= row["compute_type"] == "int8"
        return ratios
    for row in ratios:
        if "components" in row:
            row["components"] = {name: 0.02 for name in row["components"]} | {"decoder rows": 0.78}
            row["share_of_limit"] /= 2
    return ratios


@pytest.mark.parametrize("change", [None, slow_rows])
def test_06_finds_where_the_time_goes(kernel, tmp_path, change):
    study = altered("engine", "[rf][ai]*.json", change, tmp_path) if change else REFERENCE / "engine"
    found = run(kernel, "06", study)
    timed = [row for row in read_json(study / "ratios.json") if "components" in row and row["peer"] == "ctranslate2"]
    timed = [row for row in timed if row["beam_size"] == 1]
    parts = {name: mean(row["components"][name] for row in timed) for name in timed[0]["components"]}
    largest = max(parts, key=parts.get)
    assert found["largest"] == largest and found["largest_share"] == pytest.approx(parts[largest])
    assert found["gain_without_it"] == pytest.approx(1 / (1 - parts[largest]))
    assert found["left_at_most"] == pytest.approx(1 / min(row["share_of_limit"] for row in timed))
    speed = {(r["model"], r["batch"], r["compute_type"]): r["tokens_per_cpu_second"] for r in timed}
    gains = [value / speed[*key[:2], "float32"] for key, value in speed.items() if key[2] == "int8"]
    assert found["median_gain"] == pytest.approx(median(gains))
    scores = [row for row in read_json(study / "fidelity.json")["rows"] if row["engine"] == "native"]
    bleu = {(row["model"], row["compute_type"]): row["bleu"] for row in scores if row["beam_size"] == 1}
    losses = [bleu[model, "float32"] - value for (model, type), value in bleu.items() if type == "int8"]
    assert found["largest_loss"] == pytest.approx(max(losses)) and found["pictures"] == 1
