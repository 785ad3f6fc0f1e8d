"""Augmentation: rules change what they should, as often as they should; equal seeds give equal bytes."""

import itertools
import re
import subprocess
from collections import Counter
from random import Random

import pytest
import warm
from hypothesis import assume, given
from hypothesis import strategies as st

from findings.altered_text import FINAL
from formats import records
from nmt_frontier.files import read_json, write_json
from nmt_frontier.sentence import sentence
from nmt_frontier.text.items import SYMBOL, SYMBOLS, Finder
from study.keys import schema
from train import augmentation, sample, source_augmentation
from train.augmentation import CHANGES, JOINED, MEANT, RULES, TOGETHER, augmented, mistyped
from train.settings import Augmentation, SourceAugmentation

LANGUAGES = ["en", "de"]
COPIED = ("url", "email", "number", "emoji", "placeholder")
SENTENCES = st.text().map(sentence).filter(bool)
PAIRS = st.tuples(SENTENCES, SENTENCES)
PAIR = ("A dog’s house is red.", "Das Haus des Hundes ist rot!")


def block(pairs):
    return b"".join(map(records.line, pairs))


def changed(blocks, rates, seed=1, epoch=1, languages=LANGUAGES, meant=None):
    counts = Counter()
    texts = list(augmented(map(block, blocks), Augmentation(rates, meant or {}, languages), seed, epoch, counts))
    return [[tuple(line.split("\t")) for line in text.decode().split("\n")[:-1]] for text in texts], counts


@pytest.mark.parametrize(
    ("key", "rules"), [("both_sides", RULES), ("meant", MEANT), ("source", source_augmentation.RULES)]
)
def test_the_schema_has_every_rule(key, rules):
    assert schema()["$defs"]["Augmentation"]["properties"][key]["propertyNames"]["enum"] == list(rules)


@pytest.mark.parametrize(
    ("rule", "pair"),
    [
        ("upper_case", ("A DOG’S HOUSE IS RED.", "DAS HAUS DES HUNDES IST ROT!")),
        ("title_case", ("A Dog’s House Is Red.", "Das Haus Des Hundes Ist Rot!")),
        ("lower_case", ("a dog’s house is red.", "das haus des hundes ist rot!")),
        ("no_final_punctuation", ("A dog’s house is red", "Das Haus des Hundes ist rot")),
        ("doubled_punctuation", ("A dog’s house is red..", "Das Haus des Hundes ist rot!!")),
    ],
)
def test_a_rule_changes_both_sides(rule, pair):
    assert CHANGES[rule](Random(1), PAIR, None) == pair
    assert changed([[PAIR]], {rule: 1}) == ([[pair]], Counter({rule: 1}))


@pytest.mark.parametrize("rule", ["no_final_punctuation", "doubled_punctuation"])
def test_a_mark_of_one_side_alone_stays(rule):
    pair = ("A dog", "Ein Hund.")
    assert changed([[pair]], {rule: 1}) == ([[pair]], Counter())


def test_nothing_is_left_of_a_lone_mark_so_it_stays():
    assert changed([[("!", "?")]], {"no_final_punctuation": 1}) == ([[("!", "?")]], Counter())


def names(pair):
    return [name.lower() for name in augmentation.NAME.findall(pair[0])]


@given(st.sampled_from(COPIED), PAIRS, st.integers())
def test_a_copy_is_the_same_text_at_the_same_place(rule, pair, seed):
    new = CHANGES[rule](Random(seed), pair, None)
    item = getattr(augmentation, rule)(Random(seed), names(pair))  # the first that the change draws
    assert item == sentence(item)
    start, end, alone = (
        tuple(place(item, side) for side in pair) for place in ("{} {}".format, "{1} {0}".format, "{}".format)
    )
    if new not in (start, end, alone):
        assert all(old.endswith(tuple(FINAL)) and item in side for old, side in zip(pair, new, strict=True))
        assert [side.replace(item, "", 1).replace(" ", "") for side in new] == [side.replace(" ", "") for side in pair]


@given(st.sampled_from(COPIED), st.lists(st.sampled_from(["dog", "street"])), st.integers())
def test_what_is_copied_is_what_is_protected(rule, words, seed):
    item = getattr(augmentation, rule)(Random(seed), words)
    assert [match[0] for match in Finder().found(item)] == [item]


@given(st.integers())
def test_a_foreign_word_is_none_of_the_source(seed):
    source, _ = CHANGES["foreign_word"](Random(seed), ("translated", "übersetzt"), None)
    assert source.split().count("translated") == (" " in source)


