# A first front, long before the study is done. It has only systems that need no translations and no other training:
# controls, which are smaller than teachers and trained before them, else teachers. Each is timed once as soon as it is
# trained, beside whatever else runs and without a vocabulary map, as the picture notes. The report's front replaces it.

FREE = {name for name in study.models.transformers if not study.systems[name].start_from}
FIRST = [name for name in study.models.transformers if name in FREE and study.systems[name].role == "control"] or [
    name for name in study.models.transformers if study.systems[name].role == "teacher"
]
NO_FIRST = None if FIRST else "first_front: CTranslate2 decodes no control and no teacher that is trained here"
FIRST_TYPES = [type for type in ("float32", "int8") if type in study.models.types] or study.models.types[:1]


rule first_model:
    input:
        weights=study.paths.converted("{system}", "{type}"),
        sentencepiece=rules.vocabulary.output.model,
        learning=study.paths.learning("{system}"),
    output:
        model=temp(directory(f"{study.folder}/first/models/{{system}}/{{type}}")),
    log:
        f"{study.folder}/logs/first_model_{{system}}_{{type}}.log",
    benchmark:
        f"{study.folder}/benchmarks/first_model_{{system}}_{{type}}.tsv"
    priority: 30
    resources:
        **growing(mem_mb=500, runtime=10),
    params:
        description=lambda w: json.dumps(study.description(w.system)),
    shell:
        "python -m export.model_folder --engine ctranslate2 --weights {input.weights}"
        " --sentencepiece {input.sentencepiece} --learning {input.learning} --quantization {wildcards.type}"
        " --description {params.description:q} --output {output.model} 2> {log}"


rule first_benchmark:
    input:
        models=lambda w: expand(f"{study.folder}/first/models/{w.system}/{{type}}", type=FIRST_TYPES),
        test_set=study.paths.clean(study.corpora.timed),
    output:
        records=f"{study.folder}/first/{{system}}.json",
    log:
        f"{study.folder}/logs/first_benchmark_{{system}}.log",
    benchmark:
        f"{study.folder}/benchmarks/first_benchmark_{{system}}.tsv"
    priority: 30
    resources:
        **growing(mem_mb=4000, runtime=60),
    params:
        test_set=study.paths.named_corpora([study.corpora.timed]),
        beam_sizes=study.config.decoding.beam_sizes,
        cores=study.config.decoding.cores,
        batch_tokens=study.config.decoding.batch_tokens,
        study=study.name,
        translations=f"{study.folder}/first/{{system}}",
    shell:
        "python -m measure.benchmark --models {input.models} --test-sets {params.test_set}"
        " --beam-sizes {params.beam_sizes} --runs 1 --cores {params.cores} --batch-tokens {params.batch_tokens}"
        " --noise 1 --study {params.study} --translations {params.translations} --output {output.records}"
        " 2> >(shown {log})"


rule first_score:
    input:
        records=expand(rules.first_benchmark.output.records, system=FIRST),
        test_set=study.paths.clean(study.corpora.timed),
    output:
        measurements=f"{study.folder}/first/measurements.json",
    log:
        f"{study.folder}/logs/first_score.log",
    benchmark:
        f"{study.folder}/benchmarks/first_score.tsv"
    priority: 30
    resources:
        **growing(mem_mb=2000, runtime=60),
    params:
        test_set=study.paths.named_corpora([study.corpora.timed]),
        language=study.config.target,
        config_hash=study.hash,
    shell:
        "python -m measure.score --records {input.records} --test-sets {params.test_set}"
        " --config-hash {params.config_hash} --target-language {params.language} --output {output.measurements}"
        " 2> {log}"


rule first_front:
    """A first front: `snakemake --cores all first_front`, part of `make demo`."""
    input:
        measurements=lambda w: unless(NO_FIRST, rules.first_score.output.measurements),
    output:
        picture=f"{study.folder}/first/front.png",
    log:
        f"{study.folder}/logs/first_front.log",
    benchmark:
        f"{study.folder}/benchmarks/first_front.tsv"
    priority: 30
    resources:
        **growing(mem_mb=1000, runtime=10),
    shell:
        "python -m report front_speed --input {input.measurements}"
        " --remark 'Timed beside other jobs, for a first look.' --output {output.picture} 2> {log}"
        " && echo 'A first front: {output.picture}' >&2"
