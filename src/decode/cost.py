"""What a translation costs (Junczys-Dowmunt et al. 2018, section 5): words per US dollar of an hourly price.

    words per USD = words / seconds * 3600 seconds per hour / USD per hour

A word is a whitespace token of the source.
"""

SECONDS_PER_HOUR = 3600


def words_per_usd(words_per_second: float, usd_per_hour: float) -> float:
    return words_per_second * SECONDS_PER_HOUR / usd_per_hour


def usd_per_million_words(words_per_second: float, usd_per_hour: float) -> float:
    return 1e6 / words_per_usd(words_per_second, usd_per_hour)