@pytest.mark.parametrize("rule", COPIED)
def test_copies_stand_at_all_places(rule):
    items = Counter()
    for seed in range(300):
        item, (source, target) = (
            getattr(augmentation, rule)(Random(seed), names(PAIR)),
            CHANGES[rule](Random(seed), PAIR, None),
        )
        places = (f"{item} {PAIR[0]}", f"{PAIR[0]} {item}", f"{PAIR[0][:-1]} {item}.", item)
        items[places.index(source)] += 1
        assert (
            target == (f"{item} {PAIR[1]}", f"{PAIR[1]} {item}", f"{PAIR[1][:-1]} {item}!", item)[places.index(source)]
        )
    assert min(items.values()) >= 12 and len(items) == 4  # of 30, the rarest


@given(PAIRS, st.integers())
def test_both_sides_have_the_same_symbols_once(pair, seed):
    assume("⟦" not in "".join(pair))
    sides = [re.findall(SYMBOL, side) for side in CHANGES["protected"](Random(seed), pair, None)]
    assert sides[0] and sorted(sides[0]) == sorted(sides[1]) and {*sides[0]} <= {*SYMBOLS}
    assert len({*sides[0]}) == len(sides[0])


def test_symbols_stand_for_what_both_sides_have_and_at_all_places():
    pair = ("In 2024, Mr Obama paid 5 $ (5 euros) to a@b.org.", "2024 zahlte Obama 5 $, also 5 Euro, an a@b.org!")
    texts, firsts, apart = Counter(), Counter(), Counter()
    for seed in range(300):
        new = CHANGES["protected"](Random(seed), pair, None)
        alone = not re.sub(SYMBOL, "", new[0]).strip()
        assert alone or not any(text in side for side in new for text in ("2024", "Obama", "a@b.org"))
        assert alone or all(
            " 5 $" in side and "5 eur" in side.lower() for side in new
        )  # which of the two is which is not known
        texts[alone] += 1
        source, target = CHANGES["protected"](Random(seed), ("A dog, red, runs.", "Ein Hund, rot, läuft!"), None)
        sides = [re.sub(SYMBOL, "#", side) for side in (source, target)]
        firsts[sides[0].split()[0]] += 1
        apart.update(
            place for place in ("# A # dog", "dog, # red", "red, # runs", "runs #.", "runs. #") if place in sides[0]
        )
        assert ("Hund, # rot" in sides[1]) == ("dog, # red" in sides[0])
        assert ("# Ein # Hund" in sides[1]) == ("# A # dog" in sides[0])
    assert 10 < texts[True] < 60 and len(firsts) == 2 and len(apart) == 5 and min(apart.values()) > 10


@pytest.mark.parametrize(("languages", "spaces"), [(["en", "zh"], (" ", "")), (["th", "de"], ("", " "))])
def test_sentences_are_joined_as_their_languages_are_written(languages, spaces):
    pairs = [(f"s{number}.", f"t{number}.") for number in range(10)]
    ((*lines,),), counts = changed([pairs], {JOINED: 1}, languages=languages)
    assert counts == {JOINED: 10}
    joined = {2: 0, 3: 0, 4: 0}
    for number, line in enumerate(lines):
        parts = line[0].count(".")
        joined[parts] += 1
        following = [pairs[(number + place) % 10] for place in range(parts)]
        assert line == tuple(space.join(side) for space, side in zip(spaces, zip(*following, strict=True), strict=True))
    assert sum(joined.values()) == 10


@given(st.lists(st.lists(PAIRS, min_size=1, max_size=5), max_size=3), st.sampled_from(RULES), st.integers())
def test_every_line_stays_a_pair_and_changes_add_up(blocks, rule, seed):
    lines, counts = changed(blocks, {rule: 1}, seed)
    assert lines == changed(blocks, {rule: 1}, seed)[0]
    assert list(map(len, lines)) == list(map(len, blocks))
    old, new = ([pair for part in parts for pair in part] for parts in (blocks, lines))
    assert sum(counts.values()) == sum(one != other for one, other in zip(old, new, strict=True))
    assert all(len(pair) == 2 and all(side and side == sentence(side) for side in pair) for pair in new)


def test_rates_hold_and_other_columns_stay():
    rates = {rule: 0.01 + number / 200 for number, rule in enumerate(RULES)}
    pairs = [(f"A dog number {number}.", f"Ein Hund Nummer {number}.", "-0.5") for number in range(20_000)]
    (lines,), counts = changed([pairs], rates)
    assert set(counts) == set(RULES) and {line[2] for line in lines} == {"-0.5"}
    for rule, rate in rates.items():
        assert abs(counts[rule] - rate * 20_000) < 5 * (rate * 20_000) ** 0.5
    assert sum(line != pair for line, pair in zip(lines, pairs, strict=True)) == counts.total()


