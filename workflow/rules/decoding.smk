# All systems, in every type, decoded, timed and scored. The benchmark takes all cores, so that nothing runs beside it.


rule benchmark:
    input:
        models=[f"{STUDY}/models/{system}/{format}" for system in MEASURED for format in formats(system)],
        test_sets=ancient(expand(f"{STUDY}/corpora/clean/{{corpus}}.tsv.zst", corpus=[*CORPORA["test"], DEV])),
    output:
        records=f"{STUDY}/decoding/measured.json",
    log:
        f"{STUDY}/logs/benchmark.log",
    benchmark:
        f"{STUDY}/benchmarks/benchmark.tsv"
    conda:
        "../../environment.yml"
    threads: ALL_CORES
    resources:
        mem_mb=4000,
        runtime=180 * max(1, len(MEASURED)),
    params:
        test_sets=test_sets_option(CORPORA["test"]),
        dev=test_sets_option([DEV]),
        beam_sizes=config["decoding"]["beam_sizes"],
        runs=config["decoding"]["runs"],
        cores=config["decoding"]["cores"],
        batch_tokens=config["decoding"]["batch_tokens"],
        workers=config["decoding"]["workers"],
        price=PRICE,
        noise=config["decoding"]["noise"],
        study=config["study"],
        translations=f"{STUDY}/decoding/translations",
    shell:
        "python -m decode.benchmark --models {input.models} --test-sets {params.test_sets} --dev {params.dev}"
        " --beam-sizes {params.beam_sizes} --baseline-beam-sizes 4 --runs {params.runs} --cores {params.cores}"
        " --batch-tokens {params.batch_tokens} --workers {params.workers} {params.price}"
        " --noise {params.noise}"
        " --study {params.study} --translations {params.translations} --output {output.records} 2> >(tee {log} >&2)"


# An ensemble is not timed, nor is a teacher from elsewhere: then the first one that is.
REFERENCE = IMITATED if IMITATED in MEASURED else next((name for name in TEACHERS if name in MEASURED), None)


rule score:
    """BLEU and chrF with signatures; paired bootstrap against the teacher and of the distilled against the control."""
    input:
        records=rules.benchmark.output.records,
        learned=expand(rules.learned.output.learned, system=MEASURED),
        test_sets=ancient(expand(f"{STUDY}/corpora/clean/{{corpus}}.tsv.zst", corpus=[*CORPORA["test"], DEV])),
    output:
        measurements=report(
            f"{STUDY}/measurements.json",
            caption="../report/measurements.rst",
            category="Tables",
            labels={"table": "all measurements, JSON"},
        ),
    log:
        f"{STUDY}/logs/score.log",
    benchmark:
        f"{STUDY}/benchmarks/score.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        test_sets=test_sets_option(CORPORA["test"]),
        dev=test_sets_option([DEV]),
        language=config["target"],
        config_hash=HASH,
        teacher=f"--teacher {REFERENCE}" if REFERENCE else "",
    shell:
        "python -m decode.score --records {input.records} --test-sets {params.test_sets} --config-hash {params.config_hash}"
        " {params.teacher} --dev {params.dev} --learned {input.learned}"
        " --target-language {params.language} --output {output.measurements} 2> {log}"
