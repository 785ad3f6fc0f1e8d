# One vocabulary for both languages and all systems, from the bilingual training data or an epoch of a mixture.


rule vocabulary:
    input:
        corpora=(
            f"{STUDY}/training/{config['vocabulary']['of']}.1.tsv.zst"
            if config["vocabulary"]["of"]
            else expand(f"{STUDY}/corpora/clean/{{corpus}}.tsv.zst", corpus=CORPORA["train"])
        ),
    output:
        model=f"{STUDY}/vocabulary/sentencepiece.model",
        vocabulary=f"{STUDY}/vocabulary/vocabulary.txt",
    log:
        f"{STUDY}/logs/vocabulary.log",
    benchmark:
        f"{STUDY}/benchmarks/vocabulary.tsv"
    conda:
        "../../environment.yml"
    threads: 2
    resources:
        mem_mb=1000,
        runtime=60,
    params:
        languages=PAIR,
        type=config["vocabulary"]["type"],
        pieces=config["vocabulary"]["pieces"],
        coverage=config["vocabulary"]["character_coverage"],
        sentences=config["vocabulary"]["sentences"],
        seed=config["seed"],
    shell:
        "python -m distill.vocabulary --corpora {input.corpora} --languages {params.languages}"
        " --type {params.type} --pieces {params.pieces}"
        " --character-coverage {params.coverage} --sentences {params.sentences} --seed {params.seed}"
        " --threads {threads} --model {output.model} --vocabulary {output.vocabulary} 2> {log}"


rule encode_dev:
    input:
        corpus=f"{STUDY}/corpora/clean/{DEV}.tsv.zst",
        model=rules.vocabulary.output.model,
    output:
        source=f"{STUDY}/training/dev.source",
        target=f"{STUDY}/training/dev.target",
    log:
        f"{STUDY}/logs/encode_dev.log",
    benchmark:
        f"{STUDY}/benchmarks/encode_dev.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    shell:
        "python -m distill.encode --inputs {input.corpus} --model {input.model} --threads {threads}"
        " --outputs {output.source} {output.target} 2> {log}"
