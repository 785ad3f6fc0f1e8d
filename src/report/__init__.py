"""JSON in, tables, pictures and pages out; loads no engine, no TensorFlow.

``python -m report NAME`` makes a table, a picture or both; ``registry`` has all names, modules and JSON files. A module
is about the JSON of one experiment or of a study; those of one paper are in the folder of the paper (``papers``).

Commands of their own: ``study_page``, ``front_page`` and ``corpora_page`` (HTML), ``measurements`` (CSV, headline
figures), ``price`` (USD, where no machine was named), ``samples`` (sentences), ``terminal`` (what `make demo` prints),
``keep`` (a finished study in git), ``pages`` (all that people look at, of kept studies), ``rows`` (the papers' numbers
with those measured) and ``reproduction`` (the pages of the papers, with ``beside_paper``). ``ablation_table`` and
``recommendation`` are parts of the page of a study.

Shared: ``table_parts`` (cells and notes of experiments), ``markup`` and ``latex`` (parts of pages), ``figure`` (the
style of pictures), ``labels`` (names beside points), ``claims`` (printed numbers and tolerances).
"""
