"""The rungs of ``ladder``: the keys of their places, and what people read."""

BEAM, GREEDY = "beam", "greedy"  # of OpenNMT-tf
PEER = "ctranslate2"  # missing in the ladder of a system that CTranslate2 does not run
EXACT = "float32"  # first rung of the native engine in such a ladder, the 1 of WNMT 2018
INT16, INT8 = "int16", "int8"
SORTING, PACKED, MAP, MAP_PER_SENTENCE = "sorting", "packed", "vocabulary_map", "map_per_sentence"
OVERLAPPING = "overlap"  # the last rung of an engine before the best of some sizes of batches
NATIVE = "native"  # above OVERLAPPING, of CTranslate2
HELD = "AVX2"  # CTranslate2's own choice of instructions on CPUs with wider ones
BATCHES = (256, 512, 1024, 2048)  # tokens; the fastest is a rung
HELD_PEER = "isa"
BEST = "best"  # of some sizes of batches
SEARCH = "search"  # no rung: the search that lost BLEU is relative to
LABELS = {
    BEAM: "OpenNMT-tf, beam 4",
    GREEDY: "OpenNMT-tf, greedy",
    HELD_PEER: f"CTranslate2 held to {HELD}",
    PEER: "CTranslate2",
    EXACT: "native engine, float32",
    INT16: "16 bits",
    INT8: "8 bits",
    SORTING: "sorted batches",
    PACKED: "packed matrices",
    MAP: "vocabulary map",
    OVERLAPPING: "overlapping stages",
    NATIVE: "native engine",
    MAP_PER_SENTENCE: "map of each sentence",
}
