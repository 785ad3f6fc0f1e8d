# Where the gap between teacher and students comes from: every system and seed, scored against references and teacher.


rule outputs:
    input:
        model=lambda w: f"{STUDY}/models/{w.system}/{'opennmt-tf' if SYSTEMS[w.system].shape['cell'] else TYPES[0]}",
        test_sets=ancient(expand(f"{STUDY}/corpora/clean/{{corpus}}.tsv.zst", corpus=CORPORA["test"])),
    output:
        folder=directory(f"{STUDY}/outputs/{{system}}"),
    log:
        f"{STUDY}/logs/outputs_{{system}}.log",
    benchmark:
        f"{STUDY}/benchmarks/outputs_{{system}}.tsv"
    wildcard_constraints:
        system="|".join(map(re.escape, TRAINED)),
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        test_sets=test_sets_option(CORPORA["test"]),
        beam_sizes=BEAMS,
    shell:
        "python -m decode.outputs --model {input.model} --test-sets {params.test_sets} --beam-sizes {params.beam_sizes}"
        " --threads {threads} --output {output.folder} 2> {log}"


rule foreign_outputs:
    """What an ensemble says, or a teacher that was trained elsewhere."""
    input:
        candidates=f"{STUDY}/n-best/{{foreign}}/{{corpus}}/1-of-1.tsv.zst",
    output:
        text=f"{STUDY}/outputs/{{foreign}}/beam{TEACHER_BEAM}.{{corpus}}.txt",
    log:
        f"{STUDY}/logs/outputs_{{foreign}}_{{corpus}}.log",
    benchmark:
        f"{STUDY}/benchmarks/outputs_{{foreign}}_{{corpus}}.tsv"
    wildcard_constraints:
        foreign="|".join(map(re.escape, FOREIGN)) or "(?!)",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    shell:
        "python -m distill.candidates --candidates {input.candidates} --output {output.text} 2> {log}"


rule gap:
    input:
        outputs=[f"{STUDY}/outputs/{name}" for name in TRAINED],
        learned=expand(rules.learned.output.learned, system=TRAINED),
        foreign=expand(rules.foreign_outputs.output.text, foreign=FOREIGN, corpus=CORPORA["test"]),
        test_sets=ancient(expand(f"{STUDY}/corpora/clean/{{corpus}}.tsv.zst", corpus=CORPORA["test"])),
    output:
        gap=f"{REPORT}/gap.json",
    log:
        f"{STUDY}/logs/gap.log",
    benchmark:
        f"{STUDY}/benchmarks/gap.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        systems=json.dumps(shown_systems()),
        teacher=IMITATED,
        teacher_beam=TEACHER_BEAM,
        beam_sizes=BEAMS,
        outputs=lambda w, input: Path(input.outputs[0]).parent,
        test_sets=test_sets_option(CORPORA["test"]),
        language=config["target"],
        config_hash=HASH,
    shell:
        "python -m decode.gap --systems {params.systems:q} --teacher {params.teacher} --teacher-beam {params.teacher_beam} --beam-sizes {params.beam_sizes}"
        " --outputs {params.outputs} --test-sets {params.test_sets} --target-language {params.language}"
        " --learned {input.learned} --config-hash {params.config_hash} --output {output.gap} 2> {log}"


rule gap_table:
    input:
        gap=rules.gap.output.gap,
    output:
        table=f"{REPORT}/gap.md",
    log:
        f"{STUDY}/logs/gap_table.log",
    benchmark:
        f"{STUDY}/benchmarks/gap_table.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    shell:
        "python -m decode.gap_table --gap {input.gap} --output {output.table} 2> {log}"


rule gap_plot:
    input:
        gap=rules.gap.output.gap,
    output:
        picture=report(
            f"{REPORT}/gap.{{picture}}",
            caption="../report/gap.rst",
            category="Distillation",
            labels={"plot": "the gap between teacher and students", "format": "{picture}"},
        ),
    log:
        f"{STUDY}/logs/gap_{{picture}}.log",
    benchmark:
        f"{STUDY}/benchmarks/gap_{{picture}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    shell:
        "python -m decode.gap_plot --gap {input.gap} --output {output.picture} 2> {log}"


rule explain:
    """Only what explains the gap, nothing is timed: `snakemake --cores all explain --configfile configs/X.yaml`."""
    input:
        [rules.gap_table.output, *expand(rules.gap_plot.output.picture, picture=["svg", "png"])] if IMITATED else [],
        f"{REPORT}/training.md",
        expand(f"{REPORT}/learning.{{picture}}", picture=["svg", "png"]),
