"""A study: its configuration, its plan, and what it will take before it runs.

From files to an effective configuration:

- ``config``: load a configuration, or print it (command)
- ``schema``: the JSON schema: defaults, and errors in our words
- ``extends``: YAML files, merged with those that they extend
- ``expansion``: every entry with what the study says once for all of them
- ``checks``: the rules that a schema cannot express
- ``precision``: the engine and the type that teachers compute with
- ``available``: whether the corpora can be had (command)

Before there is a configuration:

- ``new``: propose one for files and a time (command)

What follows from the configuration:

- ``plan``: the systems of a study, what each is made of, what is done with it, where the files are
- ``identity``: the folder of its results, the hash of its configuration
- ``systems``, ``mixtures``, ``teachers``: what the plan is made of

What a study will take:

- ``work``: how much there is to do
- ``estimate``: time and disk, before it runs
- ``rates``: how fast this machine does what a study spends its time on
- ``resources``: the work of a training, and what it requests from Snakemake
- ``requests``: what other jobs request, by the size of the study
- ``scale_plan``: hours, disk and USD on clusters of several sizes (command)
- ``benchmarked``, ``jobs``, ``cluster``: the rates, the jobs and the nodes of that plan
"""
