"""Text that the tests of teachers learn from and translate."""

PAIRS = [(f"a dog runs past {n} houses", f"ein Hund läuft an {n} Häusern vorbei") for n in range(60)]

SOURCES = ["ab", "cab dab", "fed had", "head bag gaff", "ab"]
