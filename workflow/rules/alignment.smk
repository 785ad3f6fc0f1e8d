# From the training data to the vocabulary map. All systems share the vocabulary, so one map serves them all.

MAP = study.config.vocabulary_map
GRID = MAP.grid and MAP.grid.document
KNOBS = {knob: value for knob, value in MAP.document.items() if knob not in ("system", "grid", "coverage")}
# No parameter where there are no changes: a new one would align the pairs of every finished study again.
ADDED = {"added": as_json(changes)} if (changes := study.mixtures.aligned_augmentation) else {}


rule alignment_corpus:
    """Every pair of the mixture once, whatever the weights, so that the counts are those of the text. The order is
    random, so that the first pairs are a sample of all corpora. Where systems learn from changed pairs, some of these
    pairs are there changed, too: a map of unchanged ones lacks what students have learned."""
    input:
        corpora=[study.mixtures.corpus(mixture, corpus) for corpus, mixture in study.mixtures.aligned_corpora.items()],
    output:
        corpus=f"{study.folder}/alignment/corpus.tsv.zst",
        counts=f"{study.folder}/alignment/corpus.json",
    log:
        f"{study.folder}/logs/alignment_corpus.log",
    benchmark:
        f"{study.folder}/benchmarks/alignment_corpus.tsv"
    resources:
        **growing(mem_mb=1000, runtime=requests.minutes("alignment_corpus")),
    params:
        **ADDED,
        seed=study.config.seed,
    shell:
        "python -m train.sample --corpora {input.corpora} --seed {params.seed}"
        f"{' --added {params.added:q}' * len(ADDED)}"
        " --output {output.corpus} 2> {log}"


rule alignment_probabilities:
    input:
        corpus=rules.alignment_corpus.output.corpus,
        sentencepiece=rules.vocabulary.output.model,
    output:
        probabilities=directory(study.paths.probabilities),
    log:
        f"{study.folder}/logs/alignment_probabilities.log",
    benchmark:
        f"{study.folder}/benchmarks/alignment_probabilities.tsv"
    resources:
        **growing(mem_mb=4000, runtime=requests.minutes("alignment_probabilities")),
    params:
        aligner=study.config.alignment.aligner,
        pairs=study.config.alignment.pairs,
    shell:
        "python -m corpora.alignment train --aligner {params.aligner} --corpus {input.corpus}"
        " --sentencepiece {input.sentencepiece} --pairs {params.pairs} --output {output.probabilities} 2> {log}"


rule align_shard:
    input:
        corpus=rules.alignment_corpus.output.corpus,
        sentencepiece=rules.vocabulary.output.model,
        probabilities=rules.alignment_probabilities.output.probabilities,
    output:
        shard=f"{study.folder}/alignment/aligned/{{scatteritem}}.tsv.zst",
    log:
        f"{study.folder}/logs/align_{{scatteritem}}.log",
    benchmark:
        f"{study.folder}/benchmarks/align_{{scatteritem}}.tsv"
    resources:
        **growing(mem_mb=2000, runtime=requests.minutes("align_shard")),
    params:
        aligner=study.config.alignment.aligner,
        shard=lambda w: w.scatteritem.replace("-of-", "/"),
    shell:
        "python -m corpora.alignment apply --aligner {params.aligner} --corpus {input.corpus} --shard {params.shard}"
        " --sentencepiece {input.sentencepiece} --probabilities {input.probabilities} --output {output.shard} 2> {log}"


rule align_epoch_shard:
    """The links of a part of an epoch, for a guided alignment. By the pieces that are trained on, as an epoch may have
    augmented pairs, and none of a corpus that is not in its mixture."""
    input:
        source=study.paths.epoch("{mixture}", "{epoch}", "source"),
        target=study.paths.epoch("{mixture}", "{epoch}", "target"),
        probabilities=rules.alignment_probabilities.output.probabilities,
    output:
        shard=temp(f"{study.folder}/training/{{mixture}}.{{epoch}}.{{scatteritem}}.links"),
    log:
        f"{study.folder}/logs/align_{{mixture}}_{{epoch}}_{{scatteritem}}.log",
    benchmark:
        f"{study.folder}/benchmarks/align_{{mixture}}_{{epoch}}_{{scatteritem}}.tsv"
    resources:
        **growing(mem_mb=2000, runtime=requests.minutes("align_epoch_shard")),
    params:
        aligner=study.config.alignment.aligner,
        shard=lambda w: w.scatteritem.replace("-of-", "/"),
    shell:
        "python -m corpora.alignment links --aligner {params.aligner} --source {input.source} --target {input.target}"
        " --shard {params.shard} --probabilities {input.probabilities} --output {output.shard} 2> {log}"


rule align_epoch:
    input:
        shards=gather.alignment(f"{study.folder}/training/{{{{mixture}}}}.{{{{epoch}}}}.{{scatteritem}}.links"),
    output:
        links=study.paths.epoch("{mixture}", "{epoch}", "links"),
    log:
        f"{study.folder}/logs/align_epoch_{{mixture}}_{{epoch}}.log",
    benchmark:
        f"{study.folder}/benchmarks/align_epoch_{{mixture}}_{{epoch}}.tsv"
    resources:
        **growing(mem_mb=500, runtime=10),
    shell:
        "cat {input.shards} > {output.links} 2> {log}"


