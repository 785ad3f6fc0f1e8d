# The speed tables of WNGT 2020, timed on this machine: tables 5 (ladder) and 6 (end_to_end) and figure 2 (scaling); and
# an ablation of the native engine (switches). The models are those of the study, with BLEU, and untrained ones of the
# papers' sizes, for their speed only. Where CTranslate2 does not run a system, the native engine stands in. Untrained
# ones of every architecture are in one table, too (architectures). Recurrent systems with fully connected layers on top
# have a ladder of their own, that of Devlin 2017 (identities).

# All but end_to_end and architectures show one system each, as in the paper. `speed` makes those of the first trained
# system and of the first untrained one; others can be asked for by name. The native engine is in all of them where the
# study has it.
SPEED_FIRST = [*study.speed.trained[:1], *[name for name in study.speed.systems if name in study.systems.untrained][:1]]
SPEED_KINDS = {"ladder": study.models.optimised, "scaling": study.models.optimised, "switches": study.models.native}
SPEED_OF_ALL = [
    *(["end_to_end"] if study.speed.systems else []),
    *(["architectures"] if study.systems.untrained else []),
]
SPEED_NAMES = [
    *[f"{kind}.{system}" for kind, models in SPEED_KINDS.items() for system in study.speed.systems if models(system)],
    *expand("identities.{system}", system=study.speed.fully_connected),
    *SPEED_OF_ALL,
]
SPEED_TABLES = [
    *[f"{kind}.{system}" for kind, models in SPEED_KINDS.items() for system in SPEED_FIRST if models(system)],
    *expand("identities.{system}", system=study.speed.fully_connected[:1]),
    *SPEED_OF_ALL,
]
SPEED_OPTIONS = (
    f"--test-sets {study.paths.named_corpora([study.corpora.timed])[0]} --study {study.name}"
    f" --runs {study.config.decoding.runs} --noise {study.config.decoding.noise}"
    f" {PRICE}"
)
if study.config.speed.sentences:
    SPEED_OPTIONS += f" --sentences {study.config.speed.sentences}"


wildcard_constraints:
    timed=one_of(SPEED_NAMES),


rule untrained:
    """A checkpoint of random weights, in the place of a trained one; its translations are as long as the references."""
    input:
        vocabulary=rules.vocabulary.output.vocabulary,
        sentencepiece=rules.vocabulary.output.model,
        test_set=study.paths.clean(study.corpora.timed),
    output:
        averaged=directory(study.paths.averaged("{system}")),
        learning=study.paths.learning("{system}"),
    log:
        f"{study.folder}/logs/untrained_{{system}}.log",
    benchmark:
        f"{study.folder}/benchmarks/untrained_{{system}}.tsv"
    wildcard_constraints:
        system=one_of(study.systems.untrained),
    resources:
        **growing(mem_mb=4000, runtime=10),
    params:
        shape=lambda w: json.dumps(study.systems[w.system].shape),
        seed=lambda w: study.systems[w.system].seed,
    shell:
        "python -m export.untrained --shape {params.shape:q} --vocabulary {input.vocabulary} --seed {params.seed}"
        " --test-set {input.test_set} --sentencepiece {input.sentencepiece}"
        " --output {output.averaged} --learning {output.learning} > {log} 2>&1"


rule ladder:
    """The gain of each optimisation, one switch after the other. The experiments below are made in the same way."""
    input:
        baseline=study.paths.model("{system}", "opennmt-tf"),
        models=lambda w: study.speed.ladder(w.system),
        test_set=study.paths.clean(study.corpora.timed),
    output:
        records=f"{study.folder}/speed/ladder.{{system}}.json",
    log:
        f"{study.folder}/logs/ladder_{{system}}.log",
    benchmark:
        f"{study.folder}/benchmarks/ladder_{{system}}.tsv"
    threads: ALL_CORES
    resources:
        **growing(mem_mb=8000, runtime=600),
    params:
        experiment="ladder",
        models=lambda w, input: f"--baseline {input.baseline} --models {input.models}",
        options=SPEED_OPTIONS,
        translations=lambda w, output: output.records.removesuffix(".json"),
    shell:
        f"{ALONE}"
        " python -m experiments.{params.experiment} {params.models}"
        " {params.options} --translations {params.translations} --output {output.records}"
        " 2> >(shown {log})"


