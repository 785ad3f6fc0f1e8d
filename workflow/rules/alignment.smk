# From word alignments to the vocabulary map. All systems share the vocabulary, so one map serves them all.


rule align:
    input:
        source=f"{STUDY}/training/{MAPPED}.1.source",
        target=f"{STUDY}/training/{MAPPED}.1.target",
    output:
        alignments=f"{STUDY}/alignment/alignments.tsv.zst",
    log:
        f"{STUDY}/logs/align.log",
    benchmark:
        f"{STUDY}/benchmarks/align.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=600,
    params:
        pairs=config["alignment"]["pairs"],
    shell:
        "python -m export.alignment --source {input.source} --target {input.target} --pairs {params.pairs}"
        " --output {output.alignments} 2> {log}"


rule phrase_table:
    input:
        alignments=rules.align.output.alignments,
        vocabulary=rules.vocabulary.output.vocabulary,
    output:
        table=f"{STUDY}/alignment/phrases.npz",
    log:
        f"{STUDY}/logs/phrase_table.log",
    benchmark:
        f"{STUDY}/benchmarks/phrase_table.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=600,
    params:
        max_ngram=config["vocabulary_map"]["max_ngram"],
    shell:
        "python -m export.phrase_table --alignments {input.alignments} --vocabulary {input.vocabulary}"
        " --max-ngram {params.max_ngram} --output {output.table} 2> {log}"


rule vocabulary_map:
    input:
        table=rules.phrase_table.output.table,
    output:
        map=f"{STUDY}/alignment/vmap.txt",
        counts=f"{STUDY}/alignment/vmap.json",
    log:
        f"{STUDY}/logs/vocabulary_map.log",
    benchmark:
        f"{STUDY}/benchmarks/vocabulary_map.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=60,
    params:
        knobs=[f"--{knob.replace('_', '-')} {value}" for knob, value in config["vocabulary_map"].items()],
    shell:
        "python -m export.vocabulary_map --phrase-table {input.table} {params.knobs} --output {output.map} 2> {log}"
