# The whole pipeline, from text to the Pareto front. `snakemake --cores all` runs configs/demo.yaml;
# `snakemake --cores all --configfile configs/X.yaml` runs another study.
from snakemake.utils import min_version

min_version("9.0")


include: "workflow/rules/common.smk"


report: "workflow/report/workflow.rst"


include: "workflow/rules/corpora.smk"  #       fetch, clean, identify the language, merge
include: "workflow/rules/vocabulary.smk"  #    one joint SentencePiece model
include: "workflow/rules/training.smk"  #      teachers on the original data, students on mixtures
include: "workflow/rules/teacher.smk"  #       teachers that come from elsewhere
include: "workflow/rules/distillation.smk"  #  the teachers translate, shard by shard; the best translation is chosen
include: "workflow/rules/back_translation.smk"  # a teacher of the other direction translates text of the target side
include: "workflow/rules/alignment.smk"  #     word alignment, phrase table, vocabulary map
include: "workflow/rules/export.smk"  #        CTranslate2 in several types, self-contained model folders
include: "workflow/rules/scores.smk"  #        scores of the corpora that the study computes itself
include: "workflow/rules/decoding.smk"  #      decode, time and score every system
include: "workflow/rules/gap.smk"  #           what separates students from their teacher
include: "workflow/rules/first.smk"  #         a first front of what is trained first, replaced by the report's
include: "workflow/rules/maps.smk"  #          vocabulary maps of many knobs
include: "workflow/rules/speed.smk"  #         the target `speed`: parts of the native engine, all architectures
include: "papers/wngt2020/rules.smk"  #        speed: a ladder of optimisations, end to end, workers against threads
include: "papers/devlin2017/rules.smk"  #      speed: what a recurrent decoder need not compute
include: "papers/marian2018/rules.smk"  #      speed: its tables row by row
include: "workflow/rules/search.smk"  #        the target `search`
include: "papers/wnmt2018/rules.smk"  #        search: time by components, beams and batches
include: "papers/fastseq2021/rules.smk"  #     search: the pipeline, n-gram blocking, the encoder's cache
include: "workflow/rules/robustness.smk"  #    what people write: capitals, typos, URLs
include: "workflow/rules/report.smk"  #        tables, pictures, samples, pages


# `study` is made in common.smk, FRONTS and ROUNDING in report.smk.
rule all:
    default_target: True
    input:
        rules.page.output,
        rules.measurements.output,
        rules.samples.output,
        rules.corpora_page.output,
        f"{study.report}/table.md",
        f"{study.report}/training.md",
        expand(
            f"{study.report}/{{picture}}.{{format}}",
            picture=[*FRONTS, "learning", "funnel", "lengths"],
            format=["svg", "png"],
        ),
        expand(f"{study.report}/gap.{{format}}", format=["md", "svg", "png"]) if study.teachers.imitated else [],
        f"{study.report}/quantization.md" if ROUNDING else [],
        expand(f"{study.report}/robustness.{{format}}", format=["md", "svg", "png"]) if study.robustness.folders else [],
