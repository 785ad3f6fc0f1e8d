"""Core-seconds and USD of a record; the measure of the Marian paper on the numbers it prints (tables 3 and 4)."""

import json
from argparse import ArgumentTypeError

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measured import measured
from reports import run

from findings import cost as prices
from findings.cost import NO_PRICE, cost, machines, usd_per_million_words, usd_per_month, words_per_second
from formats import measurement
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json
from nmt_frontier.machine import INSTRUCTION_SETS
from report import front_overview, price
from report.published import CPU, PRICES, SOURCE_TOKENS, priced, published, tokens_per_usd

XEON, HIDDEN = "Intel(R) Xeon(R) Platinum 8488C", "Intel(R) Xeon(R) Processor @ 2.50GHz"
MACHINE = prices.prices()["m7i.large"]
UNKNOWN = MACHINE | {"cpus": ["EPYC", "Gold"]}  # no models whose instructions are known


def test_core_seconds_and_usd():
    """Twenty seconds on two of four cores, for 10,000 words."""
    price = MACHINE | {"usd_per_hour": 0.36, "cores": 4}
    record = cost(20.0, 2, 10_000, price, XEON, "avx2")
    assert record.core_seconds_per_million_words == pytest.approx(4000)
    assert record.usd_per_million_words == pytest.approx(4000 * 0.36 / 3600 / 4)
    for part in ("AWS m7i.large", "us-east-1", price["date"], price["address"], "0.36 USD an hour for 4 virtual cores"):
        assert part in record.price


@given(st.floats(0.01, 1e5), st.integers(1, 64), st.integers(1, 10**7))
def test_a_core_more_costs_a_core_more_and_usd_are_in_proportion(seconds, cores, words):
    one, many = (cost(seconds, number, words, MACHINE, XEON, "amx") for number in (1, cores))
    for name in ("core_seconds_per_million_words", "usd_per_million_words"):
        assert getattr(many, name) == pytest.approx(cores * getattr(one, name))


@pytest.mark.parametrize(
    ("price", "cpu", "why"),
    [
        (None, XEON, NO_PRICE),
        (MACHINE, HIDDEN, f"none, as m7i.large has Platinum 8488C (amx), and this CPU is {HIDDEN} (avx2)"),
        (MACHINE, "AMD EPYC", "none, as m7i.large has Platinum 8488C (amx), and this CPU is AMD EPYC (avx2)"),
        (UNKNOWN, XEON, f"none, as m7i.large has EPYC or Gold, and this CPU is {XEON} (avx2)"),
        (UNKNOWN, HIDDEN, f"none, as m7i.large has EPYC or Gold, and this CPU is {HIDDEN} (avx2)"),
    ],
)
def test_no_usd_without_the_price_of_that_kind_of_machine(price, cpu, why):
    record = cost(20.0, 1, 10_000, price, cpu, "avx2")
    assert record.usd_per_million_words is None and record.price == why
    assert record.core_seconds_per_million_words == pytest.approx(2000)


@pytest.mark.parametrize("cpu", [HIDDEN, "Intel Xeon Processor (Sapphire Rapids)"])
def test_where_the_cpu_hides_its_model_the_machine_is_a_persons_word(cpu):
    record = cost(20.0, 1, 10_000, MACHINE, cpu, "amx")
    assert record.usd_per_million_words == cost(20.0, 1, 10_000, MACHINE, XEON, "amx").usd_per_million_words
    assert record.price.startswith(prices.source(MACHINE)) and record.price.endswith(
        f"; the machine is a person's word: its CPU shows only as {cpu} with amx"
    )


def test_a_model_that_is_shown_is_no_word_of_a_person():
    for other in ("AMD EPYC 9R45", "Intel(R) Xeon(R) Platinum 8488C", "AMD EPYC-Rome 7R32 Processor"):
        assert not prices.may_be(prices.prices()["m7a.large"], other, "avx512-vnni")


def test_kept_measurements_get_the_usd_of_a_named_machine_and_nothing_else_changes(tmp_path):
    seen = {"cpu": "AMD EPYC", "isa": "avx512-vnni", "price": NO_PRICE, "core_seconds_per_million_words": 72.0}
    records = [measured(**seen, bleu=30.0), measured(**seen, beam_size=4, bleu=31.0)]
    paths = [*map(tmp_path.joinpath, "ab")]
    measurement.write(paths[0], records)
    command = ["report.price", "--measurements", paths[0], "--output", paths[1], "--machine"]
    assert run(*command, "m7a.large").returncode == 0
    before, after = map(read_json, paths)
    for one, other in zip(before, after, strict=True):
        assert {name for name in one if one[name] != other[name]} == {"price", "usd_per_million_words"}
        assert other["usd_per_million_words"] == pytest.approx(72 / 3600 * 0.11592 / 2)
        assert "0.11592 USD an hour" in other["price"] and "a person's word" in other["price"]
    picture = front_overview.draw(measurement.read(paths[1]), axis="usd")
    (axes,) = picture.axes
    assert axes.get_xlabel() == "source words per USD, logarithmic"
    assert "a person's word" in " ".join(picture.get_supxlabel().split())
    assert [line.get_xdata()[0] for line in axes.lines[:1]] == pytest.approx([1e6 / after[0]["usd_per_million_words"]])
    done = run(*command, "m7i.large")
    assert done.returncode == 1 and "deep on t: no price: none, as m7i.large has Platinum 8488C (amx)" in done.stderr
    with pytest.raises(UserError, match=r"deep has no USD .*; report.price adds them"):
        front_overview.draw(records, axis="usd")
    with pytest.raises(UserError, match="'watts' is none of speed, usd"):
        front_overview.draw(records, axis="watts")
    assert price.priced(measured(), MACHINE) == measured()  # without core-seconds


