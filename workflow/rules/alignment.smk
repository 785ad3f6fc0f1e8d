# From the training data to the vocabulary map. All systems share the vocabulary, so one map serves them all.

MAP = config["vocabulary_map"]
GRID = MAP["grid"]
KNOBS = {knob: value for knob, value in MAP.items() if knob not in ("grid", "coverage")}


rule alignment_corpus:
    """Every pair of the mixture once, whatever the weights, so that counts are those of the text; in random order, so
    that the first ones are a sample of all corpora."""
    input:
        corpora=[mixed_corpus(MAPPED, corpus) for corpus in weights(config, MAPPED)],
    output:
        corpus=f"{STUDY}/alignment/corpus.tsv.zst",
        counts=f"{STUDY}/alignment/corpus.json",
    log:
        f"{STUDY}/logs/alignment_corpus.log",
    benchmark:
        f"{STUDY}/benchmarks/alignment_corpus.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=240,
    params:
        seed=config["seed"],
    shell:
        "python -m distill.sample --corpora {input.corpora} --seed {params.seed} --output {output.corpus} 2> {log}"


rule alignment_probabilities:
    input:
        corpus=rules.alignment_corpus.output.corpus,
        sentencepiece=rules.vocabulary.output.model,
    output:
        probabilities=directory(f"{STUDY}/alignment/probabilities"),
    log:
        f"{STUDY}/logs/alignment_probabilities.log",
    benchmark:
        f"{STUDY}/benchmarks/alignment_probabilities.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=600,
    params:
        aligner=config["alignment"]["aligner"],
        pairs=config["alignment"]["pairs"],
    shell:
        "python -m export.alignment train --aligner {params.aligner} --corpus {input.corpus}"
        " --sentencepiece {input.sentencepiece} --pairs {params.pairs} --output {output.probabilities} 2> {log}"


rule align_shard:
    input:
        corpus=rules.alignment_corpus.output.corpus,
        sentencepiece=rules.vocabulary.output.model,
        probabilities=rules.alignment_probabilities.output.probabilities,
    output:
        shard=f"{STUDY}/alignment/aligned/{{scatteritem}}.tsv.zst",
    log:
        f"{STUDY}/logs/align_{{scatteritem}}.log",
    benchmark:
        f"{STUDY}/benchmarks/align_{{scatteritem}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=600,
    params:
        aligner=config["alignment"]["aligner"],
        shard=lambda w: w.scatteritem.replace("-of-", "/"),
    shell:
        "python -m export.alignment apply --aligner {params.aligner} --corpus {input.corpus} --shard {params.shard}"
        " --sentencepiece {input.sentencepiece} --probabilities {input.probabilities} --output {output.shard} 2> {log}"


rule extract_shard:
    input:
        shard=rules.align_shard.output.shard,
        vocabulary=rules.vocabulary.output.vocabulary,
    output:
        counts=temp(directory(f"{STUDY}/alignment/counts/{{scatteritem}}")),
    log:
        f"{STUDY}/logs/extract_{{scatteritem}}.log",
    benchmark:
        f"{STUDY}/benchmarks/extract_{{scatteritem}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=60,
    shell:
        "python -m export.phrases --alignments {input.shard} --vocabulary {input.vocabulary} --output {output.counts}"
        " 2> {log}"


rule phrase_table:
    input:
        shards=gather.alignment(f"{STUDY}/alignment/counts/{{scatteritem}}"),
        vocabulary=rules.vocabulary.output.vocabulary,
        epoch=f"{STUDY}/training/{MAPPED}.1.target",
    output:
        table=directory(f"{STUDY}/alignment/phrase_table"),
    log:
        f"{STUDY}/logs/phrase_table.log",
    benchmark:
        f"{STUDY}/benchmarks/phrase_table.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=60,
    shell:
        "python -m export.phrase_table --shards {input.shards} --vocabulary {input.vocabulary} --epoch {input.epoch}"
        " --output {output.table} 2> {log}"


rule model_outputs:
    """What the student that is timed first says with its whole vocabulary, for the choice of the map."""
    input:
        corpus=f"{STUDY}/corpora/clean/{{corpus}}.tsv.zst",
        weights=f"{STUDY}/systems/{MAP_SYSTEM}/converted/{MAP_TYPE}",
        sentencepiece=rules.vocabulary.output.model,
    output:
        pieces=f"{STUDY}/alignment/outputs/{{corpus}}.tsv.zst",
    log:
        f"{STUDY}/logs/model_outputs_{{corpus}}.log",
    benchmark:
        f"{STUDY}/benchmarks/model_outputs_{{corpus}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        longest=config["decoding"]["max_decoding_length"],
    shell:
        "python -m export.model_outputs --corpus {input.corpus} --weights {input.weights}"
        " --sentencepiece {input.sentencepiece} --threads {threads} --max-decoding-length {params.longest}"
        " --output {output.pieces} 2> {log}"


rule map_coverage:
    """The grid of maps against a corpus; the dev set's result says which map the study uses."""
    input:
        table=rules.phrase_table.output.table,
        outputs=rules.model_outputs.output.pieces,
    output:
        coverage=f"{STUDY}/alignment/coverage/{{corpus}}.json",
    log:
        f"{STUDY}/logs/map_coverage_{{corpus}}.log",
    benchmark:
        f"{STUDY}/benchmarks/map_coverage_{{corpus}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=120,
    params:
        grid=json.dumps(GRID),
        coverage=MAP["coverage"],
    shell:
        "python -m export.coverage --phrase-table {input.table} --outputs {input.outputs} --grid {params.grid:q}"
        " --coverage {params.coverage} --output {output.coverage} 2> {log}"


rule vocabulary_map:
    input:
        table=rules.phrase_table.output.table,
        picked=f"{STUDY}/alignment/coverage/{DEV}.json" if GRID else [],
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
        knobs=lambda w, input: input.picked or json.dumps(KNOBS),
    shell:
        "python -m export.vocabulary_map build --phrase-table {input.table} --knobs {params.knobs:q}"
        " --output {output.map} 2> {log}"


rule shortlist:
    """Marian's, for the same model in Marian's decoder, and as a vocabulary map to hold against the one in use."""
    input:
        table=rules.phrase_table.output.table,
    output:
        shortlist=f"{STUDY}/alignment/shortlist.txt",
        map=f"{STUDY}/alignment/shortlist.vmap.txt",
    log:
        f"{STUDY}/logs/shortlist.log",
    benchmark:
        f"{STUDY}/benchmarks/shortlist.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=60,
    shell:
        "python -m export.shortlist --phrase-table {input.table} --output {output.shortlist} --map {output.map} 2> {log}"
