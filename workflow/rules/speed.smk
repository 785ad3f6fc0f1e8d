# The speed tables of WNGT 2020, timed on this machine: tables 5 (ladder) and 6 (end_to_end) and figure 2 (scaling); and
# an ablation of the native engine (switches). The models are those of the study, with BLEU, and untrained ones of the
# papers' sizes, for their speed only. Untrained ones of every architecture, those that CTranslate2 lacks included, are
# in a table of their own (architectures).

# All but end_to_end and architectures show one system each, as in the paper. `speed` makes those of the first trained system and of the
# first untrained one; others can be asked for by name. The native engine is in all of them where the study has it.
SPEED_FIRST = [*study.speed_trained[:1], *[name for name in study.speed_systems if name in study.untrained][:1]]
SPEED_KINDS = ["ladder", "scaling", *(["switches"] if study.native(*study.speed_systems) else [])]
SPEED_OF_ALL = [
    *(["end_to_end"] if study.speed_systems else []),
    *(["architectures"] if study.untrained else []),
]
SPEED_NAMES = [
    *expand("{kind}.{system}", kind=SPEED_KINDS, system=study.speed_systems),
    *SPEED_OF_ALL,
]
SPEED_TABLES = [
    *expand("{kind}.{system}", kind=SPEED_KINDS, system=SPEED_FIRST),
    *SPEED_OF_ALL,
]
SPEED_OPTIONS = (
    f"--test-sets {study.named_corpora([study.timed_corpus])[0]} --study {config['study']}"
    f" --runs {config['decoding']['runs']} --noise {config['decoding']['noise']}"
    f" {PRICE}"
)


wildcard_constraints:
    timed=one_of(SPEED_NAMES),


rule untrained:
    """A checkpoint of random weights, in the place of a trained one; its translations are as long as the references."""
    input:
        vocabulary=rules.vocabulary.output.vocabulary,
        sentencepiece=rules.vocabulary.output.model,
        test_set=ancient(study.clean(study.timed_corpus)),
    output:
        averaged=directory(study.averaged("{system}")),
        learning=study.learning("{system}"),
    log:
        f"{study.folder}/logs/untrained_{{system}}.log",
    benchmark:
        f"{study.folder}/benchmarks/untrained_{{system}}.tsv"
    wildcard_constraints:
        system=one_of(study.untrained),
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grows(4000),
        runtime=grows(10),
    params:
        shape=lambda w: study.systems[w.system].student,
        seed=lambda w: study.systems[w.system].seed,
    shell:
        "python -m export.untrained --shape {params.shape} --vocabulary {input.vocabulary} --seed {params.seed}"
        " --test-set {input.test_set} --sentencepiece {input.sentencepiece}"
        " --output {output.averaged} --learning {output.learning} > {log} 2>&1"


rule ladder:
    """What each optimisation is worth, one switch after the other."""
    input:
        baseline=study.model("{system}", "opennmt-tf"),
        exact=study.model("{system}", "float32"),
        rounded=study.model("{system}", "int8"),
        native=lambda w: study.native(w.system),
        test_set=ancient(study.clean(study.timed_corpus)),
    output:
        records=f"{study.folder}/speed/ladder.{{system}}.json",
    log:
        f"{study.folder}/logs/ladder_{{system}}.log",
    benchmark:
        f"{study.folder}/benchmarks/ladder_{{system}}.tsv"
    conda:
        "../../environment.yml"
    threads: ALL_CORES
    resources:
        mem_mb=grows(8000),
        runtime=grows(600),
    params:
        options=SPEED_OPTIONS,
        translations=lambda w, output: output.records.removesuffix(".json"),
    shell:
        f"{ALONE}"
        " python -m experiments.ladder --baseline {input.baseline} --exact {input.exact} --rounded {input.rounded}"
        " --native {input.native} {params.options} --translations {params.translations} --output {output.records}"
        " 2> >(shown {log})"


rule end_to_end:
    """The toolkit against all optimisations together, the runs of all systems in turn."""
    input:
        baselines=expand(study.model("{system}", "opennmt-tf"), system=study.speed_systems),
        rounded=expand(study.model("{system}", "int8"), system=study.speed_systems),
        native=study.native(*study.speed_systems),
        exact=expand(study.model("{system}", "float32"), system=study.speed_trained),
        test_set=ancient(study.clean(study.timed_corpus)),
    output:
        records=f"{study.folder}/speed/end_to_end.json",
    log:
        f"{study.folder}/logs/end_to_end.log",
    benchmark:
        f"{study.folder}/benchmarks/end_to_end.tsv"
    conda:
        "../../environment.yml"
    threads: ALL_CORES
    resources:
        mem_mb=grows(8000),
        runtime=grows(600),
    params:
        options=SPEED_OPTIONS,
        translations=lambda w, output: output.records.removesuffix(".json"),
    shell:
        f"{ALONE}"
        " python -m experiments.end_to_end --baselines {input.baselines} --rounded {input.rounded}"
        " --native {input.native} --exact {input.exact} {params.options} --translations {params.translations}"
        " --output {output.records} 2> >(shown {log})"


