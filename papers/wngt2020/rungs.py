"""Rungs of ``ladder`` that its table and picture treat differently, by name."""

BEAM, GREEDY = "OpenNMT-tf, beam 4", "OpenNMT-tf, greedy"
PEER = "CTranslate2"  # missing in the ladder of a system that CTranslate2 does not run
EXACT = "native engine, float32"  # first rung of the native engine in such a ladder, the 1 of WNMT 2018
SEARCH = "CTranslate2, float32, beam 4"  # no rung: the search that lost BLEU is relative to
OWN_SEARCH = "native engine, float32, beam 4"  # no rung: the same without CTranslate2
HELD = "AVX2"  # CTranslate2's own choice of instructions on CPUs with wider ones
HELD_PEER = f"{PEER} held to {HELD}"
OVERLAPPING = "overlapping stages"  # the last rung of an engine before the best of some sizes of batches
NATIVE, MAP_PER_SENTENCE = "native engine", "map of each sentence"  # rungs of the native engine, above OVERLAPPING
BATCHES = (256, 512, 1024, 2048)  # tokens; the fastest is a rung
