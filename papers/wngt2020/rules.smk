# The speed tables of WNGT 2020; the target `speed` makes them.


from papers.wngt2020.table5 import ROWS as WNGT_TABLE5


# Table 5: the gain of each optimisation, one switch after the other. Made as `switches` in workflow/rules/speed.smk.
use rule switches as ladder with:
    input:
        baseline=study.paths.model("{system}", "opennmt-tf"),
        models=lambda w: study.speed.ladder(w.system),
        test_set=study.paths.clean(study.corpora.timed),
    output:
        records=f"{study.folder}/speed/ladder.{{system}}.json",
    log:
        f"{study.folder}/logs/ladder_{{system}}.log",
    benchmark:
        f"{study.folder}/benchmarks/ladder_{{system}}.tsv"
    params:
        program="papers.wngt2020.ladder",
        models=lambda w, input: f"--baseline {input.baseline} --models {input.models}",
        options=speed_options,


# Table 6: the toolkit against all optimisations together, the runs of all systems in turn.
use rule switches as end_to_end with:
    input:
        models=[
            *expand(study.paths.model("{system}", "opennmt-tf"), system=study.speed.systems),
            *study.models.optimised(*study.speed.systems),
        ],
        exact=study.models.exact(*study.speed.trained),
        test_set=study.paths.clean(study.corpora.timed),
    output:
        records=f"{study.folder}/speed/end_to_end.json",
    log:
        f"{study.folder}/logs/end_to_end.log",
    benchmark:
        f"{study.folder}/benchmarks/end_to_end.tsv"
    params:
        program="papers.wngt2020.end_to_end",
        models=lambda w, input: f"--models {input.models} --exact {input.exact}",
        options=speed_options,


# Figure 2: workers over the file against threads inside the batch.
use rule switches as scaling with:
    input:
        models=lambda w: study.models.optimised(w.system),
        test_set=study.paths.clean(study.corpora.timed),
    output:
        records=f"{study.folder}/speed/scaling.{{system}}.json",
    log:
        f"{study.folder}/logs/scaling_{{system}}.log",
    benchmark:
        f"{study.folder}/benchmarks/scaling_{{system}}.tsv"
    params:
        program="papers.wngt2020.scaling",
        models=lambda w, input: f"--models {input.models}",
        options=speed_options,


# Table 5 in the native engine, which packs on all CPUs; asked for by name.
use rule switches as wngt_table5 with:
    input:
        models=table_models(WNGT_TABLE5),
        test_set=study.paths.clean(study.corpora.timed),
    output:
        records=f"{study.folder}/speed/wngt_table5.json",
    log:
        f"{study.folder}/logs/wngt_table5.log",
    benchmark:
        f"{study.folder}/benchmarks/wngt_table5.tsv"
    params:
        program="papers.wngt2020.table5",
        models=lambda w, input: f"--models {input.models}",
        options=speed_options,
