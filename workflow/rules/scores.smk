# Scores that the study computes of the corpora that have them (`score`), and what these are learned from. All read
# corpora/unfiltered/<corpus>.tsv.zst; the rule bound of corpora.smk reads them.
SCORES = study.scores.section


wildcard_constraints:
    scorer=one_of(study.scores.scorers),


rule scores_pairs:
    """Pairs of the corpora that the study trusts, in random order."""
    input:
        corpora=[*map(study.scores.learned_from, SCORES.trusted)],
    output:
        corpus=f"{study.folder}/scores/trusted.tsv.zst",
        counts=f"{study.folder}/scores/trusted.json",
    log:
        f"{study.folder}/logs/scores_pairs.log",
    benchmark:
        f"{study.folder}/benchmarks/scores_pairs.tsv"
    resources:
        **growing(mem_mb=1000, runtime=requests.minutes("scores_pairs")),
    params:
        kind="forward",
        pairs=SCORES.pairs,
        seed=study.config.seed,
    shell:
        "python -m scores.text --corpora {input.corpora} --kind {params.kind} --pairs {params.pairs}"
        " --seed {params.seed} --output {output.corpus} 2> {log}"


use rule vocabulary as scores_vocabulary with:
    input:
        corpora=rules.scores_pairs.output.corpus,
    output:
        model=f"{study.folder}/scores/sentencepiece.model",
        vocabulary=f"{study.folder}/scores/vocabulary.txt",
    log:
        f"{study.folder}/logs/scores_vocabulary.log",
    benchmark:
        f"{study.folder}/benchmarks/scores_vocabulary.tsv"
    params:
        languages=study.pair,
        type="unigram",
        pieces=SCORES.pieces,
        coverage=study.config.vocabulary.character_coverage,
        normalization=study.corpora.normalization,
        options="",
        sentences=study.config.vocabulary.sentences,
        seed=study.config.seed,


use rule alignment_probabilities as scores_aligner with:
    input:
        corpus=rules.scores_pairs.output.corpus,
        sentencepiece=rules.scores_vocabulary.output.model,
    output:
        probabilities=directory(f"{study.folder}/scores/aligner"),
    log:
        f"{study.folder}/logs/scores_aligner.log",
    benchmark:
        f"{study.folder}/benchmarks/scores_aligner.tsv"
    params:
        aligner="fast_align",  # the other one says nothing of a pair
        pairs=SCORES.pairs,


rule score_alignment:
    input:
        corpus=study.paths.unfiltered("{corpus}"),
        sentencepiece=rules.scores_vocabulary.output.model,
        probabilities=rules.scores_aligner.output.probabilities,
    output:
        numbers=study.paths.score("{corpus}", "alignment", "{scatteritem}"),
    log:
        f"{study.folder}/logs/score_alignment_{{corpus}}_{{scatteritem}}.log",
    benchmark:
        f"{study.folder}/benchmarks/score_alignment_{{corpus}}_{{scatteritem}}.tsv"
    resources:
        **growing(mem_mb=2000, runtime=requests.minutes("score_alignment")),
    params:
        shard=lambda w: w.scatteritem.replace("-of-", "/"),
    shell:
        "python -m scores.alignment --input {input.corpus} --shard {params.shard}"
        " --sentencepiece {input.sentencepiece} --probabilities {input.probabilities} --output {output.numbers}"
        " 2> >(shown {log})"


use rule scores_pairs as scorer_text with:
    input:
        corpora=lambda w: [*map(study.scores.learned_from, study.scores.scorers[w.scorer].corpora)],
    output:
        corpus=study.scores.file("{scorer}", "text.tsv.zst"),
        counts=study.scores.file("{scorer}", "text.json"),
    log:
        f"{study.folder}/logs/scorer_text_{{scorer}}.log",
    benchmark:
        f"{study.folder}/benchmarks/scorer_text_{{scorer}}.tsv"
    params:
        kind=lambda w: study.scores.scorers[w.scorer].kind,
        pairs=SCORES.pairs,
        seed=study.config.seed,


use rule scorer_text as scorer_dev with:
    input:
        corpora=study.paths.clean(study.corpora.dev),
    output:
        corpus=study.scores.file("{scorer}", "dev.tsv.zst"),
        counts=study.scores.file("{scorer}", "dev.json"),
    log:
        f"{study.folder}/logs/scorer_dev_{{scorer}}.log",
    benchmark:
        f"{study.folder}/benchmarks/scorer_dev_{{scorer}}.tsv"


use rule encode as scorer_pieces with:
    input:
        corpus=rules.scorer_text.output.corpus,
        model=rules.scores_vocabulary.output.model,
    output:
        source=study.scores.file("{scorer}", "text.source"),
        target=study.scores.file("{scorer}", "text.target"),
    log:
        f"{study.folder}/logs/scorer_pieces_{{scorer}}.log",
    benchmark:
        f"{study.folder}/benchmarks/scorer_pieces_{{scorer}}.tsv"


use rule encode_dev as scorer_dev_pieces with:
    input:
        corpus=rules.scorer_dev.output.corpus,
        model=rules.scores_vocabulary.output.model,
    output:
        source=study.scores.file("{scorer}", "dev.source"),
    log:
        f"{study.folder}/logs/scorer_dev_pieces_{{scorer}}.log",
    benchmark:
        f"{study.folder}/benchmarks/scorer_dev_pieces_{{scorer}}.tsv"


