# The speed tables of WNGT 2020, timed on this machine: tables 5 (ladder) and 6 (end_to_end) and figure 2 (scaling). Models of
# the study, with BLEU, and untrained ones of the papers' sizes, for their speed only.

# Where nothing is named, all Transformers, students first.
SPEED_TRAINED = config["speed"]["systems"] or ([] if UNTRAINED else TRANSFORMERS)
SPEED_SYSTEMS = [*SPEED_TRAINED, *UNTRAINED]
# A ladder and a scaling are about one system, in the paper too: the first of each kind. Others are made if asked for by name.
SPEED_FIRST = [*SPEED_TRAINED[:1], *UNTRAINED[:1]]
SPEED_KINDS = ["ladder", "scaling"]
SPEED_TABLES = [*expand("{kind}.{system}", kind=SPEED_KINDS, system=SPEED_FIRST), "end_to_end"]
SPEED_OPTIONS = (
    f"--test-sets {test_sets_option([TIMED])[0]} --study {config['study']}"
    f" --runs {config['decoding']['runs']} --noise {config['decoding']['noise']}"
    f" {PRICE}"
)


wildcard_constraints:
    timed="|".join(map(re.escape, [*expand("{kind}.{system}", kind=SPEED_KINDS, system=SPEED_SYSTEMS), "end_to_end"])),


rule untrained:
    """A checkpoint of random weights, in the place of a trained one; its translations are as long as the references."""
    input:
        vocabulary=rules.vocabulary.output.vocabulary,
        sentencepiece=rules.vocabulary.output.model,
        test_set=ancient(f"{STUDY}/corpora/clean/{TIMED}.tsv.zst"),
    output:
        averaged=directory(f"{STUDY}/systems/{{system}}/averaged"),
        learning=f"{STUDY}/systems/{{system}}/learning.json",
    log:
        f"{STUDY}/logs/untrained_{{system}}.log",
    benchmark:
        f"{STUDY}/benchmarks/untrained_{{system}}.tsv"
    wildcard_constraints:
        system="|".join(map(re.escape, UNTRAINED)) or NOTHING,
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        shape=lambda w: SYSTEMS[w.system].student,
        seed=lambda w: SYSTEMS[w.system].seed,
    shell:
        "python -m export.untrained --shape {params.shape} --vocabulary {input.vocabulary} --seed {params.seed}"
        " --test-set {input.test_set} --sentencepiece {input.sentencepiece}"
        " --output {output.averaged} --learning {output.learning} > {log} 2>&1"


rule ladder:
    """What each optimisation is worth, one switch after the other."""
    input:
        baseline=f"{STUDY}/models/{{system}}/opennmt-tf",
        exact=f"{STUDY}/models/{{system}}/float32",
        rounded=f"{STUDY}/models/{{system}}/int8",
        test_set=ancient(f"{STUDY}/corpora/clean/{TIMED}.tsv.zst"),
    output:
        records=f"{STUDY}/speed/ladder.{{system}}.json",
    log:
        f"{STUDY}/logs/ladder_{{system}}.log",
    benchmark:
        f"{STUDY}/benchmarks/ladder_{{system}}.tsv"
    conda:
        "../../environment.yml"
    threads: ALL_CORES
    resources:
        mem_mb=8000,
        runtime=600,
    params:
        options=SPEED_OPTIONS,
        translations=lambda w, output: output.records.removesuffix(".json"),
    shell:
        "python -m decode.ladder --baseline {input.baseline} --exact {input.exact} --rounded {input.rounded}"
        " {params.options} --translations {params.translations} --output {output.records} 2> >(tee {log} >&2)"