def test_machines_of_every_family_have_a_dated_price_with_its_source():
    families = ["m5", "c5", "m6i", "c6i", "m7i", "c7i", "m6a", "c6a", "m7a", "c7a", "m8a", "c8a"]
    entries = prices.prices()
    assert {f"{family}.large" for family in families} <= entries.keys()
    for name, entry in entries.items():
        assert (entry["instance"], entry["region"]) == (name, "us-east-1") and entry["date"] < "2027"
        assert entry["address"].startswith("https://") and entry["cpus"] and entry["usd_per_hour"] > 0
        assert prices.MODELS.keys() >= {*entry["cpus"]}
    assert {isa for _, isa in prices.MODELS.values()} <= INSTRUCTION_SETS.keys()
    assert prices.fits(entries["m8a.large"], "AMD EPYC 9R45") and not prices.fits(entries["m8a.large"], "AMD EPYC 9R14")


def test_a_plan_of_machines():
    """100 core-seconds a million words on two cores: 20,000 words a second, so that 50,000 need a third machine."""
    price = MACHINE | {"usd_per_hour": 0.36, "cores": 2}
    assert words_per_second(100.0, price) == pytest.approx(20_000)
    assert [machines(100.0, words, price) for words in (0, 1, 20_000, 20_001, 50_000)] == [1, 1, 1, 2, 3]
    assert usd_per_month(100.0, 50_000, price) == pytest.approx(3 * 0.36 * 730)
    assert usd_per_million_words(100.0, price) == pytest.approx(100 * 0.36 / 2 / 3600)


@given(st.floats(1, 1e4), st.integers(1, 50))
def test_full_machines_cost_what_their_words_cost(core_seconds, number):
    """A month of words at the capacity of so many machines has the price of machines that are never idle."""
    words = number * words_per_second(core_seconds, MACHINE) * (1 - 1e-9)
    assert machines(core_seconds, words, MACHINE) == number
    in_a_month = words * 86_400 * 365 / 12 / 1e6
    per_million = usd_per_month(core_seconds, words, MACHINE) / in_a_month
    assert per_million == pytest.approx(usd_per_million_words(core_seconds, MACHINE))


def test_price_argument():
    own = MACHINE | {"instance": "mine"}
    assert prices.price_argument("m7i.large") == MACHINE and prices.price_argument(json.dumps(own)) == own
    with pytest.raises(ArgumentTypeError, match="'abacus' is none of m5"):
        prices.price_argument("abacus")


@pytest.mark.parametrize(
    ("seconds", "machine", "expected"),
    [
        (1537.8, "m5.large", 1.4448e6),  # (7) Transformer-big
        (393.1, "m5.large", 5.6522e6),  # (10) Transformer-base
        (94.1, "m5.large", 23.612e6),  # (17i) Transformer-small-AAN-int16 -ffn -gate
        (12.8, "p3.2xlarge", 5.4329e6),  # (10)
        (1.6, "p3.2xlarge", 43.463e6),  # (18) RNN-small-Amun
    ],
)
def test_tokens_per_usd_of_the_paper(seconds, machine, expected):
    assert tokens_per_usd(SOURCE_TOKENS / seconds, PRICES[machine]) == pytest.approx(expected, rel=1e-4)


def test_published_systems_are_those_of_both_tables():
    systems = {(system.machine, system.name): system for system in published()}
    assert len(systems) == 22 + 16
    big, fast = systems["m5.large", "(7) Transformer-big"], systems["p3.2xlarge", "(18) RNN-small-Amun"]
    assert (big.bleu, fast.bleu) == (28.1, 24.1)
    assert big.tokens_per_usd == pytest.approx(1.4448e6, rel=1e-4)
    assert fast.tokens_per_usd == pytest.approx(43.463e6, rel=1e-4)
    # Section 5: "similar Marian models have surprisingly similar cost-effectiveness across different hardware".
    both = {"p3.2xlarge": 12.8, "m5.large": 393.1}
    on_gpu, on_cpu = (tokens_per_usd(SOURCE_TOKENS / seconds, PRICES[machine]) for machine, seconds in both.items())
    assert on_gpu == pytest.approx(on_cpu, rel=0.05)


@pytest.mark.parametrize(("cores", "machines"), [([0], 1), ([0, 1], 1), ([0, 1, 2], 2), ([4, 5, 6, 7], 2)])
def test_a_run_pays_for_whole_machines_of_the_paper(cores, machines):
    expected = 1000 * 3600 / (machines * PRICES[CPU])
    record = measured(source_words_per_second=800.0, source_words=4000, source_tokens_moses=5000, cores=cores)
    assert priced(record) == pytest.approx(expected)
