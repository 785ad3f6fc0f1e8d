"""JSON in, tables, pictures and pages out; loads no engine, no TensorFlow.

``python -m report NAME`` makes a table, a picture or both; ``registry`` has all names. Of a study:

- ``measurements``: all measurements as tables, as CSV and as headline figures (command)
- ``front``: quality against speed
- ``front_column``: the same in one column of a paper
- ``front_overview``: the same of a few systems, in large letters
- ``published``: our systems among those of Junczys-Dowmunt et al. 2018
- ``rows``: what the papers print beside what was measured (command); ``papers`` has the numbers, ``verdict`` tolerances
- ``reproduction``: the pages of ``docs/reproduction`` and their summary in ``docs/papers.md``, of all rows (command)
- ``training``: how every system was trained
- ``funnel``, ``lengths``: lines dropped by the cleaning, lengths of sentences
- ``teacher_student``: the gap between teacher and students
- ``quantization``: what rounding does to the weights
- ``maps``: vocabulary maps of many knobs

Of the experiments of the same names, ``ngrams`` of experiments.ngram_timing:

- ``ladder``, ``end_to_end``, ``scaling``: tables and figures of WNGT 2020
- ``switches``: what each part of the native engine is worth
- ``architectures``: models of every architecture
- ``identities``: what each way to compute less is worth in the models of Devlin 2017
- ``marian_figure1``, ``marian_figure2``: figures of Marian at WNMT 2018, of architectures; ``cost_effectiveness`` draws
- ``beam_batch``, ``components``: figures of OpenNMT at WNMT 2018
- ``pipeline_cost``, ``ngrams``, ``encoder_cache``: the optimisations of FastSeq

Of study.scale_plan: ``scale_plan``, what a study takes on clusters of several sizes.

Pages and texts, each a command:

- ``study_page``: one HTML page about a study; ``choices`` says which model to ship, ``ideas`` what each idea was worth
- ``front_page``: fronts of one study or several, with axes and filters to choose
- ``corpora_page``: one HTML page about its corpora
- ``samples``: sentences to read
- ``terminal``: what `make demo` prints at the end
- ``keep``: a finished study in git; ``pages``: all that people look at, of studies that are kept

What they share:

- ``headline``: the figures a study is quoted by
- ``speed``: cells and notes of the tables of WNGT 2020
- ``search``: those of the tables about search
- ``markdown``, ``latex``, ``html``: parts of pages
- ``figure``: the style of pictures, and how they are saved
- ``labels``: names beside points
- ``study_files``: where the files of a study are
"""
