# Teachers that are not trained here, for the engine that distils.
from study.systems import teacher_entry, teacher_paths


rule import_teacher:
    input:
        files=lambda w: list(filter(os.path.exists, teacher_paths(teacher_entry(study.config, w.system)))),  # a dry run goes on without
        vocabulary=lambda w: study.teachers.vocabulary_for(w.system),
    output:
        folder=directory(study.paths.imported_model("{system}", study.teachers.imported_format)),
    log:
        f"{study.folder}/logs/import_{{system}}.log",
    benchmark:
        f"{study.folder}/benchmarks/import_{{system}}.tsv"
    wildcard_constraints:
        system=one_of(study.teachers.imported),
    resources:
        **growing(mem_mb=16000, runtime=600),
    params:
        teacher=lambda w: json.dumps(study.teachers.imported[w.system]),
    shell:
        "python -m export.import_teacher --teacher {params.teacher:q} --vocabulary {input.vocabulary}"
        " --output {output.folder} 2> {log}"
