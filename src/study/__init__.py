"""A study: its configuration, its plan, and what it will take before it runs.

From files to an effective configuration:

- ``config``: load a configuration, or print it (command)
- ``configuration``: its types, a class for each section: what keys mean, their limits and defaults
- ``keys``: the JSON schema, made of the types (command: write it and the page of keys)
- ``schema``: what the JSON schema refuses, in our words; the folder of results, the hash of a configuration
- ``expansion``: YAML files merged with those that they extend, and every entry with the settings of the whole study
- ``checks``: the rules that a schema cannot express; ``system_checks``: those of teachers and students;
  ``candidate_checks``: those of what mixtures choose from; ``http_checks``: those of teachers behind HTTP;
  ``word_checks``: those of teachers that teach word by word; ``back_translation_checks``: those of back-translation;
  ``score_checks``: those of scores of corpora
- ``precision``: the engine and the type that teachers compute with
- ``machine_checks``: what a run lacks on this machine, asked when its first job starts
- ``available``: whether the corpora can be had (command)

Before there is a configuration:

- ``new``: propose one for files and a time (command)

What follows from the configuration:

- ``plan``: the systems of a study, what each is made of, what is done with it, where the files are
- ``systems``: systems, mixtures and teachers that the plan is made of
- ``candidates``: the n-best lists of teachers, and how mixtures choose from them

What a study will take:

- ``workload``: how much there is to do
- ``scoring``: what scores of corpora take
- ``asking``: requests, tokens, USD and hours of teachers behind HTTP
- ``estimate``: time and disk, before it runs
- ``rates``: how fast a machine does what a study spends its time on: shipped rates, and those of this machine (command)
- ``resources``: the work of a training, and what it requests from Snakemake
- ``job_limits``: what other jobs request, by the size of the study
- ``scale_plan``: the least hours, disk and USD on clusters of several sizes (command)
- ``jobs``: the jobs and the nodes of that plan, their work and their critical path
"""
