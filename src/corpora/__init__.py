"""From sources to clean corpora, with every dropped line counted.

The commands, in the order in which a study runs them:

- ``fetch``: get a corpus and write it as records
- ``subset``: draw a random subset of a corpus, by permutations that are computed, not stored
- ``copy``: copy a dev or test set
- ``clean``: clean one shard of a corpus
- ``gather``: join the shards of a corpus, drop duplicates, check that nothing is lost
- ``bounds``: drop the records with low scores
- ``alignment``: align a corpus in subword units with fast_align or eflomal

Where text comes from:

- ``settings``: the entry of a corpus in a configuration
- ``sources``: a class for each kind of source
- ``readers``: a class for each format of files
- ``grammar``: the built-in corpus
- ``availability``: whether the corpora of a study can be had, checked before anything runs
- ``download``: downloads that resume, are retried, and appear whole or not at all
- ``archives``: compressed and packed files as plain bytes; refuses pointers to files, and pages about them

What cleaning is made of:

- ``repairs``: mend texts before the rules look at them
- ``funnel``: apply rules to batches of records, count what each drops
- ``rules``: the cleaning rules
- ``text_features``: what the rules compare, from tables of characters
- ``language_codes``: the shortest code of a language, its scripts
- ``language``: langid.py's decision, computed in bulk
- ``scores``: numbers behind the sides of records; the n-th best in bounded memory
- ``duplicates``: find repeated records in bounded memory
- ``permutation``: orders of records that are computed, for subsets and for training data
"""