rule extract_shard:
    input:
        shard=rules.align_shard.output.shard,
        vocabulary=rules.vocabulary.output.vocabulary,
    output:
        counts=temp(directory(f"{study.folder}/alignment/counts/{{scatteritem}}")),
    log:
        f"{study.folder}/logs/extract_{{scatteritem}}.log",
    benchmark:
        f"{study.folder}/benchmarks/extract_{{scatteritem}}.tsv"
    resources:
        **growing(mem_mb=1000, runtime=requests.minutes("extract_shard")),
    shell:
        "python -m export.phrases --alignments {input.shard} --vocabulary {input.vocabulary} --output {output.counts}"
        " 2> {log}"


rule phrase_table:
    input:
        shards=gather.alignment(f"{study.folder}/alignment/counts/{{scatteritem}}"),
        vocabulary=rules.vocabulary.output.vocabulary,
        epoch=study.paths.epoch(study.mixtures.aligned, 1, "target"),
    output:
        table=directory(f"{study.folder}/alignment/phrase_table"),
    log:
        f"{study.folder}/logs/phrase_table.log",
    benchmark:
        f"{study.folder}/benchmarks/phrase_table.tsv"
    resources:
        **growing(mem_mb=1000, runtime=requests.minutes("phrase_table")),
    shell:
        "python -m export.phrase_table --shards {input.shards} --vocabulary {input.vocabulary} --epoch {input.epoch}"
        " --output {output.table} 2> {log}"


rule model_outputs:
    """Translations by the student the map is fitted to, with the whole vocabulary, by which the map is chosen."""
    input:
        corpus=study.paths.clean("{corpus}"),
        weights=study.maps.weights,
        sentencepiece=rules.vocabulary.output.model,
    output:
        pieces=f"{study.folder}/alignment/outputs/{{corpus}}.tsv.zst",
    log:
        f"{study.folder}/logs/model_outputs_{{corpus}}.log",
    benchmark:
        f"{study.folder}/benchmarks/model_outputs_{{corpus}}.tsv"
    resources:
        **growing(mem_mb=2000, runtime=60),
    params:
        type=study.maps.type,
        longest=study.config.decoding.max_decoding_length,
    shell:
        "python -m export.model_outputs --corpus {input.corpus} --weights {input.weights} --quantization {params.type}"
        " --sentencepiece {input.sentencepiece} --threads {threads} --max-decoding-length {params.longest}"
        " --output {output.pieces} 2> {log}"


rule map_coverage:
    """What each map of the grid covers of a corpus; the coverage of the dev set picks the map of the study."""
    input:
        table=rules.phrase_table.output.table,
        outputs=rules.model_outputs.output.pieces,
    output:
        coverage=study.paths.coverage("{corpus}"),
    log:
        f"{study.folder}/logs/map_coverage_{{corpus}}.log",
    benchmark:
        f"{study.folder}/benchmarks/map_coverage_{{corpus}}.tsv"
    resources:
        **growing(mem_mb=2000, runtime=120),
    params:
        grid=json.dumps(GRID),
        coverage=MAP.coverage,
    shell:
        "python -m export.coverage --phrase-table {input.table} --outputs {input.outputs} --grid {params.grid:q}"
        " --coverage {params.coverage} --output {output.coverage} 2> {log}"


rule vocabulary_map:
    input:
        table=rules.phrase_table.output.table,
        picked=study.paths.coverage(study.corpora.dev) if GRID else [],
    output:
        map=f"{study.folder}/alignment/vmap.txt",
        counts=f"{study.folder}/alignment/vmap.json",
    log:
        f"{study.folder}/logs/vocabulary_map.log",
    benchmark:
        f"{study.folder}/benchmarks/vocabulary_map.tsv"
    resources:
        **growing(mem_mb=1000, runtime=60),
    params:
        # What is computed from the input Snakemake does not watch: the numbers stand alone.
        knobs=(lambda w, input: input.picked) if GRID else json.dumps(KNOBS),
    shell:
        "python -m export.vocabulary_map build --phrase-table {input.table} --knobs {params.knobs:q}"
        " --output {output.map} 2> {log}"


rule shortlist:
    """Marian's shortlist, for the same model in Marian's decoder, and as a map to compare with the study's."""
    input:
        table=rules.phrase_table.output.table,
    output:
        shortlist=f"{study.folder}/alignment/shortlist.txt",
        map=f"{study.folder}/alignment/shortlist.vmap.txt",
    log:
        f"{study.folder}/logs/shortlist.log",
    benchmark:
        f"{study.folder}/benchmarks/shortlist.tsv"
    resources:
        **growing(mem_mb=1000, runtime=60),
    shell:
        "python -m export.shortlist --phrase-table {input.table} --output {output.shortlist} --map {output.map}"
        " 2> {log}"
