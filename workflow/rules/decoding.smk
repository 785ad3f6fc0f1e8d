# Decode, time and score all systems in every type. The benchmark takes all cores, so that nothing runs beside it.


rule benchmark:
    """All model folders in turn, a process for each run; the records have no scores yet."""
    input:
        models=[
            study.paths.model(system, format)
            for system in study.systems.measured
            for format in study.models.timed(system)
        ],
        test_sets=expand(study.paths.clean("{corpus}"), corpus=[*study.corpora.test, study.corpora.dev]),
    output:
        records=f"{study.folder}/decoding/measured.json",
    log:
        f"{study.folder}/logs/benchmark.log",
    benchmark:
        f"{study.folder}/benchmarks/benchmark.tsv"
    threads: ALL_CORES
    resources:
        **growing(mem_mb=4000, runtime=requests.minutes("benchmark")),
    params:
        test_sets=study.paths.named_corpora(study.corpora.test),
        dev=study.paths.named_corpora([study.corpora.dev]),
        # Options whole: Snakemake compares sets of values, in which two that changed places would be the same.
        numbers=[
            f"--{name.replace('_', '-')} {' '.join(map(str, value if isinstance(value, list) else [value]))}"
            for name in ("beam_sizes", "runs", "cores", "batch_tokens", "workers", "noise")
            for value in [getattr(study.config.decoding, name)]
        ],
        price=PRICE,
        study=study.name,
        translations=f"{study.folder}/decoding/translations",
    shell:
        f"{ALONE}"
        " python -m measure.benchmark --models {input.models} --test-sets {params.test_sets} --dev {params.dev}"
        " --baseline-beam-sizes 4 --sentence-by-sentence {params.numbers} {params.price}"
        " --study {params.study} --translations {params.translations} --output {output.records} 2> >(shown {log})"


rule comet:
    """COMET of all translations, by a program of another environment (src/findings/metrics.py)."""
    input:
        translated=rules.benchmark.output.records,
        test_sets=expand(study.paths.clean("{corpus}"), corpus=study.corpora.test),
    output:
        scores=f"{study.folder}/decoding/comet.json",
    log:
        f"{study.folder}/logs/comet.log",
    benchmark:
        f"{study.folder}/benchmarks/comet.tsv"
    threads: 4
    resources:
        **growing(mem_mb=8000, runtime=720),
    params:
        checkpoint=METRICS and METRICS.comet,
        program=METRICS and METRICS.comet_score,
        test_sets=study.paths.named_corpora(study.corpora.test),
        translations=lambda w, input: f"--records {input.translated}",
    shell:
        "python -m measure.comet --checkpoint {params.checkpoint:q} --program {params.program:q}"
        " --test-sets {params.test_sets} {params.translations} --output {output.scores} 2> >(shown {log})"


rule score:
    """BLEU and chrF with signatures; paired bootstrap of each system against the teacher, and of twins."""
    input:
        records=rules.benchmark.output.records,
        learned=expand(rules.learned.output.learned, system=study.systems.measured),
        comet=rules.comet.output.scores if METRICS else [],
        test_sets=expand(study.paths.clean("{corpus}"), corpus=[*study.corpora.test, study.corpora.dev]),
    output:
        measurements=report(
            f"{study.folder}/measurements.json",
            caption="../report/measurements.rst",
            category="Tables",
            labels={"table": "all measurements, JSON"},
        ),
    log:
        f"{study.folder}/logs/score.log",
    benchmark:
        f"{study.folder}/benchmarks/score.tsv"
    resources:
        **growing(mem_mb=2000, runtime=60),
    params:
        test_sets=study.paths.named_corpora(study.corpora.test),
        dev=study.paths.named_corpora([study.corpora.dev]),
        language=study.config.target,
        config_hash=study.hash,
        teacher=f"--teacher {study.teachers.reference}" if study.teachers.reference else "",
    shell:
        "python -m measure.score --records {input.records} --test-sets {params.test_sets}"
        " --config-hash {params.config_hash} {params.teacher} --dev {params.dev} --learned {input.learned}"
        f"{COMET}"
        " --target-language {params.language} --output {output.measurements} 2> {log}"