@given(st.integers(0, 99), st.integers(0, 99))
def test_seeds_epochs_and_blocks_draw_apart(seed, other):
    assume(seed != other)
    pairs = [[PAIR] * 50] * 2
    lines, _ = changed(pairs, {"url": 0.5}, seed)
    assert lines[0] != lines[1]
    assert lines != changed(pairs, {"url": 0.5}, other)[0] != changed(pairs, {"url": 0.5}, other, epoch=2)[0]


def test_an_epoch_is_drawn_as_without_and_counts_its_changes(tmp_path):
    corpus, plain, other = (tmp_path / f"{name}.tsv.zst" for name in ("corpus", "plain", "other"))
    records.write(corpus, ((f"word {number}.", f"Wort {number}.") for number in range(500)))
    sample.draw([corpus], None, 400, 1, 2, plain)
    settings = Augmentation({"upper_case": 0.3, JOINED: 0.1}, {}, LANGUAGES)
    sample.draw([corpus], None, 400, 1, 2, other, settings)
    before, after = read_json(records.info(plain)), read_json(records.info(other))
    assert "augmented" not in before and after["corpora"] == before["corpora"] and after["lines"] == 400
    pairs = list(zip(records.read(plain), records.read(other), strict=True))
    differing = [new for old, new in pairs if new != old]
    upper = sum(new[0].isupper() for new in differing)
    assert after["augmented"] == {"upper_case": upper, JOINED: len(differing) - upper}
    assert all(new == old or new[0].isupper() or new[0].startswith(old[0]) for old, new in pairs)


def test_changed_pairs_come_behind_the_unchanged_ones_of_a_map(tmp_path):
    corpus, plain, other = (tmp_path / f"{name}.tsv.zst" for name in ("corpus", "plain", "other"))
    records.write(corpus, ((f"word {number}.", f"Wort {number}.", "-0.5") for number in range(500)))
    sample.draw([corpus], None, None, 1, 1, plain)
    settings = Augmentation({"upper_case": 0.3, JOINED: 0.1}, {}, LANGUAGES)
    sample.draw([corpus], None, None, 1, 1, other, settings, added=True)
    unchanged, lines, counts = [*records.read(plain)], [*records.read(other)], read_json(records.info(other))
    added = [(before, line) for before, line in itertools.pairwise(lines) if line not in unchanged]
    assert [line for line in lines if line in unchanged] == unchanged
    assert all(new[0] == old[0].upper() or new[0].startswith(f"{old[0]} word") for old, new in added)
    assert counts["lines"] == len(lines) == 500 + len(added) == 500 + sum(counts["augmented"].values())
    assert 200 - 60 < len(added) < 200 + 60 and {line[2] for line in lines} == {"-0.5"}


@pytest.mark.parametrize(
    ("columns", "document", "problem"),
    [
        (
            1,
            '{"both_sides": {"url": 1}, "meant": {}, "languages": ["en", "de"]}',
            "monolingual text has no pairs to augment",
        ),
        (2, '{"both_side": {}}', "unknown field `both_side`"),
        (
            2,
            '{"both_sides": {"urls": 1}, "meant": {}, "languages": ["en", "de"]}',
            "error: both_sides urls: is none of upper_case,",
        ),
        (
            2,
            '{"both_sides": {}, "meant": {"url": 1}, "languages": ["en", "de"]}',
            "error: meant url: is none of upper_case, title_case, lower_case, typos\n",
        ),
    ],
)
def test_problems_are_said_in_one_line(tmp_path, columns, document, problem):
    corpus = tmp_path / "corpus.tsv.zst"
    records.write(corpus, [("a",) * columns])
    command = ["-m", "train.sample", "--corpora", str(corpus), "--output", str(tmp_path / "x.tsv.zst")]
    result = subprocess.run([warm.python(), *command, "--augmentation", document], capture_output=True, text=True)
    assert result.returncode and problem in result.stderr


def test_what_was_meant_stays_when_the_source_alone_changes():
    pairs = [(f"some words of sentence number {number}", f"Satz {number}") for number in range(300)]
    (lines,), counts = changed([pairs], {"upper_case": 0.2}, meant={"typos": 0.4, "upper_case": 0.1})
    assert set(counts) == {"upper_case", "meant typos", "meant upper_case"}
    typing = [(old, new) for old, new in zip(pairs, lines, strict=True) if new != old and not new[0].isupper()]
    assert len(typing) == counts["meant typos"] > 100
    assert all(new[1] == old[1] and len(new[0].split()) == len(old[0].split()) for old, new in typing)
    shouted = [(old, new) for old, new in zip(pairs, lines, strict=True) if new[0].isupper()]
    assert sum(new[1] == old[1] for old, new in shouted) == counts["meant upper_case"]


@pytest.mark.parametrize(("line", "typed"), [("A dog.", True), ("これは犬です", True), ("I - 3.", False), ("", False)])
def test_a_line_gets_a_typo_where_it_can(line, typed):
    assert all((mistyped(Random(seed), line) != line) == typed for seed in range(50))


