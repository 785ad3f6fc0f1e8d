"""The questions of the papers, each a module that measures and writes JSON; ``report`` makes the tables and pictures.

Measured in processes of their own (measure.protocol), as records:

- ``ladder``: what each optimisation is worth (Table 5 of WNGT 2020)
- ``end_to_end``: the toolkit against all optimisations together (Table 6)
- ``scaling``: workers against threads (Figure 2)
- ``switches``: everything the native engine has, but one thing at a time
- ``identities``: what a recurrent decoder need not compute (Devlin 2017)
- ``architectures``: untrained models of every architecture, in OpenNMT-tf and in the native engine
- ``beam_batch``: beams and sizes of batches (Figure 3 of OpenNMT at WNMT 2018)

Measured as calls in one process (measure.in_process):

- ``components``, ``components_tf``: where the time of CTranslate2, of the native engine and of OpenNMT-tf goes
  (Figure 2 of the same), by ``components_native`` and ``components_native`` where an engine has a clock
- ``map_timing``: vocabulary maps of many knobs (Table 1 of WNMT 2018)
- ``pipeline_cost``: the pipeline over the bare engine (FastSeq)
- ``ngram_timing``: n-gram blocking, by three algorithms and in the engines (FastSeq)
- ``encoder_cache``: one copy of the encoder's cache for a sentence, or one for a beam (FastSeq)

What they measure:

- ``altered_models``: a model without one of its parts, and one with translations of a given length
"""
