# Everything a person looks at, made from measurements.json, the counts, the learning curves and the translations.

TIMED = CORPORA["test"][0]
REPORT = f"{STUDY}/report"

# name of the picture: x axis, scale
FRONTS = {
    "front_speed": ("source_words_per_second", "log"),
    "front_cost": ("source_words_per_usd", "log"),
    "front_cost_linear": ("source_words_per_usd", "linear"),
}


wildcard_constraints:
    front="|".join(FRONTS),
    picture="svg|png",


rule tables:
    input:
        measurements=rules.score.output.measurements,
    output:
        csv=report(f"{REPORT}/measurements.csv", caption="../report/csv.rst", category="Tables"),
        markdown=f"{REPORT}/table.md",
        headline=f"{REPORT}/headline.json",
    log:
        f"{STUDY}/logs/tables.log",
    benchmark:
        f"{STUDY}/benchmarks/tables.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    shell:
        "python -m decode.table --measurements {input.measurements} --csv {output.csv} --markdown {output.markdown}"
        " --headline {output.headline} 2> {log}"


rule front:
    input:
        measurements=rules.score.output.measurements,
    output:
        picture=report(
            f"{REPORT}/{{front}}.{{picture}}",
            caption="../report/front.rst",
            category="Fronts",
            labels={"front": "{front}", "format": "{picture}"},
        ),
    log:
        f"{STUDY}/logs/{{front}}_{{picture}}.log",
    benchmark:
        f"{STUDY}/benchmarks/{{front}}_{{picture}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        x=lambda w: FRONTS[w.front][0],
        scale=lambda w: FRONTS[w.front][1],
        test_set=TIMED,
    shell:
        "python -m decode.front_plot --measurements {input.measurements} --test-set {params.test_set} --x {params.x}"
        " --scale {params.scale} --output {output.picture} 2> {log}"


rule learning_curves:
    input:
        learning=expand(f"{STUDY}/systems/{{system}}/learning.json", system=SYSTEMS),
    output:
        picture=report(
            f"{REPORT}/learning.{{picture}}",
            caption="../report/learning.rst",
            category="Training",
            labels={"plot": "learning curves", "format": "{picture}"},
        ),
    log:
        f"{STUDY}/logs/learning_{{picture}}.log",
    benchmark:
        f"{STUDY}/benchmarks/learning_{{picture}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    shell:
        "python -m decode.learning_plot --learning {input.learning} --output {output.picture} 2> {log}"


rule funnel:
    input:
        counts=expand(f"{STUDY}/corpora/clean/{{corpus}}.json", corpus=TRAINING),
    output:
        picture=report(
            f"{REPORT}/funnel.{{picture}}",
            caption="../report/funnel.rst",
            category="Corpora",
            labels={"plot": "cleaning funnel", "format": "{picture}"},
        ),
    log:
        f"{STUDY}/logs/funnel_{{picture}}.log",
    benchmark:
        f"{STUDY}/benchmarks/funnel_{{picture}}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    shell:
        "python -m decode.funnel_plot --counts {input.counts} --output {output.picture} 2> {log}"
