"""What experiments share with their tables: names in their JSON, and settings that hold for all runs."""

# experiments.ladder: rungs that tables and pictures treat differently
BEAM, GREEDY = "OpenNMT-tf, beam 4", "OpenNMT-tf, greedy"
PEER = "CTranslate2"  # the rung of that engine; without it the ladder is that of a system that it does not run
EXACT = "native engine, float32"  # our engine's first rung in such a ladder, which WNMT 2018 calls 1
SEARCH = "CTranslate2, float32, beam 4"  # no rung, nor is the next one: the search that the rungs lose BLEU against
OWN_SEARCH = "native engine, float32, beam 4"
HELD = "AVX2"  # the instructions that CTranslate2 chooses by itself where the CPU has wider ones
OVERLAPPING = "overlapping stages"  # the last rung of an engine before the best of some sizes of batches
NATIVE, MAP_PER_SENTENCE = "native engine", "map of each sentence"  # our engine's rungs; the first is over OVERLAPPING

# experiments.switches
EVERYTHING = "everything"  # begins the names of the rows that the others of their group are compared with

# experiments.components
COMPONENTS = ("encoder", "decoder", "attention", "generator", "search", "other")
# Figure 2 of WNMT 2018 has the same time by operators, too: products with weights, products of two states, ...
OPERATORS = ("linear", "attention", "softmax", "activations", "other")
FEW = 64  # candidates in place of the vocabulary; a beam looks at twice its width

# experiments.ngram_timing: hypotheses are drawn at random
DIFFERENT = 40  # pieces to draw from: at 256 pieces one step in seven has something to ban
VOCABULARY = 8000  # columns of the scores
