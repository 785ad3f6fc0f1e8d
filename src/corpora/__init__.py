"""From sources to clean corpora, with every dropped line counted.

The commands, in the order in which a study runs them:

- ``fetch``: get a corpus and write it as records
- ``subset``: draw a random subset of a corpus
- ``clean``: clean one shard of a corpus
- ``gather``: join the shards of a corpus, drop duplicates, check that nothing is lost

Where text comes from:

- ``sources``: one class for each kind of source
- ``readers``: one class for each format of files
- ``grammar``: the built-in corpus
- ``availability``: whether the corpora of a study can be had, asked before anything runs
- ``download``: downloads that resume, are retried, and appear whole or not at all
- ``archives``, ``compression``: files as plain bytes, whatever they are packed in
- ``counted``: blocks of sentences as lines of TSV, with the dropped ones counted

What cleaning is made of:

- ``funnel``: apply rules to batches of records, count what each drops
- ``rules``: the rules, each of which decides which records to drop
- ``text_features``: what the rules compare
- ``characters``, ``language_codes``: properties of characters, scripts of languages
- ``language``: langid.py's decision, computed in bulk
- ``duplicates``: find repeated records in bounded memory
- ``permutation``: random permutations that are computed, not stored
"""
