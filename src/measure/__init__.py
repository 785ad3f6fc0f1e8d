"""One protocol of timing, scores, and the records of both.

The commands:

- ``benchmark``: measure all exports of a study
- ``score``: add BLEU, chrF and the significance of differences to the records
- ``comet``: score translations with COMET, where a study asks for it
- ``tune``, ``tune_products``: find the fastest settings of a model folder on this machine, and tiles of its products
- ``calibrate``: fix the scales of a native model's activations, as found in a text
- ``node``: refuse to time beside neighbours, or on another CPU than the study names
- ``test_sets``: translate test sets with one model folder, without timing
- ``teacher_student``: where the gap between teacher and students comes from
- ``elsewhere``: the BLEU of int8 on CPUs that multiply it in the other way

How things are timed:

- ``interleave``: the one timing loop, through which goes whatever is timed
- ``configuration``: how a model folder is decoded, and the conditions that all share
- ``protocol``: configurations timed in turn, and the records of them
- ``kept_runs``: their runs, each a process of its own, kept and used again
- ``run``: such a process: load a model folder, decode test sets
- ``summary``: from the runs of a configuration to its record
- ``executed``: the code behind a run, which is valid as long as that code is
- ``in_process``: calls timed in this process
- ``usage``: time, CPU time, energy and memory of a piece of work, and the share of others

What scores need:

- ``bootstrap``: scores of many outputs, and the significance of their differences
- ``twins``: what sets two trainings of one student apart
- ``setting``: the one setting that sets two students apart
"""
