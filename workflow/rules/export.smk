# CTranslate2 models in every type of the study, and model folders that need nothing else. The commands replace a folder
# by a complete one only. Snakemake removes the outputs of a job before it starts and after it fails.


rule convert:
    """One type, so that a further type makes none of the others anew, and no teacher translates again.

    Only float32 and the type that teachers translate in come from the checkpoint, which needs TensorFlow; the others
    are made of float32.
    """
    input:
        model=lambda w: study.models.source(w.system, w.type),
    output:
        folder=directory(study.paths.converted("{system}", "{type}")),
    log:
        f"{study.folder}/logs/convert_{{system}}_{{type}}.log",
    benchmark:
        f"{study.folder}/benchmarks/convert_{{system}}_{{type}}.tsv"
    wildcard_constraints:
        type=one_of(study.models.converted_types),
    resources:
        **growing(mem_mb=2000, runtime=60),
    shell:
        "python -m export.convert --checkpoint {input.model} --outputs {output.folder} 2> {log}"


rule model_folder:
    input:
        weights=study.paths.converted("{system}", "{type}"),
        sentencepiece=rules.vocabulary.output.model,
        map=rules.vocabulary_map.output.map,
        learning=study.paths.learning("{system}"),
    output:
        model=directory(study.paths.model("{system}", "{type}")),
    log:
        f"{study.folder}/logs/model_folder_{{system}}_{{type}}.log",
    benchmark:
        f"{study.folder}/benchmarks/model_folder_{{system}}_{{type}}.tsv"
    resources:
        **growing(mem_mb=500, runtime=10),
    params:
        description=lambda w: json.dumps(study.description(w.system)),
    shell:
        "python -m export.model_folder --engine ctranslate2 --weights {input.weights} --map {input.map}"
        " --sentencepiece {input.sentencepiece} --learning {input.learning} --quantization {wildcards.type}"
        " --description {params.description:q} --output {output.model} 2> {log}"


rule convert_native:
    """Of CTranslate2's float32 weights, so that both engines decode the same, or of the checkpoint of what it lacks."""
    input:
        model=lambda w: study.models.native_source(w.system),
    output:
        folder=directory(study.paths.converted_native("{system}", "{native}")),
    log:
        f"{study.folder}/logs/convert_native_{{system}}_{{native}}.log",
    benchmark:
        f"{study.folder}/benchmarks/convert_native_{{system}}_{{native}}.tsv"
    wildcard_constraints:
        native=one_of(study.models.native_types),
    resources:
        **growing(mem_mb=2000, runtime=60),
    shell:
        "python -m export.native --model {input.model} --outputs {output.folder} 2> {log}"


rule model_folder_native:
    input:
        weights=study.paths.converted_native("{system}", "{native}"),
        sentencepiece=rules.vocabulary.output.model,
        map=rules.vocabulary_map.output.map,
        learning=study.paths.learning("{system}"),
    output:
        model=directory(study.paths.model("{system}", "native-{native}")),
    log:
        f"{study.folder}/logs/model_folder_{{system}}_native-{{native}}.log",
    benchmark:
        f"{study.folder}/benchmarks/model_folder_{{system}}_native-{{native}}.tsv"
    wildcard_constraints:
        native=one_of(study.models.native_types),
    resources:
        **growing(mem_mb=500, runtime=10),
    params:
        description=lambda w: json.dumps(study.description(w.system)),
    shell:
        "python -m export.model_folder --engine native --weights {input.weights} --map {input.map}"
        " --sentencepiece {input.sentencepiece} --learning {input.learning} --quantization {wildcards.native}"
        " --description {params.description:q} --output {output.model} 2> {log}"


rule model_folder_baseline:
    """The averaged checkpoint itself, for the toolkit it was trained with: the baseline of every speed-up."""
    input:
        weights=study.paths.averaged("{system}"),
        sentencepiece=rules.vocabulary.output.model,
        learning=study.paths.learning("{system}"),
    output:
        model=directory(study.paths.model("{system}", "opennmt-tf")),
    log:
        f"{study.folder}/logs/model_folder_{{system}}_opennmt-tf.log",
    benchmark:
        f"{study.folder}/benchmarks/model_folder_{{system}}_opennmt-tf.tsv"
    resources:
        **growing(mem_mb=500, runtime=10),
    params:
        description=lambda w: json.dumps(study.description(w.system)),
    shell:
        "python -m export.model_folder --engine opennmt-tf --weights {input.weights}"
        " --sentencepiece {input.sentencepiece} --learning {input.learning} --quantization float32"
        " --description {params.description:q} --output {output.model} 2> {log}"


rule package:
    """One archive to share: `snakemake --cores all results/STUDY/packages/SYSTEM-TYPE.tar.gz`."""
    input:
        model=study.paths.model("{system}", "{type}"),
        measurements=f"{study.folder}/measurements.json",
    output:
        archive=f"{study.folder}/packages/{{system}}-{{type}}.tar.gz",
    log:
        f"{study.folder}/logs/package_{{system}}_{{type}}.log",
    benchmark:
        f"{study.folder}/benchmarks/package_{{system}}_{{type}}.tsv"
    wildcard_constraints:
        system=one_of(study.systems.measured),  # a package contains its speed
        type=one_of(study.models.submitted_types),
    resources:
        **growing(mem_mb=500, runtime=10),
    params:
        corpora=lambda w: json.dumps(study.corpora_of(w.system)),
        teachers=lambda w: (
            ["--teachers", *study.mixtures.teachers_of(w.system)] if study.mixtures.teachers_of(w.system) else []
        ),
    shell:
        "python -m export.package --model {input.model} --measurements {input.measurements}"
        " --corpora {params.corpora:q} {params.teachers} --output {output.archive} 2> {log}"


rule submission:
    """A folder as the shared tasks require it: `snakemake --cores all results/STUDY/submissions/SYSTEM-TYPE`."""
    input:
        model=study.paths.model("{system}", "{type}"),
    output:
        submission=directory(f"{study.folder}/submissions/{{system}}-{{type}}"),
    log:
        f"{study.folder}/logs/submission_{{system}}_{{type}}.log",
    benchmark:
        f"{study.folder}/benchmarks/submission_{{system}}_{{type}}.tsv"
    wildcard_constraints:
        type=one_of(study.models.submitted_types),
    resources:
        **growing(mem_mb=2000, runtime=30),
    shell:
        "python -m export.submission --model {input.model} --output {output.submission} 2> {log}"


rule image:
    """The same as an image: `snakemake --cores all results/STUDY/images/SYSTEM-TYPE.cpu.tar`, or `.gpu.tar`."""
    input:
        model=study.paths.model("{system}", "{type}"),
    output:
        image=f"{study.folder}/images/{{system}}-{{type}}.{{hardware}}.tar",
        sizes=f"{study.folder}/images/{{system}}-{{type}}.{{hardware}}.SIZES.md",
    log:
        f"{study.folder}/logs/image_{{system}}_{{type}}_{{hardware}}.log",
    benchmark:
        f"{study.folder}/benchmarks/image_{{system}}_{{type}}_{{hardware}}.tsv"
    wildcard_constraints:
        type=one_of(study.models.submitted_types),
        hardware=one_of(["cpu", "gpu"]),
    resources:
        **growing(mem_mb=2000, runtime=60),
    shell:
        "python -m export.image --model {input.model} --hardware {wildcards.hardware} --output {output.image} 2> {log}"
