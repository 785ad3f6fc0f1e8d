# Where the gap between teacher and students comes from: every system and seed, scored against references and teacher.

import itertools

GAP = study.comparison


rule outputs:
    """The translations of a system with every beam; nothing is timed."""
    input:
        model=lambda w: study.paths.model(w.system, study.models.quick_format(w.system)),
        test_sets=expand(study.paths.clean("{corpus}"), corpus=study.corpora.test),
    output:
        folder=directory(f"{study.folder}/outputs/{{system}}"),
    log:
        f"{study.folder}/logs/outputs_{{system}}.log",
    benchmark:
        f"{study.folder}/benchmarks/outputs_{{system}}.tsv"
    wildcard_constraints:
        system=one_of(study.systems.trained),
    resources:
        **growing(mem_mb=2000, runtime=60),
    params:
        test_sets=study.paths.named_corpora(study.corpora.test),
        beam_sizes=GAP.beam_sizes,
    shell:
        "python -m measure.test_sets --model {input.model} --test-sets {params.test_sets}"
        " --beam-sizes {params.beam_sizes} --threads {threads} --output {output.folder} 2> >(shown {log})"


rule foreign_outputs:
    """The translations of an ensemble, or of a teacher from elsewhere."""
    input:
        candidates=f"{study.folder}/n-best/{{foreign}}/{{corpus}}/1-of-1.tsv.zst",
    output:
        text=f"{study.folder}/outputs/{{foreign}}/beam{GAP.teacher_beam}.{{corpus}}.txt",
    log:
        f"{study.folder}/logs/outputs_{{foreign}}_{{corpus}}.log",
    benchmark:
        f"{study.folder}/benchmarks/outputs_{{foreign}}_{{corpus}}.tsv"
    wildcard_constraints:
        foreign=one_of(study.teachers.foreign),
    resources:
        **growing(mem_mb=500, runtime=10),
    shell:
        "python -m distill.n_best_lists --input {input.candidates} --output {output.text} 2> {log}"


# What COMET scores here: the test set, and the file of the translations.
GAP_OUTPUTS = [
    f"{corpus}={study.folder}/outputs/{system}/beam{beam}.{corpus}.txt"
    for corpus in study.corpora.test
    for systems, beams in ((study.systems.trained, GAP.beam_sizes), (study.teachers.foreign, [GAP.teacher_beam]))
    for system, beam in itertools.product(systems, beams)
]


use rule comet as comet_gap with:
    input:
        translated=[f"{study.folder}/outputs/{name}" for name in study.systems.trained],
        foreign=expand(rules.foreign_outputs.output.text, foreign=study.teachers.foreign, corpus=study.corpora.test),
        test_sets=expand(study.paths.clean("{corpus}"), corpus=study.corpora.test),
    output:
        scores=f"{study.folder}/outputs/comet.json",
    log:
        f"{study.folder}/logs/comet_gap.log",
    benchmark:
        f"{study.folder}/benchmarks/comet_gap.tsv"
    params:
        checkpoint=METRICS and METRICS.comet,
        program=METRICS and METRICS.comet_score,
        test_sets=study.paths.named_corpora(study.corpora.test),
        translations=["--outputs", *GAP_OUTPUTS],


rule gap:
    input:
        outputs=[f"{study.folder}/outputs/{name}" for name in study.systems.trained],
        learned=expand(rules.learned.output.learned, system=study.systems.trained),
        foreign=expand(rules.foreign_outputs.output.text, foreign=study.teachers.foreign, corpus=study.corpora.test),
        comet=rules.comet_gap.output.scores if METRICS else [],
        test_sets=expand(study.paths.clean("{corpus}"), corpus=study.corpora.test),
    output:
        gap=f"{study.report}/gap.json",
    log:
        f"{study.folder}/logs/gap.log",
    benchmark:
        f"{study.folder}/benchmarks/gap.tsv"
    resources:
        **growing(mem_mb=2000, runtime=60),
    params:
        task=as_json(GAP),
        outputs=lambda w, input: Path(input.outputs[0]).parent,
        test_sets=study.paths.named_corpora(study.corpora.test),
    shell:
        "python -m measure.teacher_student {params.task:q} --outputs {params.outputs} --test-sets {params.test_sets}"
        " --learned {input.learned}"
        f"{COMET}"
        " --output {output.gap} 2> {log}"


rule explain:
    """Only what explains the gap, nothing is timed: `snakemake --cores all explain --configfile configs/X.yaml`."""
    input:
        expand(f"{study.report}/gap.{{format}}", format=["md", "svg", "png"]) if study.teachers.imitated else [],
        expand(
            f"{study.report}/{{file}}",
            file=["training.md", "learning.svg", "learning.png"],
        ),
