"""What is search.

- ``engine``: the interface of engines; ``native``: this project's; ``loading``: the engine of a model folder
- ``pipeline``: windows and batches; reading, decoding and writing overlap
- ``sampling``: how translations are drawn instead of searched for
- ``batching``: batches of sentences of similar length; results in the order of the input
- ``switches``: parts of decoding that can be turned off, the table that options, records and engines follow
- ``tuned``: the fastest settings of a model folder on this machine
"""
