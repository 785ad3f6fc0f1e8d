"""The Marian paper's measure, on the numbers it prints (Tables 3 and 4, section 5)."""

import pytest

from decode.cost import usd_per_million_words, words_per_usd
from decode.published_plot import published
from formats.prices import prices

SOURCE_TOKENS = 62_954  # of newstest2014
GPU, CPU = (prices()[machine] for machine in ("p3.2xlarge-2018", "m5.large-2018"))


@pytest.mark.parametrize(
    ("seconds", "price", "expected"),
    [
        (1537.8, CPU, 1.4448e6),  # (7) Transformer-big
        (393.1, CPU, 5.6522e6),  # (10) Transformer-base
        (94.1, CPU, 23.612e6),  # (17i) Transformer-small-AAN-int16 -ffn -gate
        (12.8, GPU, 5.4329e6),  # (10)
        (1.6, GPU, 43.463e6),  # (18) RNN-small-Amun
    ],
)
def test_words_per_usd_of_the_paper(seconds, price, expected):
    assert words_per_usd(SOURCE_TOKENS / seconds, price) == pytest.approx(expected, rel=1e-4)
    assert usd_per_million_words(SOURCE_TOKENS / seconds, price) == pytest.approx(1e6 / expected, rel=1e-4)


def test_the_same_model_costs_about_the_same_on_both_machines():
    """Section 5: "similar Marian models have surprisingly similar cost-effectiveness across different hardware"."""
    on_gpu, on_cpu = words_per_usd(SOURCE_TOKENS / 12.8, GPU), words_per_usd(SOURCE_TOKENS / 393.1, CPU)
    assert on_gpu == pytest.approx(on_cpu, rel=0.05)


def test_published_systems_are_those_of_both_tables():
    systems = {(system.machine, system.name): system for system in published()}
    assert len(systems) == 22 + 16
    big, fast = systems["m5.large-2018", "(7) Transformer-big"], systems["p3.2xlarge-2018", "(18) RNN-small-Amun"]
    assert (big.bleu, fast.bleu) == (28.1, 24.1)
    assert big.tokens_per_usd == pytest.approx(1.4448e6, rel=1e-4)
    assert fast.tokens_per_usd == pytest.approx(43.463e6, rel=1e-4)
