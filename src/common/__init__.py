"""Plumbing: errors, atomic files, progress, locks, the CPU and the machine.

- ``errors``: errors that the user can fix, in one line
- ``files``: outputs that appear whole or not at all, JSON, checksums
- ``progress``: progress of long work
- ``command_line``: types of arguments; some arguments as a dataclass
- ``document``: JSON documents with types, which a rule hands to a program
- ``batch_job``: work in a job with a time limit, which ends at a checkpoint
- ``cpu``: the CPU, as Linux describes it
- ``folder_lock``: locks of files, and of a folder that one process at a time continues
- ``gpu_lease``: locks of this machine's GPUs; CUDA's libraries where pip put them
- ``machine``: the machine that a measurement runs on
"""
