"""Experiments of the papers, each a module that measures and writes JSON; ``report`` makes tables and pictures.

Measured in processes of their own (measure.protocol), as records:

- ``ladder``: one optimisation after the other (Table 5 of WNGT 2020)
- ``end_to_end``: the toolkit against all optimisations together (Table 6)
- ``scaling``: workers against threads (Figure 2)
- ``switches``: the native engine with one feature off at a time
- ``identities``: what a recurrent decoder need not compute (Devlin 2017)
- ``architectures``: untrained models of every architecture, in OpenNMT-tf and in the native engine
- ``beam_batch``: beams and sizes of batches (Figure 3 of OpenNMT at WNMT 2018)

Measured as calls in one process (measure.in_process):

- ``components``, ``components_native``, ``components_tf``: time by components in CTranslate2, the native engine and
  OpenNMT-tf (Figure 2 of OpenNMT at WNMT 2018)
- ``map_timing``: vocabulary maps of many knobs (Table 1 of OpenNMT at WNMT 2018)
- ``pipeline_cost``: the pipeline over the bare engine (FastSeq)
- ``ngram_timing``: n-gram blocking, by three algorithms and in the engines (FastSeq)
- ``encoder_cache``: one copy of the encoder's cache per sentence, or per beam (FastSeq)

Helpers:

- ``altered_models``: models without one of their parts, translations of a given length
"""
