"""A folder for each paper: what is measured for it alone, its tables and pictures, its numbers and its page.

- ``wngt2020``, ``wnmt2018``: OpenNMT at the shared tasks of these years
- ``marian2018``: Marian at that of 2018
- ``devlin2017``: a fast recurrent decoder on a CPU
- ``fastseq2021``: FastSeq

In a folder:

- ``X.py``: measures, and writes JSON; ``X_report.py``: its table and picture, for ``python -m report``
- ``documents.py`` or ``rungs.py``: what both know of that JSON
- ``rules.smk``: the rules that run these programs, included in the Snakefile
- ``claims.csv``: the numbers that the paper prints; ``paper.yaml``: the paper, and what is said of its reproduction
- ``values.json``: numbers of this project that are in no record; ``rows.json``: all numbers beside this project's
  (``python -m report.rows``); ``README.md``: the page of both (``python -m report.reproduction``)

What several papers share is in ``experiments`` and ``report``. The folder is a package like those of ``src``; it stands
beside them, as people read its pages.
"""
