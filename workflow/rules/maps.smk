# Vocabulary maps of many knobs side by side, decoded with the student they are fitted to: Table 1 of WNMT 2018.

MAP_REPORT = f"{REPORT}/maps"


rule map_grid:
    input:
        table=rules.phrase_table.output.table,
    output:
        maps=temp(directory(f"{STUDY}/alignment/maps")),
    log:
        f"{STUDY}/logs/map_grid.log",
    benchmark:
        f"{STUDY}/benchmarks/map_grid.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=120,
    params:
        grid=json.dumps(GRID),
    shell:
        "python -m export.vocabulary_map grid --phrase-table {input.table} --grid {params.grid:q} --output {output.maps}"
        " 2> {log}"


rule map_timing:
    input:
        model=f"{STUDY}/models/{MAP_SYSTEM}/{MAP_TYPE}",
        maps=rules.map_grid.output.maps,
        test_set=ancient(f"{STUDY}/corpora/clean/{CORPORA['test'][0]}.tsv.zst"),
    output:
        timing=f"{MAP_REPORT}.timing.json",
    log:
        f"{STUDY}/logs/map_timing.log",
    benchmark:
        f"{STUDY}/benchmarks/map_timing.tsv"
    conda:
        "../../environment.yml"
    threads: ALL_CORES
    resources:
        mem_mb=2000,
        runtime=600,
    params:
        language=config["target"],
        runs=config["decoding"]["runs"],
        core=config["decoding"]["cores"][0],
    shell:
        "python -m decode.map_timing --model {input.model} --maps {input.maps}/*.txt --test-set {input.test_set}"
        " --target-language {params.language} --runs {params.runs} --core {params.core} --output {output.timing}"
        " 2> >(tee {log} >&2)"


rule map_table:
    input:
        dev=f"{STUDY}/alignment/coverage/{DEV}.json",
        coverage=f"{STUDY}/alignment/coverage/{CORPORA['test'][0]}.json",
        timing=rules.map_timing.output.timing,
    output:
        table=f"{MAP_REPORT}.md",
    log:
        f"{STUDY}/logs/map_table.log",
    benchmark:
        f"{STUDY}/benchmarks/map_table.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    shell:
        "python -m decode.map_table --dev {input.dev} --coverage {input.coverage} --timing {input.timing}"
        " --output {output.table} 2> {log}"


rule map_plot:
    input:
        **rules.map_table.input,
    output:
        picture=report(
            f"{MAP_REPORT}.{{picture}}",
            caption="../report/maps.rst",
            category="Vocabulary map",
            labels={"plot": "maps of many knobs", "format": "{picture}"},
        ),
    log:
        f"{STUDY}/logs/map_plot_{{picture}}.log",
    benchmark:
        f"{STUDY}/benchmarks/map_plot_{{picture}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    shell:
        "python -m decode.map_plot --dev {input.dev} --coverage {input.coverage} --timing {input.timing}"
        " --output {output.picture} 2> {log}"


rule maps:
    """The maps of the study's grid, timed: `snakemake --cores all maps --configfile configs/X.yaml`."""
    input:
        map_report,


rule aligners:
    """How far the aligners agree: `snakemake --cores all results/STUDY/report/aligners.md`; needs eflomal."""
    input:
        corpus=rules.alignment_corpus.output.corpus,
        sentencepiece=rules.vocabulary.output.model,
    output:
        json=f"{REPORT}/aligners.json",
        markdown=f"{REPORT}/aligners.md",
    log:
        f"{STUDY}/logs/aligners.log",
    benchmark:
        f"{STUDY}/benchmarks/aligners.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=120,
    shell:
        "python -m export.agreement --corpus {input.corpus} --sentencepiece {input.sentencepiece} --json {output.json}"
        " --markdown {output.markdown} 2> {log}"
