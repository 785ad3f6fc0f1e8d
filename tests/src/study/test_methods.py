"""The Methods paragraph of Snakemake's report has what a study does, and nothing that is off."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from docutils.core import publish_doctree
from jinja2 import Environment

from study import config
from study.keys import schema

ROOT = Path(__file__).parents[3]
TEMPLATE = (ROOT / "workflow/report/workflow.rst").read_text()
OFF = {
    "control_characters": False, "max_tokens": False, "max_length_ratio": False, "identical": False,
    "min_script_share": False, "max_digit_mismatch": False, "max_repeats": False, "langid": [],
    "terminal_punctuation": False, "duplicates": False, "near_duplicates": False,
}  # fmt: skip
WORDS = {  # a rule that is switched on, and its words
    "control_characters": (True, "control characters"),
    "max_tokens": (77, "more than 77 whitespace tokens"),
    "max_length_ratio": (5.5, "a length ratio above 5.5"),
    "identical": (True, "the same text on both sides"),
    "min_script_share": (0.4, "less than a share of 0.4 of the letters in a script of the language"),
    "max_digit_mismatch": (0, "more than a share of 0 of the digits"),
    "max_repeats": (3, "the same one to four words more than 3 times in a row"),
    "terminal_punctuation": (True, "terminal punctuation on one side alone"),
    "langid": (["target"], "another language on the target side"),
    "duplicates": (True, "the text of a line before them"),
    "near_duplicates": (True, "the text of a line before them but for case"),
}
REPAIRS = {
    "repair_entities": "entities of HTML",
    "repair_mojibake": "UTF-8 that was read in another encoding",
    "repair_quotes": "typographic quotes and dashes",
    "repair_width": "full-width characters",
}
OF_PAIRS = {"max_length_ratio", "identical", "max_digit_mismatch", "terminal_punctuation", "langid"}


def methods(study):
    """The paragraph in one line, as Snakemake renders it; docutils finds no fault with it."""
    text = Environment(trim_blocks=True, lstrip_blocks=True).from_string(TEMPLATE).render(
        snakemake=SimpleNamespace(config=study)
    )  # fmt: skip
    publish_doctree(text, settings_overrides={"halt_level": 2})
    return " ".join(text.partition("\n.. _")[0].split())


def loaded(folder, base="offline", **changes):
    path = folder / "x.yaml"
    path.write_text(yaml.safe_dump({"extends": str(ROOT / f"configs/{base}.yaml")} | changes))
    return config.load(path)


def test_every_cleaning_rule_has_its_words():
    described = schema()["$defs"]["Cleaning"]["properties"]
    others = {"langid_languages", *REPAIRS}  # an option of langid, and what drops nothing
    assert set(OFF) == set(WORDS) == set(described) - others


@pytest.mark.parametrize(("key", "words"), REPAIRS.items())
def test_a_repair_is_named_where_it_is_on(tmp_path, key, words):
    text = methods(loaded(tmp_path, cleaning=OFF | {key: True}))
    assert f"In grammar, grammar_english these were replaced first: {words}" in text
    assert "replaced first" not in methods(loaded(tmp_path, cleaning=OFF))


@pytest.mark.parametrize("key", [None, *WORDS])
def test_a_cleaning_rule_is_named_where_it_is_on(tmp_path, key):
    text = methods(loaded(tmp_path, cleaning=OFF | ({key: WORDS[key][0]} if key else {})))
    parts = [part.split(" One joint ")[0] for part in text.split("Cleaning of ")[1:]]
    names = "grammar" if key in OF_PAIRS else "grammar, grammar_english"
    assert [part.partition(" dropped lines with: ")[0] for part in parts] == ([names] if key else [])
    assert all(part.count(";") == 0 and WORDS[key][1] in part for part in parts)


def test_corpora_that_are_cleaned_alike_are_named_together():
    text = methods(config.load(ROOT / "configs/mixed.yaml"))
    assert "Cleaning of msdocs-ht, lo-help, phpdoc dropped lines with:" in text
    (talk,) = [part for part in text.split("Cleaning of ") if part.startswith("anki-deu-eng dropped")]
    assert "language" not in talk and "digits" not in talk and "in a row" in talk


def test_usd_are_named_where_the_study_names_its_machine(tmp_path):
    assert "USD" not in methods(loaded(tmp_path))
    text = methods(loaded(tmp_path, prices={"machine": "m7i.large"}))
    assert "core a run was pinned to, and in USD at the price of m7i.large (AWS, us-east-1, 20" in text


@pytest.mark.parametrize("path", sorted(ROOT.glob("configs/*.yaml")), ids=lambda path: path.stem)
def test_nothing_absent_is_mentioned(path):
    text = methods(config.load(path))
    assert not {"False", "None", "none", "{", "}"} & set(text.replace("(", " ").replace(",", " ").split())
    study = config.load(path)
    assert ("The teachers" in text) == any(m["targets"] != "original" for m in study["mixtures"].values())
    ensemble = any(m["targets"] != "original" and m["teacher"] is None for m in study["mixtures"].values())
    assert ("As an ensemble" in text) == (ensemble and len(study["teachers"]) > 1)


def test_teachers_translate_together_or_rescore():
    study = config.load(ROOT / "tests/studies/tiny-ensemble.yaml")
    together, rescored = "their probabilities were averaged at every step.", "all of them scored the whole translations"
    assert together in (text := methods(study)) and rescored in text
    del study["mixtures"]["distilled"]
    assert together in (text := methods(study)) and rescored not in text


def test_who_taught_word_by_word():
    text = methods(config.load(ROOT / "tests/studies/tiny-ensemble.yaml"))
    assert "deep learned what first and second held probable at each of their pieces: the 4 best ones, with" in text


def test_who_translated_and_how():
    chain = methods(config.load(ROOT / "configs/multi30k-chain.yaml"))
    assert "middle: the translations that the teachers like best (of the student deep)" in chain
    assert "The teachers (teacher) translated the source sentences with beam 8" in chain and "samples" not in chain
    study = config.load(ROOT / "configs/multi30k-llm.yaml")
    study["distillation"]["sampling"] = {}
    assert "Their 8 hypotheses of a sentence are samples. gemma is" in (text := methods(study))
    assert "beam" not in text.partition("(sequence-level")[0]


def test_back_translations_are_named_with_what_changes_them():
    text = methods(study := config.load(ROOT / "tests/studies/tiny-back-translation.yaml"))
    assert (
        "A backward teacher translated german into en, by sampling; words of its translations were left out (0.1)"
        in text
    )
    assert "; each begins with <BT>." in text and "another language on the target side" in text
    assert "As a teacher, teacher learned from the mixture augmented." in text
    study["back_translation"] |= {"sampling": None, "noise": None, "tag": None}
    assert "german into en, with beam 4. As a teacher, " in methods(study)


def test_one_run_is_no_repetition(tmp_path):
    assert "decoded once on core 0." in methods(loaded(tmp_path, decoding={"runs": 1}))
    text = methods(loaded(tmp_path))
    assert "once in every way, in turn, and 2 times in all where further runs may decide the front, on core 0." in text
    assert "and to the project's own engine, called native, where" in text
    assert "native" not in methods(loaded(tmp_path, decoding={"engines": []}))


def test_how_students_of_2018_were_trained():
    """The lengths are in pieces; nothing is averaged in Marian's paper."""
    marian = methods(config.load(ROOT / "configs/marian-wnmt2018.yaml"))
    assert "vocabulary (bpe) of 36000 pieces" in marian and "and the best 8 of a sentence were kept" in marian
    assert "more than 150 pieces on a side" in marian and "big began with the weights of big-1." in marian
    assert "Each is its last checkpoint." in marian and "average" not in marian
    opennmt = methods(config.load(ROOT / "configs/opennmt-wnmt2018.yaml"))
    assert "more than 100 pieces on a side" in opennmt and "began with" not in opennmt
    assert "Each is the average of its last 1 or 8 checkpoints." in opennmt


def test_the_paper_of_2020_has_its_subset_its_vocabulary_and_its_ensemble():
    text = methods(config.load(ROOT / "configs/wngt2020.yaml"))
    assert "Of news-crawl a random subset of 31,409,061 lines was taken." in text
    assert "pieces was trained on what students learn from in the mixture distilled." in text
    assert "all of them scored the whole translations of each (rescoring, not token by token)" in text
    assert "another language on the source side" in text and "or target side" not in text