use rule train_teacher as train_scorer with:
    input:
        source=rules.scorer_pieces.output.source,
        target=rules.scorer_pieces.output.target,
        epochs=rules.scorer_text.output.counts,
        links=[],
        words=[],
        dev=rules.scorer_dev.output.corpus,
        dev_source=rules.scorer_dev_pieces.output.source,
        vocabulary=rules.scores_vocabulary.output.vocabulary,
        sentencepiece=rules.scores_vocabulary.output.model,
        start=[],
    output:
        averaged=directory(study.scores.file("{scorer}", "averaged")),
        learning=study.scores.file("{scorer}", "learning.json"),
    log:
        f"{study.folder}/logs/train_scorer_{{scorer}}.log",
    benchmark:
        f"{study.folder}/benchmarks/train_scorer_{{scorer}}.tsv"
    wildcard_constraints:
        scorer=one_of(study.scores.scorers),
    threads: study.scores.threads
    resources:
        **growing(
            mem_mb=lambda w: study.scores.training_resources(w.scorer)["mem_mb"],
            runtime=lambda w: study.scores.training_resources(w.scorer)["runtime"],
        ),
        gpu=lambda w: study.scores.training_resources(w.scorer)["gpu"],
        nodes=1,
    params:
        settings=lambda w: as_json(study.scores.training(w.scorer)),
        runs=lambda w: f"{study.folder}/scores/{w.scorer}",


use rule convert as convert_scorer with:
    input:
        model=rules.train_scorer.output.averaged,
    output:
        folder=directory(study.scores.file("{scorer}", "float32")),
    log:
        f"{study.folder}/logs/convert_scorer_{{scorer}}.log",
    benchmark:
        f"{study.folder}/benchmarks/convert_scorer_{{scorer}}.tsv"
    wildcard_constraints:
        scorer=one_of(study.scores.scorers),


use rule convert_native as convert_scorer_native with:
    input:
        model=lambda w: study.scores.weights(w.scorer),
    output:
        folder=directory(study.scores.file("{scorer}", "native-int8")),
    log:
        f"{study.folder}/logs/convert_scorer_native_{{scorer}}.log",
    benchmark:
        f"{study.folder}/benchmarks/convert_scorer_native_{{scorer}}.tsv"
    wildcard_constraints:
        scorer=one_of(study.scores.scorers),


rule score_by_models:
    """translation: both directions; domain: like the text that is near, and like any."""
    input:
        corpus=study.paths.unfiltered("{corpus}"),
        models=lambda w: study.scores.needed_models(w.score),
        sentencepiece=lambda w: study.scores.sentencepiece(w.score),
    output:
        numbers=study.paths.score("{corpus}", "{score}", "{scatteritem}"),
    log:
        f"{study.folder}/logs/score_{{score}}_{{corpus}}_{{scatteritem}}.log",
    benchmark:
        f"{study.folder}/benchmarks/score_{{score}}_{{corpus}}_{{scatteritem}}.tsv"
    wildcard_constraints:
        score="translation|domain",
    resources:
        **growing(mem_mb=3000, runtime=requests.minutes("score_by_models")),
    params:
        shard=lambda w: w.scatteritem.replace("-of-", "/"),
        sides=lambda w: len(study.corpora.languages(w.corpus)),
        side=lambda w: f"--side {SCORES.domain.side}" if w.score == "domain" else "",
        models=lambda w: study.scores.models(w.score),
        pieces=lambda w, input: f"--sentencepiece {input.sentencepiece}" if input.sentencepiece else "",
    shell:
        "python -m scores.{wildcards.score} --input {input.corpus} --shard {params.shard} --sides {params.sides}"
        " {params.side} --models {params.models} {params.pieces} --threads {threads} --output {output.numbers}"
        " 2> >(shown {log})"


# A node of a cluster may have no network; and so the key, an environment variable of this snakemake, goes nowhere else.
if SCORES.embeddings and SCORES.embeddings.address:

    localrules:
        score_embeddings,


rule score_embeddings:
    input:
        corpus=study.paths.unfiltered("{corpus}"),
    output:
        numbers=study.paths.score("{corpus}", "embeddings", "{scatteritem}"),
    log:
        f"{study.folder}/logs/score_embeddings_{{corpus}}_{{scatteritem}}.log",
    benchmark:
        f"{study.folder}/benchmarks/score_embeddings_{{corpus}}_{{scatteritem}}.tsv"
    resources:
        **growing(mem_mb=2000, runtime=requests.minutes("score_embeddings")),
    params:
        shard=lambda w: w.scatteritem.replace("-of-", "/"),
        watched=json.dumps(study.scores.watched() if SCORES.embeddings else {}),
        # Functions of the output are not watched: another address scores nothing again.
        settings=lambda w, output: as_json(SCORES.embeddings),
    shell:
        "python -m scores.embeddings {params.settings:q} --watched {params.watched:q} --input {input.corpus}"
        " --shard {params.shard} --output {output.numbers} 2> >(shown {log})"
