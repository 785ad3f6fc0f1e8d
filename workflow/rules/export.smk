# CTranslate2 in every type the study asks for, and model folders that need nothing else. The commands replace a folder
# only by a complete one. Snakemake removes the outputs of a job before it starts and after it fails: then there is none.


rule convert:
    input:
        checkpoint=f"{STUDY}/systems/{{system}}/averaged",
    output:
        folders=[
            directory(f"{STUDY}/systems/{{system}}/converted/{type}")
            for type in sorted({*TYPES, config["distillation"]["compute_type"]})
        ],
    log:
        f"{STUDY}/logs/convert_{{system}}.log",
    benchmark:
        f"{STUDY}/benchmarks/convert_{{system}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    shell:
        "python -m export.convert --checkpoint {input.checkpoint} --outputs {output.folders} 2> {log}"


rule model_folder:
    input:
        weights=f"{STUDY}/systems/{{system}}/converted/{{type}}",
        sentencepiece=rules.vocabulary.output.model,
        map=rules.vocabulary_map.output.map,
        learning=f"{STUDY}/systems/{{system}}/learning.json",
    output:
        model=directory(f"{STUDY}/models/{{system}}/{{type}}"),
    log:
        f"{STUDY}/logs/model_folder_{{system}}_{{type}}.log",
    benchmark:
        f"{STUDY}/benchmarks/model_folder_{{system}}_{{type}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    params:
        description=description,
    shell:
        "python -m export.model_folder --engine ctranslate2 --weights {input.weights} --map {input.map}"
        " --sentencepiece {input.sentencepiece} --learning {input.learning} --quantization {wildcards.type}"
        " --description {params.description:q} --output {output.model} 2> {log}"


rule model_folder_baseline:
    """The averaged checkpoint itself, for the toolkit it was trained with: the baseline of every speed-up."""
    input:
        weights=f"{STUDY}/systems/{{system}}/averaged",
        sentencepiece=rules.vocabulary.output.model,
        learning=f"{STUDY}/systems/{{system}}/learning.json",
    output:
        model=directory(f"{STUDY}/models/{{system}}/opennmt-tf"),
    log:
        f"{STUDY}/logs/model_folder_{{system}}_opennmt-tf.log",
    benchmark:
        f"{STUDY}/benchmarks/model_folder_{{system}}_opennmt-tf.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    params:
        description=description,
    shell:
        "python -m export.model_folder --engine opennmt-tf --weights {input.weights}"
        " --sentencepiece {input.sentencepiece} --learning {input.learning} --quantization float32"
        " --description {params.description:q} --output {output.model} 2> {log}"


rule package:
    """One archive to hand on: `snakemake --cores all results/STUDY/packages/SYSTEM-TYPE.tar.gz`."""
    input:
        model=rules.model_folder.output.model,
        measurements=f"{STUDY}/measurements.json",
    output:
        archive=f"{STUDY}/packages/{{system}}-{{type}}.tar.gz",
    log:
        f"{STUDY}/logs/package_{{system}}_{{type}}.log",
    benchmark:
        f"{STUDY}/benchmarks/package_{{system}}_{{type}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    params:
        corpora=made_of,
        teachers=teachers_option,
    shell:
        "python -m export.package --model {input.model} --measurements {input.measurements} --corpora {params.corpora:q}"
        " {params.teachers} --output {output.archive} 2> {log}"


rule submission:
    """A folder as the shared tasks want it: `snakemake --cores all results/STUDY/submissions/SYSTEM-TYPE`."""
    input:
        model=rules.model_folder.output.model,
    output:
        submission=directory(f"{STUDY}/submissions/{{system}}-{{type}}"),
    log:
        f"{STUDY}/logs/submission_{{system}}_{{type}}.log",
    benchmark:
        f"{STUDY}/benchmarks/submission_{{system}}_{{type}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    shell:
        "python -m export.submission --model {input.model} --output {output.submission} 2> {log}"
