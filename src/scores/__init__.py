"""Scores of the pairs of a corpus that a study computes itself, shard by shard.

- ``alignment``: what the word aligner thinks of a pair (command)
- ``translation``: what two models think of it, one in each direction (command)
- ``domain``: which lines are like a small text (command)
- ``models``: the models of these two
- ``embeddings``: how near vectors of both sides are (command); ``settings``: where these come from
- ``text``: what the models of scores learn from (command)
- ``shards``: numbers of a shard in parts, so that a killed job loses at most one
"""
