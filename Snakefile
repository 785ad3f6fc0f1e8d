# The whole pipeline, from text to the Pareto front. `snakemake --cores all` runs configs/demo.yaml;
# `snakemake --cores all --configfile configs/X.yaml` runs another study.
from snakemake.utils import min_version

min_version("9.0")


include: "workflow/rules/common.smk"


report: "workflow/report/workflow.rst"


include: "workflow/rules/corpora.smk"  #       fetch, clean, identify the language, merge
include: "workflow/rules/vocabulary.smk"  #    one joint SentencePiece model
include: "workflow/rules/teacher.smk"  #       train on the original data
include: "workflow/rules/distillation.smk"  #  the teacher translates, shard by shard
include: "workflow/rules/students.smk"  #      train on its translations; the control on the original data
include: "workflow/rules/alignment.smk"  #     word alignment, phrase table, vocabulary map
include: "workflow/rules/export.smk"  #        CTranslate2 in several types, self-contained model folders
include: "workflow/rules/decoding.smk"  #      decode, time and score every system
include: "workflow/rules/report.smk"  #        tables, plots, samples, one page


rule all:
    default_target: True
    input:
        rules.page.output,
        rules.tables.output,
        rules.samples.output,
        rules.corpora_page.output,
        expand(
            f"{REPORT}/{{picture}}.{{format}}",
            picture=[*FRONTS, "learning", "funnel", "lengths"],
            format=["svg", "png"],
        ),
