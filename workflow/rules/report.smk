# Everything a person looks at, made from measurements.json, the counts, the learning curves and the translations.

from decode.measurements import RULE

TIMED = CORPORA["test"][0]
SHOWN = f"{TYPES[0]}.beam{max(config['decoding']['beam_sizes'])}"  # the translations shown as samples

# Types whose rounding is looked at; float32 is what they are held against.
ROUNDED = [type for type in TYPES if type != "float32"]

# Quality against speed, and against cost among the systems of Marian's paper.
FRONTS = {"front_speed": "decode.front_plot", "published": "decode.published_plot"}


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
        module=lambda w: FRONTS[w.front],
        test_set=TIMED,
        best=RULE,
    shell:
        "python -m {params.module} --measurements {input.measurements} --test-set {params.test_set}"
        " --output {output.picture} 2> {log}"


rule learning_curves:
    input:
        learning=expand(f"{STUDY}/systems/{{system}}/learning.json", system=TRAINED),
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


rule training_table:
    input:
        learning=expand(f"{STUDY}/systems/{{system}}/learning.json", system=TRAINED),
    output:
        table=f"{REPORT}/training.md",
    log:
        f"{STUDY}/logs/training_table.log",
    benchmark:
        f"{STUDY}/benchmarks/training_table.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    shell:
        "python -m decode.training_table --learning {input.learning} --output {output.table} 2> {log}"


rule int8_elsewhere:
    """What int8 loses on CPUs that compute it in another way than this one."""
    input:
        model=f"{STUDY}/models/{MAP_SYSTEM}/int8",
        test_set=f"{STUDY}/corpora/clean/{TIMED}.tsv.zst",
    output:
        json=f"{STUDY}/decoding/int8_elsewhere.json",
    log:
        f"{STUDY}/logs/int8_elsewhere.log",
    benchmark:
        f"{STUDY}/benchmarks/int8_elsewhere.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        language=config["target"],
    shell:
        "python -m decode.elsewhere --model {input.model} --test-set {input.test_set}"
        " --target-language {params.language} --output {output.json} 2> {log}"


rule quantization:
    """What rounding does to the weights of the student that is timed first, layer by layer, and to its BLEU."""
    input:
        exact=f"{STUDY}/systems/{MAP_SYSTEM}/converted/float32",
        rounded=[f"{STUDY}/systems/{MAP_SYSTEM}/converted/{type}" for type in ROUNDED],
        measurements=rules.score.output.measurements,
        elsewhere=rules.int8_elsewhere.output.json if "int8" in TYPES else [],
    output:
        json=f"{REPORT}/quantization.json",
        table=f"{REPORT}/quantization.md",
    log:
        f"{STUDY}/logs/quantization.log",
    benchmark:
        f"{STUDY}/benchmarks/quantization.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        system=MAP_SYSTEM,
        elsewhere=lambda w, input: f"--elsewhere {input.elsewhere}" if input.elsewhere else "",
    shell:
        "python -m export.quantization --exact {input.exact} --rounded {input.rounded} --system {params.system}"
        " --measurements {input.measurements} {params.elsewhere} --json {output.json} --markdown {output.table} 2> {log}"


rule corpora_plot:
    input:
        counts=expand(f"{STUDY}/corpora/clean/{{corpus}}.json", corpus=TRAINING),
    output:
        picture=report(
            f"{REPORT}/{{plot}}.{{picture}}",
            caption="../report/cleaning.rst",
            category="Corpora",
            labels={"plot": "{plot}", "format": "{picture}"},
        ),
    log:
        f"{STUDY}/logs/{{plot}}_{{picture}}.log",
    benchmark:
        f"{STUDY}/benchmarks/{{plot}}_{{picture}}.tsv"
    wildcard_constraints:
        plot="funnel|lengths",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    shell:
        "python -m decode.{wildcards.plot}_plot --counts {input.counts} --output {output.picture} 2> {log}"


rule corpora_page:
    input:
        counts=expand(f"{STUDY}/corpora/clean/{{corpus}}.json", corpus=config["corpora"]),
        funnel=f"{REPORT}/funnel.svg",
        lengths=f"{REPORT}/lengths.svg",
    output:
        page=report(f"{REPORT}/corpora.html", caption="../report/corpora.rst", category="Corpora"),
    log:
        f"{STUDY}/logs/corpora_page.log",
    benchmark:
        f"{STUDY}/benchmarks/corpora_page.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    params:
        study=config["study"],
    shell:
        "python -m decode.corpora_page --study {params.study} --counts {input.counts} --funnel {input.funnel}"
        " --lengths {input.lengths} --output {output.page} 2> {log}"


rule corpora:
    """Only the data: `snakemake --cores all corpora --configfile configs/X.yaml`."""
    input:
        expand(f"{STUDY}/corpora/clean/{{corpus}}.tsv.zst", corpus=config["corpora"]),
        expand(f"{REPORT}/{{plot}}.{{format}}", plot=["funnel", "lengths"], format=["svg", "png"]),
        rules.corpora_page.output,


rule samples:
    """Twenty sentences as everybody says them: source, reference, teacher, students, control."""
    input:
        records=rules.benchmark.output.records,
        test_set=f"{STUDY}/corpora/clean/{TIMED}.tsv.zst",
    output:
        page=report(f"{REPORT}/samples.html", caption="../report/samples.rst", category="Translations"),
        markdown=f"{REPORT}/samples.md",
        data=f"{REPORT}/samples.json",
    log:
        f"{STUDY}/logs/samples.log",
    benchmark:
        f"{STUDY}/benchmarks/samples.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    params:
        test_set=f"{TIMED}={STUDY}/corpora/clean/{TIMED}.tsv.zst",
        outputs=[
            f"{system}={STUDY}/decoding/translations/{system}.{SHOWN}.{TIMED}.txt"
            for system in MEASURED
            if not SYSTEMS[system].shape["cell"]
        ],
        seed=config["seed"],
    shell:
        "python -m decode.samples --test-set {params.test_set} --outputs {params.outputs} --seed {params.seed}"
        " --output {output.page} {output.markdown} {output.data} 2> {log}"


rule page:
    """One page about the study that needs no other file."""
    input:
        measurements=rules.score.output.measurements,
        fronts=expand(f"{REPORT}/{{front}}.svg", front=FRONTS),
        learning=f"{REPORT}/learning.svg",
        gap=f"{REPORT}/gap.svg" if IMITATED else [],
        funnel=f"{REPORT}/funnel.svg",
        samples=rules.samples.output.data,
    output:
        page=report(f"{REPORT}/report.html", caption="../report/page.rst", category="Summary"),
    log:
        f"{STUDY}/logs/page.log",
    benchmark:
        f"{STUDY}/benchmarks/page.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    params:
        note=note,
        gap=lambda w, input: f"--gap {input.gap}" if input.gap else "",
        benchmarks=f"{STUDY}/benchmarks",
    shell:
        "python -m decode.page --measurements {input.measurements} --fronts {input.fronts} --learning {input.learning}"
        " {params.gap} --funnel {input.funnel} --samples {input.samples} --benchmarks {params.benchmarks} --note {params.note:q}"
        " --output {output.page} 2> {log}"
