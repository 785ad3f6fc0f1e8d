# How systems translate what people write: capitals, typos, URLs. `snakemake --cores all robustness --configfile X.yaml`

ROBUSTNESS = study.config.robustness


rule perturbed:
    """Perturbed versions of the first test set, also where `all` does not need them: `snakemake --cores all perturbed`."""
    input:
        test_set=study.paths.clean(study.corpora.timed),
    output:
        folder=directory(f"{study.folder}/robustness/inputs"),
    log:
        f"{study.folder}/logs/perturbed.log",
    benchmark:
        f"{study.folder}/benchmarks/perturbed.tsv"
    resources:
        **growing(mem_mb=500, runtime=10),
    params:
        languages=study.pair,
        seed=study.config.seed,
        sentences=f"--sentences {ROBUSTNESS.sentences}" if ROBUSTNESS and ROBUSTNESS.sentences else "",
    shell:
        "python -m measure.perturb --test-set {input.test_set} --languages {params.languages} --seed {params.seed}"
        " {params.sentences} --output {output.folder} 2> {log}"


rule translate_perturbed:
    """Translate and score them; the translations are left to read."""
    input:
        models=study.robustness.folders,
        inputs=rules.perturbed.output.folder,
    output:
        json=f"{study.report}/robustness.json",
        translations=directory(f"{study.folder}/robustness/translations"),
    log:
        f"{study.folder}/logs/translate_perturbed.log",
    benchmark:
        f"{study.folder}/benchmarks/translate_perturbed.tsv"
    threads: 2
    resources:
        **growing(mem_mb=4000, runtime=120),
    params:
        test_set=study.corpora.timed,
        languages=study.pair,
        seed=study.config.seed,
        config_hash=study.hash,
        beam_sizes=ROBUSTNESS.beam_sizes if ROBUSTNESS else [],
        protected=f"--protected {' '.join(study.robustness.protected)}" if study.robustness.protected else "",
        vocabulary_map="" if ROBUSTNESS is None or ROBUSTNESS.vocabulary_map else "--no-vocabulary-map",
    shell:
        "python -m measure.robustness --models {input.models} --inputs {input.inputs} --test-set {params.test_set}"
        " --languages {params.languages} --seed {params.seed} --beam-sizes {params.beam_sizes} {params.vocabulary_map}"
        " {params.protected}"
        " --threads {threads} --config-hash {params.config_hash} --translations {output.translations}"
        " --output {output.json} 2> >(shown {log})"


rule robustness:
    input:
        lambda w: unless(
            study.robustness.problem, expand(f"{study.report}/robustness.{{format}}", format=["md", "svg", "png"])
        ),