def copied(lines, rules, seed=1, language="en"):
    counts = Counter()
    records_of = source_augmentation.changed([block(lines)], SourceAugmentation(rules, language), seed, counts)
    return [source for (source,) in records_of], counts


@pytest.mark.parametrize("rule", source_augmentation.RULES)
def test_sources_change_by_rule(rule):
    lines = [(f"Two dogs, number {number}, run.", "Zwei Hunde.") for number in range(20)]
    sources, counts = copied(lines, {rule: 0.3})
    assert (sources, counts) == copied(lines, {rule: 0.3})
    assert counts[rule] == len(sources) == len(lines) - counts["unchanged"]
    assert not {*sources} & {line[0] for line in lines}
    if rule == JOINED:
        assert all(TOGETHER[0] <= source.count(".") <= TOGETHER[1] for source in sources)
    elif rule == "fragment":
        parts = [source for line in lines for source in sources if source in line[0]]
        assert {*parts} == {*sources} and all(1 <= len(source.split()) <= 4 for source in sources)
    else:  # a line stays where it was
        assert len(sources) == 20


def test_one_rule_changes_each_source_and_unchanged_ones_are_left_out():
    lines = [(f"WORD NUMBER {number}.", "Wort.") for number in range(400)]
    sources, counts = copied(lines, {"upper_case": 0.1, "lower_case": 0.3})
    assert counts == {"lower_case": len(sources), "unchanged": 400 - len(sources)} and 250 < len(sources) < 350
    assert copied(lines, {"lower_case": 1}, seed=1) == copied(lines, {"lower_case": 1}, seed=2)
    assert copied(lines, {"typos": 1}, seed=1) != copied(lines, {"typos": 1}, seed=2)


def test_fragments_of_a_script_without_spaces_are_characters():
    sources, _ = copied([("二匹の犬が雪の中を走っています。", "x")] * 9, {"fragment": 1}, language="ja")
    assert sources and all(source in "二匹の犬が雪の中を走っています" and len(source) <= 12 for source in sources)


def test_the_command_writes_a_copy_and_its_counts(tmp_path):
    corpus, copy = tmp_path / "corpus.tsv.zst", tmp_path / "corpus~mixture.tsv.zst"
    records.write(corpus, [("A dog runs.", "Ein Hund rennt.")] * 3)
    command = [warm.python(), "-m", "train.source_augmentation", '{"source": {"upper_case": 0.1}, "language": "en"}']
    subprocess.run([*command, "--corpus", str(corpus), "--output", str(copy)], check=True)
    assert [*records.read(copy)] == [("A DOG RUNS.",)] * 3
    about = read_json(records.info(copy))
    assert about["lines"] == 3 and about["changed"] == {"upper_case": 3} and about["unchanged"] == 0


def test_an_unknown_rule_of_a_copy_is_named(tmp_path):
    corpus, output = tmp_path / "corpus.tsv.zst", tmp_path / "x.tsv.zst"
    records.write(corpus, [("A dog runs.", "Ein Hund rennt.")])
    command = [warm.python(), "-m", "train.source_augmentation", '{"source": {"url": 0.1}, "language": "en"}']
    command += ["--corpus", str(corpus), "--output", str(output)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.stderr.startswith("error: source url: is none of upper_case,") and not output.exists()


def test_the_page_of_the_corpora_counts_changed_lines_and_tells_of_a_rule_that_drops_most(tmp_path):
    copy, corpus, picture, page = (tmp_path / name for name in ("copy.json", "corpus.json", "x.svg", "corpora.html"))
    about = {"name": "corpus~mixture", "lines": 1234, "sha256": "0" * 64, "changed": {"upper_case": 1200, "typos": 34}}
    write_json(copy, about)
    picture.write_text("<svg/>")
    counts = {"lines_in": 9, "lines_out": 4, "sha256": "0" * 64, "dropped": {"length_ratio": 5}, "samples": {}}
    counts["repaired"], counts["remarks"] = {"entities": 1200, "quotes": 3}, ["corpus: en & en-GB are read"]
    write_json(corpus, counts | {"name": "corpus", "role": "train", "licence": "CC0"})
    command = [
        warm.python(),
        "-m",
        "report.corpora_page",
        "--study",
        "x",
        "--counts",
        str(corpus),
        "--changed",
        str(copy),
    ]
    subprocess.run([*command, *f"--funnel {picture} --lengths {picture} --output {page}".split()], check=True)
    text = page.read_text()
    assert "corpus~mixture" in text and "1,200 upper case, 34 typos" in text
    assert "corpus: repaired lines: 1,200 entities, 3 quotes" in text
    assert "corpus: en &amp; en-GB are read" in text
    assert "corpus: length_ratio dropped 5 of 9 lines, more than half" in text