rule end_to_end:
    """The toolkit against all optimisations together, the runs of all systems in turn."""
    input:
        baselines=expand(f"{STUDY}/models/{{system}}/opennmt-tf", system=SPEED_SYSTEMS),
        rounded=expand(f"{STUDY}/models/{{system}}/int8", system=SPEED_SYSTEMS),
        exact=expand(f"{STUDY}/models/{{system}}/float32", system=SPEED_TRAINED),
        test_set=ancient(f"{STUDY}/corpora/clean/{TIMED}.tsv.zst"),
    output:
        records=f"{STUDY}/speed/end_to_end.json",
    log:
        f"{STUDY}/logs/end_to_end.log",
    benchmark:
        f"{STUDY}/benchmarks/end_to_end.tsv"
    conda:
        "../../environment.yml"
    threads: ALL_CORES
    resources:
        mem_mb=8000,
        runtime=600,
    params:
        options=SPEED_OPTIONS,
        translations=lambda w, output: output.records.removesuffix(".json"),
    shell:
        "python -m decode.end_to_end --baselines {input.baselines} --rounded {input.rounded}"
        " --exact {input.exact} {params.options} --translations {params.translations}"
        " --output {output.records} 2> >(tee {log} >&2)"


rule scaling:
    """Workers over the file against threads inside the batch."""
    input:
        model=f"{STUDY}/models/{{system}}/int8",
        test_set=ancient(f"{STUDY}/corpora/clean/{TIMED}.tsv.zst"),
    output:
        records=f"{STUDY}/speed/scaling.{{system}}.json",
    log:
        f"{STUDY}/logs/scaling_{{system}}.log",
    benchmark:
        f"{STUDY}/benchmarks/scaling_{{system}}.tsv"
    conda:
        "../../environment.yml"
    threads: ALL_CORES
    resources:
        mem_mb=4000,
        runtime=600,
    params:
        options=SPEED_OPTIONS,
        translations=lambda w, output: output.records.removesuffix(".json"),
    shell:
        "python -m decode.scaling --model {input.model} {params.options} --translations {params.translations}"
        " --output {output.records} 2> >(tee {log} >&2)"


rule speed_scores:
    """BLEU beside the times, where there is any."""
    input:
        records=f"{STUDY}/speed/{{timed}}.json",
        test_set=ancient(f"{STUDY}/corpora/clean/{TIMED}.tsv.zst"),
    output:
        records=f"{REPORT}/{{timed}}.json",
    log:
        f"{STUDY}/logs/speed_scores_{{timed}}.log",
    benchmark:
        f"{STUDY}/benchmarks/speed_scores_{{timed}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        test_sets=test_sets_option([TIMED]),
        language=config["target"],
        config_hash=HASH,
    shell:
        "python -m decode.score --records {input.records} --test-sets {params.test_sets} --config-hash {params.config_hash}"
        " --target-language {params.language} --output {output.records} 2> {log}"


rule speed_table:
    input:
        records=rules.speed_scores.output.records,
    output:
        table=f"{REPORT}/{{timed}}.md",
    log:
        f"{STUDY}/logs/speed_table_{{timed}}.log",
    benchmark:
        f"{STUDY}/benchmarks/speed_table_{{timed}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    params:
        kind=lambda w: w.timed.partition(".")[0],
    shell:
        "python -m decode.{params.kind}_table --records {input.records} --output {output.table} 2> {log}"


rule speed_plot:
    input:
        records=rules.speed_scores.output.records,
    output:
        picture=report(
            f"{REPORT}/{{timed}}.{{picture}}",
            caption="../report/speed.rst",
            category="Speed",
            labels={"plot": "{timed}", "format": "{picture}"},
        ),
    log:
        f"{STUDY}/logs/speed_plot_{{timed}}_{{picture}}.log",
    benchmark:
        f"{STUDY}/benchmarks/speed_plot_{{timed}}_{{picture}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        kind=lambda w: w.timed.partition(".")[0],
    shell:
        "python -m decode.{params.kind}_plot --records {input.records} --output {output.picture} 2> {log}"


rule speed:
    """The speed tables of the systems under `speed:`: `snakemake --cores all speed --configfile configs/X.yaml`."""
    input:
        lambda w: of_timed(expand(f"{REPORT}/{{timed}}.{{format}}", timed=SPEED_TABLES, format=["md", "svg", "png"])),
