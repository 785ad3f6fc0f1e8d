# A first front, long before the whole: of the systems that learn from the original pairs, which need no translations.
# Each is timed once as soon as it is trained, beside whatever else runs, and without a map, of which there is none yet: a
# coarse picture, which says so. Controls are smaller than teachers and done before them. The report's front replaces it.

FIRST = [name for name in TRANSFORMERS if SYSTEMS[name].role == "control"] or [
    name for name in TRANSFORMERS if SYSTEMS[name].role == "teacher"
]
FIRST_TYPES = [type for type in ("float32", "int8") if type in TYPES] or TYPES[:1]


rule first_model:
    input:
        weights=f"{STUDY}/systems/{{system}}/converted/{{type}}",
        sentencepiece=rules.vocabulary.output.model,
        learning=f"{STUDY}/systems/{{system}}/learning.json",
    output:
        model=temp(directory(f"{STUDY}/first/models/{{system}}/{{type}}")),
    log:
        f"{STUDY}/logs/first_model_{{system}}_{{type}}.log",
    benchmark:
        f"{STUDY}/benchmarks/first_model_{{system}}_{{type}}.tsv"
    priority: 30
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    params:
        description=description,
    shell:
        "python -m export.model_folder --engine ctranslate2 --weights {input.weights}"
        " --sentencepiece {input.sentencepiece} --learning {input.learning} --quantization {wildcards.type}"
        " --description {params.description:q} --output {output.model} 2> {log}"


rule first_benchmark:
    input:
        models=lambda w: expand(f"{STUDY}/first/models/{w.system}/{{type}}", type=FIRST_TYPES),
        test_set=ancient(f"{STUDY}/corpora/clean/{TIMED}.tsv.zst"),
    output:
        records=f"{STUDY}/first/{{system}}.json",
    log:
        f"{STUDY}/logs/first_benchmark_{{system}}.log",
    benchmark:
        f"{STUDY}/benchmarks/first_benchmark_{{system}}.tsv"
    priority: 30
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        test_set=test_sets_option([TIMED]),
        beam_sizes=config["decoding"]["beam_sizes"],
        cores=config["decoding"]["cores"],
        batch_tokens=config["decoding"]["batch_tokens"],
        study=config["study"],
        translations=f"{STUDY}/first/{{system}}",
    shell:
        "python -m decode.benchmark --models {input.models} --test-sets {params.test_set}"
        " --beam-sizes {params.beam_sizes} --runs 1 --cores {params.cores} --batch-tokens {params.batch_tokens}"
        " --noise 1 --study {params.study} --translations {params.translations} --output {output.records} 2> >(tee {log} >&2)"


rule first_score:
    input:
        records=expand(rules.first_benchmark.output.records, system=FIRST),
        test_set=ancient(f"{STUDY}/corpora/clean/{TIMED}.tsv.zst"),
    output:
        measurements=f"{STUDY}/first/measurements.json",
    log:
        f"{STUDY}/logs/first_score.log",
    benchmark:
        f"{STUDY}/benchmarks/first_score.tsv"
    priority: 30
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        test_set=test_sets_option([TIMED]),
        language=config["target"],
        config_hash=HASH,
    shell:
        "python -m decode.score --records {input.records} --test-sets {params.test_set} --config-hash {params.config_hash}"
        " --target-language {params.language} --output {output.measurements} 2> {log}"


rule first_front:
    """A first front: `snakemake --cores all first_front`, part of `make demo`."""
    input:
        measurements=rules.first_score.output.measurements,
    output:
        picture=f"{STUDY}/first/front.png",
    log:
        f"{STUDY}/logs/first_front.log",
    benchmark:
        f"{STUDY}/benchmarks/first_front.tsv"
    priority: 30
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        test_set=TIMED,
    shell:
        "python -m decode.front_plot --measurements {input.measurements} --test-set {params.test_set}"
        " --remark 'Timed beside other jobs, for a first look.' --output {output.picture} 2> {log} && echo 'A first front: {output.picture}' >&2"
