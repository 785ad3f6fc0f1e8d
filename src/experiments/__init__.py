"""Experiments of no paper or of several, each a module that measures and writes JSON; ``papers`` has the others.

Measured in processes of their own (measure.protocol), as records:

- ``switches``: the native engine with one feature off at a time
- ``architectures``: untrained models of every architecture, in OpenNMT-tf and in the native engine
- ``table_rows``: the rows of a paper's table, which the modules of ``papers`` describe

Measured as calls in one process (measure.in_process):

- ``map_timing``: vocabulary maps of many knobs (Table 1 of OpenNMT at WNMT 2018)

Helpers:

- ``altered_models``: models without one of their parts, with few candidates, translations of a given length
"""
