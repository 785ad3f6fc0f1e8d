# Vocabulary maps of many knobs side by side, decoded with the student they are fitted to: Table 1 of WNMT 2018.


rule map_grid:
    input:
        table=rules.phrase_table.output.table,
    output:
        maps=temp(directory(f"{study.folder}/alignment/maps")),
    log:
        f"{study.folder}/logs/map_grid.log",
    benchmark:
        f"{study.folder}/benchmarks/map_grid.tsv"
    resources:
        **growing(mem_mb=2000, runtime=120),
    params:
        grid=json.dumps(GRID),
    shell:
        "python -m export.vocabulary_map grid --phrase-table {input.table} --grid {params.grid:q}"
        " --output {output.maps} 2> {log}"


rule map_timing:
    input:
        model=study.models.optimised(study.maps.system, type=study.maps.type)[:1] if study.maps.system else [],
        maps=rules.map_grid.output.maps,
        test_set=study.paths.clean(study.corpora.timed),
    output:
        timing=f"{study.report}/maps.timing.json",
    log:
        f"{study.folder}/logs/map_timing.log",
    benchmark:
        f"{study.folder}/benchmarks/map_timing.tsv"
    threads: ALL_CORES
    resources:
        **growing(mem_mb=2000, runtime=600),
    params:
        language=study.config.target,
        runs=study.config.decoding.runs,
        core=study.config.decoding.cores[0],
        noise=study.config.decoding.noise,
    shell:
        f"{ALONE}"
        " python -m experiments.map_timing --model {input.model} --maps {input.maps}/*.txt --test-set {input.test_set}"
        " --target-language {params.language} --runs {params.runs} --core {params.core} --noise {params.noise}"
        " --output {output.timing} 2> >(shown {log})"


rule maps:
    """The maps of the study's grid, timed: `snakemake --cores all maps --configfile configs/X.yaml`."""
    input:
        lambda w: unless(
            study.maps.problem,
            expand(f"{study.report}/maps.{{format}}", format=["md", "svg", "png"]),
        ),