# The toolkit against all optimisations together, the runs of all systems in turn.
use rule ladder as end_to_end with:
    input:
        models=[
            *expand(study.paths.model("{system}", "opennmt-tf"), system=study.speed.systems),
            *study.models.optimised(*study.speed.systems),
        ],
        exact=study.models.exact(*study.speed.trained),
        test_set=study.paths.clean(study.corpora.timed),
    output:
        records=f"{study.folder}/speed/end_to_end.json",
    log:
        f"{study.folder}/logs/end_to_end.log",
    benchmark:
        f"{study.folder}/benchmarks/end_to_end.tsv"
    params:
        experiment="end_to_end",
        models=lambda w, input: f"--models {input.models} --exact {input.exact}",
        options=SPEED_OPTIONS,
        translations=lambda w, output: output.records.removesuffix(".json"),


# Untrained models of every architecture, in OpenNMT-tf and in the native engine.
use rule ladder as architectures with:
    input:
        models=study.speed.architectures,
        test_set=study.paths.clean(study.corpora.timed),
    output:
        records=f"{study.folder}/speed/architectures.json",
    log:
        f"{study.folder}/logs/architectures.log",
    benchmark:
        f"{study.folder}/benchmarks/architectures.tsv"
    params:
        experiment="architectures",
        models=lambda w, input: f"--models {input.models}",
        options=SPEED_OPTIONS,
        translations=lambda w, output: output.records.removesuffix(".json"),


# Workers over the file against threads inside the batch.
use rule ladder as scaling with:
    input:
        models=lambda w: study.models.optimised(w.system),
        test_set=study.paths.clean(study.corpora.timed),
    output:
        records=f"{study.folder}/speed/scaling.{{system}}.json",
    log:
        f"{study.folder}/logs/scaling_{{system}}.log",
    benchmark:
        f"{study.folder}/benchmarks/scaling_{{system}}.tsv"
    params:
        experiment="scaling",
        models=lambda w, input: f"--models {input.models}",
        options=SPEED_OPTIONS,
        translations=lambda w, output: output.records.removesuffix(".json"),


# Ablations of the native engine: all of its parts but one at a time.
use rule ladder as switches with:
    input:
        model=study.paths.model("{system}", "native-int8"),
        others=lambda w: [
            model
            for type in study.models.types
            if type != "int8"
            for model in study.models.native(w.system, type=type)
        ],
        test_set=study.paths.clean(study.corpora.timed),
    output:
        records=f"{study.folder}/speed/switches.{{system}}.json",
    log:
        f"{study.folder}/logs/switches_{{system}}.log",
    benchmark:
        f"{study.folder}/benchmarks/switches_{{system}}.tsv"
    params:
        experiment="switches",
        models=lambda w, input: f"--model {input.model} --others {input.others}",
        options=SPEED_OPTIONS,
        translations=lambda w, output: output.records.removesuffix(".json"),


# Ablations after Devlin 2017: each way to compute less in a recurrent model with fully connected layers.
use rule ladder as identities with:
    input:
        models=lambda w: [study.paths.model(w.system, f"native-{type}") for type in ("float32", "int16", "int8")],
        test_set=study.paths.clean(study.corpora.timed),
    output:
        records=f"{study.folder}/speed/identities.{{system}}.json",
    log:
        f"{study.folder}/logs/identities_{{system}}.log",
    benchmark:
        f"{study.folder}/benchmarks/identities_{{system}}.tsv"
    params:
        experiment="identities",
        models=lambda w, input: f"--models {input.models}",
        options=SPEED_OPTIONS,
        translations=lambda w, output: output.records.removesuffix(".json"),


rule speed_scores:
    """BLEU beside the times, where there is any."""
    input:
        records=f"{study.folder}/speed/{{timed}}.json",
        test_set=study.paths.clean(study.corpora.timed),
    output:
        records=f"{study.report}/{{timed}}.json",
    log:
        f"{study.folder}/logs/speed_scores_{{timed}}.log",
    benchmark:
        f"{study.folder}/benchmarks/speed_scores_{{timed}}.tsv"
    resources:
        **growing(mem_mb=2000, runtime=10),
    params:
        test_sets=study.paths.named_corpora([study.corpora.timed]),
        language=study.config.target,
        config_hash=study.hash,
    shell:
        "python -m measure.score --records {input.records} --test-sets {params.test_sets}"
        " --config-hash {params.config_hash} --target-language {params.language} --output {output.records} 2> {log}"


rule speed:
    """The speed tables of the systems under `speed:`: `snakemake --cores all speed --configfile configs/X.yaml`."""
    input:
        lambda w: unless(
            study.speed.problem,
            expand(
                f"{study.report}/{{timed}}.{{format}}",
                timed=SPEED_TABLES,
                format=["md", "svg", "png"],
            ),
        ),
