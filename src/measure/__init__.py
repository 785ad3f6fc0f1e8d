"""Timing, scoring, and the records of both.

Commands:

- ``benchmark``: measure all exports of a study
- ``score``: add BLEU, chrF and the significance of differences to the records
- ``comet``: score translations with COMET, where a study asks for it
- ``tune``: find the fastest settings of a model folder on this machine, and tiles of its products
- ``machine``: what this machine can do: instruction sets, peaks, rates of its caches, settings of a tuned model
- ``calibrate``: fix the scales of a native model's activations, as found in a text
- ``exclusive_node``: refuse to time beside neighbours, or on another CPU than the study names
- ``language_model``: a teacher behind HTTP as a record, from the seconds of its answers
- ``test_sets``: translate test sets with one model folder, without timing
- ``teacher_student``: where the gap between teacher and students comes from
- ``int8_other_cpus``: BLEU of int8 on CPUs that multiply it in the other way
- ``perturb``: a test set in capitals, with typos, with URLs in it, and the inputs of the suite (``suite.tsv``)
- ``robustness``: translate these, score them, count what is lost

Timing:

- ``timing_loop``: the timing loop of all measurements, and counters of time, energy and memory
- ``configuration``: a model folder, read once, and how it is decoded; what all of a benchmark share
- ``contenders``: what is timed more than once
- ``protocol``: time configurations in turn and make their records
- ``kept_runs``: runs of configurations, each a process of its own, kept and reused; records from runs
- ``task``: what such a process does, the JSON that it is started with, and that it writes
- ``run``: such a process: load a model folder, decode test sets
- ``code_fingerprint``: the code that a run executed; the run is reused while it is unchanged
- ``in_process``: calls timed in this process

Scores:

- ``bootstrap``: scores of many outputs, and the significance of their differences
- ``training_differences``: how two trainings differ, in words
- ``source_tokens``: tokens of a text as the papers count them
"""
