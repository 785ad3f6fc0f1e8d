# Teachers that are not trained here, and the reverse teacher: put where the trained ones are, as CTranslate2 folders.


rule import_teacher:
    input:
        vocabulary=lambda w: study_vocabulary(IMPORTED[w.system]),
    output:
        folder=directory(f"{STUDY}/systems/{{system}}/imported/{config['distillation']['compute_type']}"),
    log:
        f"{STUDY}/logs/import_{{system}}.log",
    benchmark:
        f"{STUDY}/benchmarks/import_{{system}}.tsv"
    wildcard_constraints:
        system="|".join(map(re.escape, IMPORTED)) or "(?!)",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=16000,
        runtime=600,
    params:
        teacher=lambda w: json.dumps(IMPORTED[w.system]),
    shell:
        "python -m export.import_teacher --teacher {params.teacher:q} --vocabulary {input.vocabulary}"
        " --output {output.folder} 2> {log}"
