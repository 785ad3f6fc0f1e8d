"""What experiments share with their tables: names in their JSON, and settings that hold for all runs."""

# experiments.ladder: rungs that tables and pictures treat differently
BEAM, GREEDY = "OpenNMT-tf, beam 4", "OpenNMT-tf, greedy"
SEARCH = "CTranslate2, float32, beam 4"  # not a rung: the search that the rungs lose BLEU against
HELD = "AVX2"  # the instructions that CTranslate2 chooses by itself where the CPU has wider ones
OVERLAPPING = "overlapping stages"  # CTranslate2's last rung before the best of some sizes of batches
NATIVE, MAP_PER_SENTENCE = "native engine", "map of each sentence"  # our engine's rungs; the first is over OVERLAPPING

# experiments.switches
EVERYTHING = "everything"  # begins the names of the rows that the others of their group are compared with

# experiments.components
COMPONENTS = ("encoder", "decoder", "attention", "generator", "search", "other")
FEW = 64  # candidates in place of the vocabulary; a beam looks at twice its width

# experiments.ngram_timing: hypotheses are drawn at random
DIFFERENT = 40  # pieces to draw from: at 256 pieces one step in seven has something to ban
VOCABULARY = 8000  # columns of the scores
