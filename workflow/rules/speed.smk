# The speed tables, timed on this machine: an ablation of the native engine (switches), untrained models of every
# architecture (architectures), and those of papers: tables 5 (ladder) and 6 (end_to_end) and figure 2 (scaling) of WNGT
# 2020, whose rules are in papers/wngt2020, and the ladder of Devlin 2017 (identities) for recurrent systems with fully
# connected layers on top, in papers/devlin2017. The models are those of the study, with BLEU, and untrained ones of the
# papers' sizes, for their speed only. Where CTranslate2 does not run a system, the native engine stands in.

# All but end_to_end and architectures show one system each, as in the paper. `speed` makes those of the first trained
# system and of the first untrained one; others can be asked for by name. The native engine is in all of them where the
# study has it.
SPEED_FIRST = [*study.speed.trained[:1], *[name for name in study.speed.systems if name in study.systems.untrained][:1]]
SPEED_KINDS = {"ladder": study.models.optimised, "scaling": study.models.optimised, "switches": study.models.native}
SPEED_OF_ALL = [
    *(["end_to_end"] if study.speed.systems else []),
    *(["architectures"] if study.systems.untrained else []),
]
PAPER_TABLES = ["marian_table2", "marian_table4", "wnmt_table3", "wngt_table5"]  # row by row, asked for by name
SPEED_NAMES = [
    *[f"{kind}.{system}" for kind, models in SPEED_KINDS.items() for system in study.speed.systems if models(system)],
    *expand("identities.{system}", system=study.speed.fully_connected),
    *SPEED_OF_ALL,
    *PAPER_TABLES,
]
SPEED_TABLES = [
    *[f"{kind}.{system}" for kind, models in SPEED_KINDS.items() for system in SPEED_FIRST if models(system)],
    *expand("identities.{system}", system=study.speed.fully_connected[:1]),
    *SPEED_OF_ALL,
]
SPEED_OPTIONS = (
    f"--test-sets {study.paths.named_corpora([study.corpora.timed])[0]} --study {study.config.study}"
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


rule switches:
    """Ablations of the native engine: all of its parts but one at a time. What else is timed is made in this way."""
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
    threads: ALL_CORES
    resources:
        **growing(mem_mb=8000, runtime=600),
    params:
        program="experiments.switches",
        models=lambda w, input: f"--model {input.model} --others {input.others}",
        options=speed_options,
    shell:
        f"{ALONE}"
        " python -m {params.program} {params.models} {params.options} --output {output.records} 2> >(shown {log})"


# Untrained models of every architecture, in OpenNMT-tf and in the native engine.
use rule switches as architectures with:
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
        program="experiments.architectures",
        models=lambda w, input: f"--models {input.models}",
        options=speed_options,


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
