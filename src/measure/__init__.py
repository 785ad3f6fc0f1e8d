"""One protocol of timing, scores, and the records of both.

The commands:

- ``benchmark``: measure all exports of a study
- ``score``: add BLEU, chrF and the significance of differences to the records
- ``comet``: score translations with COMET, where a study asks for it
- ``tune``: find the fastest settings of a model folder on this machine, and tiles of its products
- ``calibrate``: fix the scales of a native model's activations, as found in a text
- ``exclusive_node``: refuse to time beside neighbours, or on another CPU than the study names
- ``test_sets``: translate test sets with one model folder, without timing
- ``teacher_student``: where the gap between teacher and students comes from
- ``int8_other_cpus``: the BLEU of int8 on CPUs that multiply it in the other way

How things are timed:

- ``timing_loop``: the one timing loop, through which goes whatever is timed, and what a piece of work used
- ``configuration``: how a model folder is decoded, and the conditions that all share
- ``protocol``: configurations timed in turn, and the records of them
- ``kept_runs``: runs of configurations, each a process of its own, kept and used again; from runs to a record
- ``run``: such a process: load a model folder, decode test sets
- ``code_fingerprint``: the code behind a run, which is valid as long as that code is
- ``in_process``: calls timed in this process

What scores need:

- ``bootstrap``: scores of many outputs, and the significance of their differences
- ``training_differences``: what sets two trainings of one student apart, or the one setting of two students
"""
