"""Plumbing: documents, jobs, locks.

- ``document``: JSON documents with types, which a rule hands to a program
- ``batch_job``: work in a job with a time limit, which ends at a checkpoint
- ``folder_lock``: locks of files, and of a folder that one process at a time continues
- ``gpu_lease``: locks of this machine's GPUs; CUDA's libraries where pip put them
"""
