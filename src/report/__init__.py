"""JSON in, tables, pictures and pages out; loads no engine, no TensorFlow.

``python -m report NAME`` makes a table, a picture or both; ``registry`` has all names, modules and JSON files. Those of
one paper are in the folder of the paper (``papers``). The others:

- ``measurements``: the table of a study; its CSV and headline figures (command), ``headline``: these
- ``front``, ``front_overview``, ``quality_front``, ``published``: BLEU against speed, alone and beside published ones
- ``training``: how systems were trained
- ``teacher_student``: the gap between teacher and students
- ``maps``: vocabulary maps; ``quantization``: what rounding does; ``robustness``: what people write
- ``switches``, ``architectures``, ``rungs``: what the parts of the engine bring, all kinds of models, rows of papers
- ``scores``: histograms of the scores of corpora
- ``scale_plan``: the plan of a study for clusters

Pages and files, each made by a command:

- ``study_page``, with ``ablation_table`` and ``recommendation``; ``front_page`` and ``corpora_page`` (HTML)
- ``try_page``: the best student, which translates in the browser (HTML)
- ``front_styles``: how points of ``front_page`` look
- ``price``: USD, where no machine was named
- ``samples``: sentences
- ``terminal``: what `make demo` prints
- ``keep``: a finished study in git
- ``pages``: all that people look at, of kept studies
- ``rows``: the papers' numbers with those measured (``our_number``), from ``claims``, printed numbers and tolerances
- ``reproduction``: the pages of the papers, with ``beside_paper``; ``agreement``: how many of their numbers agree

Shared: ``table_parts`` (cells and notes of experiments), ``markup`` and ``latex`` (parts of pages), ``figure`` (the
style of pictures), ``labels`` (names beside points), ``compact`` (JSON for git).
"""
