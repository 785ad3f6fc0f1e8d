"""JSON in, tables, pictures and pages out; loads no engine, no TensorFlow.

``python -m report NAME`` makes a table, a picture or both; ``registry`` has all names. Of a study:

- ``measurements``: all measurements as tables, as CSV and as headline figures (command)
- ``front``: quality against speed, on a page or in one column of a paper
- ``published``: measured systems among those of Junczys-Dowmunt et al. 2018
- ``rows``: what the papers print beside what was measured (command); ``papers`` has the numbers and the tolerances
- ``reproduction``: the pages of ``docs/reproduction`` and their summary in ``docs/papers.md``, of all rows (command)
- ``training``: how every system was trained
- ``corpora_figures``: lines dropped by the cleaning, lengths of sentences
- ``teacher_student``: the gap between teacher and students
- ``quantization``: what rounding does to the weights
- ``maps``: vocabulary maps of many knobs

Of experiments:

- ``ladder``, ``end_to_end``, ``scaling``: tables and figures of WNGT 2020
- ``engine_ablations``: what parts of the native engine add, and what recurrent models need not compute (Devlin 2017)
- ``architectures``: models of every architecture
- ``cost_effectiveness``: figures 1 and 2 of Marian at WNMT 2018, of architectures
- ``wnmt2018``: figures of OpenNMT at WNMT 2018: beam and batch, components
- ``fastseq``: the pipeline and n-gram blocking of FastSeq
- ``encoder_cache``: the encoder's cache of FastSeq

Of study.scale_plan: ``scale_plan``, what a study takes on clusters of several sizes.

Pages and texts, each a command:

- ``study_page``: one HTML page about a study; ``recommendation`` chooses the model to ship, ``ablation_table`` has
  what each idea brought
- ``front_page``: fronts of one study or several, with axes and filters to choose
- ``corpora_page``: one HTML page about its corpora
- ``samples``: sentences to read
- ``terminal``: what `make demo` prints at the end
- ``keep``: a finished study in git; ``pages``: all that people look at, of studies that are kept

What they share:

- ``table_parts``: cells and notes of the tables of experiments
- ``markup``, ``latex``: parts of pages
- ``figure``: the style of pictures, and how they are saved
- ``labels``: names beside points
- ``registry``: every table and picture by name, and where the files of a study are
"""