rule architectures:
    """Untrained models of every architecture, in OpenNMT-tf and in the native engine."""
    input:
        models=study.architecture_models,
        test_set=ancient(study.clean(study.timed_corpus)),
    output:
        records=f"{study.folder}/speed/architectures.json",
    log:
        f"{study.folder}/logs/architectures.log",
    benchmark:
        f"{study.folder}/benchmarks/architectures.tsv"
    conda:
        "../../environment.yml"
    threads: ALL_CORES
    resources:
        mem_mb=grows(8000),
        runtime=grows(600),
    params:
        options=SPEED_OPTIONS,
        translations=lambda w, output: output.records.removesuffix(".json"),
    shell:
        f"{ALONE}"
        " python -m experiments.architectures --models {input.models} {params.options}"
        " --translations {params.translations} --output {output.records} 2> >(shown {log})"


rule scaling:
    """Workers over the file against threads inside the batch."""
    input:
        models=lambda w: [study.model(w.system, "int8"), *study.native(w.system)],
        test_set=ancient(study.clean(study.timed_corpus)),
    output:
        records=f"{study.folder}/speed/scaling.{{system}}.json",
    log:
        f"{study.folder}/logs/scaling_{{system}}.log",
    benchmark:
        f"{study.folder}/benchmarks/scaling_{{system}}.tsv"
    conda:
        "../../environment.yml"
    threads: ALL_CORES
    resources:
        mem_mb=grows(4000),
        runtime=grows(600),
    params:
        options=SPEED_OPTIONS,
        translations=lambda w, output: output.records.removesuffix(".json"),
    shell:
        f"{ALONE}"
        " python -m experiments.scaling --models {input.models} {params.options} --translations {params.translations}"
        " --output {output.records} 2> >(shown {log})"


rule switches:
    """What each part of the native engine is worth: everything but one thing at a time."""
    input:
        model=study.model("{system}", "native-int8"),
        others=lambda w: [
            model for type in study.types if type != "int8" for model in study.native(w.system, type=type)
        ],
        test_set=ancient(study.clean(study.timed_corpus)),
    output:
        records=f"{study.folder}/speed/switches.{{system}}.json",
    log:
        f"{study.folder}/logs/switches_{{system}}.log",
    benchmark:
        f"{study.folder}/benchmarks/switches_{{system}}.tsv"
    conda:
        "../../environment.yml"
    threads: ALL_CORES
    resources:
        mem_mb=grows(4000),
        runtime=grows(600),
    params:
        options=SPEED_OPTIONS,
        translations=lambda w, output: output.records.removesuffix(".json"),
    shell:
        f"{ALONE}"
        " python -m experiments.switches --model {input.model} --others {input.others} {params.options}"
        " --translations {params.translations} --output {output.records} 2> >(shown {log})"


rule speed_scores:
    """BLEU beside the times, where there is any."""
    input:
        records=f"{study.folder}/speed/{{timed}}.json",
        test_set=ancient(study.clean(study.timed_corpus)),
    output:
        records=f"{study.report}/{{timed}}.json",
    log:
        f"{study.folder}/logs/speed_scores_{{timed}}.log",
    benchmark:
        f"{study.folder}/benchmarks/speed_scores_{{timed}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=grows(2000),
        runtime=grows(10),
    params:
        test_sets=study.named_corpora([study.timed_corpus]),
        language=config["target"],
        config_hash=study.hash,
    shell:
        "python -m measure.score --records {input.records} --test-sets {params.test_sets}"
        " --config-hash {params.config_hash} --target-language {params.language} --output {output.records} 2> {log}"


rule speed:
    """The speed tables of the systems under `speed:`: `snakemake --cores all speed --configfile configs/X.yaml`."""
    input:
        lambda w: unless(
            study.speed_problem,
            expand(
                f"{study.report}/{{timed}}.{{format}}",
                timed=SPEED_TABLES,
                format=["md", "svg", "png"],
            ),
        ),
