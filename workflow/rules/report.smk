# Everything that people look at, made from measurements.json, the counts, the learning curves and the translations.
from findings.best_model import RULE
from nmt_frontier.command import web
from report.registry import SUBJECTS, subject

FRONTS = ["front_speed", "published"]
# Types whose rounding is measured, against float32.
ROUNDED = [type for type in study.models.types if type != "float32" and type in study.models.converted_types]
ROUNDING = (
    "float32" in study.models.types and ROUNDED and study.models.quantized
)  # whether the rule quantization has work

# Students that a page can translate with, where the engine for browsers is installed.
TRIED = [
    folder
    for system in study.models.exported
    if system in study.systems.students and "int8" in study.models.types and not web.missing()
    for folder in study.models.native(system)
]


rule measurements:
    """All records as CSV, and the figures that the study is quoted by."""
    input:
        measurements=rules.score.output.measurements,
    output:
        csv=f"{study.report}/measurements.csv",
        headline=f"{study.report}/headline.json",
    log:
        f"{study.folder}/logs/measurements.log",
    benchmark:
        f"{study.folder}/benchmarks/measurements.tsv"
    resources:
        **growing(mem_mb=500, runtime=10),
    shell:
        "python -m report.measurements --measurements {input.measurements} --csv {output.csv}"
        " --headline {output.headline} 2> {log}"


rule int8_elsewhere:
    """What int8 loses on CPUs that compute it in another way than this one."""
    input:
        model=study.paths.model(study.models.quantized, "int8"),
        test_set=study.paths.clean(study.corpora.timed),
    output:
        json=f"{study.folder}/decoding/int8_elsewhere.json",
    log:
        f"{study.folder}/logs/int8_elsewhere.log",
    benchmark:
        f"{study.folder}/benchmarks/int8_elsewhere.tsv"
    resources:
        **growing(mem_mb=2000, runtime=60),
    params:
        language=study.config.target,
    shell:
        "python -m measure.int8_other_cpus --model {input.model} --test-set {input.test_set}"
        " --target-language {params.language} --output {output.json} 2> {log}"


rule quantization:
    """What rounding does to the weights of the first student that CTranslate2 has, layer by layer."""
    input:
        exact=study.paths.converted(study.models.quantized, "float32"),
        rounded=[study.paths.converted(study.models.quantized, type) for type in ROUNDED],
        elsewhere=rules.int8_elsewhere.output.json if "int8" in study.models.types else [],
    output:
        json=f"{study.report}/quantization.json",
    log:
        f"{study.folder}/logs/quantization.log",
    benchmark:
        f"{study.folder}/benchmarks/quantization.tsv"
    resources:
        **growing(mem_mb=4000, runtime=10),
    params:
        system=study.models.quantized,
        elsewhere=lambda w, input: (f"--elsewhere {input.elsewhere}" if input.elsewhere else ""),
    shell:
        "python -m export.quantization --exact {input.exact} --rounded {input.rounded} --system {params.system}"
        " {params.elsewhere} --output {output.json} 2> {log}"


# The names that the files of a subject have in this study (src/report/registry.py).
NAMES = {
    "trained": study.systems.trained,
    "training_corpus": study.corpora.training,
    "scored_corpus": study.corpora.scored,
    "dev": study.corpora.dev,
    "timed_corpus": study.corpora.timed,
}


wildcard_constraints:
    subject=one_of([*SUBJECTS, *SPEED_NAMES]),


rule table:
    """The table of a subject; `picture`, below, is the same for its picture, `latex` and `pdf` are those for papers."""
    input:
        lambda w: expand(
            [f"{study.folder}/{file}" for file in subject(w.subject).files],
            system=w.subject.partition(".")[2],
            **NAMES,
        ),
    output:
        markdown=f"{study.report}/{{subject}}.md",
    log:
        f"{study.folder}/logs/table_{{subject}}.log",
    benchmark:
        f"{study.folder}/benchmarks/table_{{subject}}.tsv"
    resources:
        **growing(mem_mb=1000, runtime=10),
    params:
        name=lambda w: w.subject.partition(".")[0],
        best=RULE,  # for a caption
    shell:
        "python -m report {params.name} --input {input} --output {output} 2> {log}"


use rule table as picture with:
    output:
        svg=report(
            f"{study.report}/{{subject}}.svg",
            caption="../report/pictures.rst",
            category=lambda w: subject(w.subject).category,
            labels={"picture": "{subject}"},
        ),
        png=f"{study.report}/{{subject}}.png",
    log:
        f"{study.folder}/logs/picture_{{subject}}.log",
    benchmark:
        f"{study.folder}/benchmarks/picture_{{subject}}.tsv"


use rule table as latex with:
    output:
        tex=f"{study.report}/{{subject}}.tex",
    log:
        f"{study.folder}/logs/latex_{{subject}}.log",
    benchmark:
        f"{study.folder}/benchmarks/latex_{{subject}}.tsv"


use rule table as pdf with:
    output:
        pdf=f"{study.report}/{{subject}}.pdf",
    log:
        f"{study.folder}/logs/pdf_{{subject}}.log",
    benchmark:
        f"{study.folder}/benchmarks/pdf_{{subject}}.tsv"


rule corpora_page:
    input:
        counts=expand(study.paths.clean_counts("{corpus}"), corpus=study.config.corpora),
        changed=expand(study.paths.changed_counts("{corpus}"), corpus=study.mixtures.changed),
        funnel=f"{study.report}/funnel.svg",
        lengths=f"{study.report}/lengths.svg",
        scores=f"{study.report}/scores.svg" if study.corpora.scored else [],
    output:
        page=report(
            f"{study.report}/corpora.html",
            caption="../report/corpora.rst",
            category="Corpora",
        ),
    log:
        f"{study.folder}/logs/corpora_page.log",
    benchmark:
        f"{study.folder}/benchmarks/corpora_page.tsv"
    resources:
        **growing(mem_mb=500, runtime=10),
    params:
        study=study.name,
        scores=lambda w, input: f"--scores {input.scores}" if input.scores else "",
    shell:
        "python -m report.corpora_page --study {params.study} --counts {input.counts} --changed {input.changed}"
        " --funnel {input.funnel} --lengths {input.lengths} {params.scores} --output {output.page} 2> {log}"


rule corpora:
    """Only the data: `snakemake --cores all corpora --configfile configs/X.yaml`."""
    input:
        expand(study.paths.clean("{corpus}"), corpus=study.config.corpora),
        expand(
            f"{study.report}/{{picture}}.{{format}}",
            picture=["funnel", "lengths"],
            format=["svg", "png"],
        ),
        rules.corpora_page.output,


rule samples:
    """Twenty sentences of the test set: source, reference, and what teacher, students and control make of them."""
    input:
        records=rules.benchmark.output.records,
        test_set=study.paths.clean(study.corpora.timed),
    output:
        markdown=f"{study.report}/samples.md",
        data=f"{study.report}/samples.json",
    log:
        f"{study.folder}/logs/samples.log",
    benchmark:
        f"{study.folder}/benchmarks/samples.tsv"
    resources:
        **growing(mem_mb=500, runtime=10),
    params:
        test_set=study.paths.named_corpora([study.corpora.timed])[0],
        outputs=[f"{system}={study.models.shown(system)}" for system in study.systems.measured],
        seed=study.config.seed,
    shell:
        "python -m report.samples --test-set {params.test_set} --outputs {params.outputs} --seed {params.seed}"
        " --output {output.markdown} {output.data} 2> {log}"


rule front_page:
    """The front with axes and filters to choose, and the record, command and sentences of each point."""
    input:
        measurements=rules.score.output.measurements,
        samples=rules.samples.output.data,
    output:
        page=report(
            f"{study.report}/front.html",
            caption="../report/front_page.rst",
            category="Fronts",
            labels={"picture": "interactive"},
        ),
    log:
        f"{study.folder}/logs/front_page.log",
    benchmark:
        f"{study.folder}/benchmarks/front_page.tsv"
    resources:
        **growing(mem_mb=500, runtime=10),
    shell:
        "python -m report.front_page --measurements {input.measurements} --samples {input.samples}"
        " --output {output.page} 2> {log}"


rule try_page:
    """The best student on a page that translates."""
    input:
        measurements=rules.score.output.measurements,
        models=TRIED,
    output:
        page=f"{study.report}/try.html",
    log:
        f"{study.folder}/logs/try_page.log",
    benchmark:
        f"{study.folder}/benchmarks/try_page.tsv"
    resources:
        **growing(mem_mb=500, runtime=10),
    params:
        study=lambda w: study.folder,
    shell:
        "python -m report.try_page --measurements {input.measurements} --study {params.study}"
        " --output {output.page} 2> {log}"


rule page:
    """The story of the study on one page that needs no other file."""
    input:
        measurements=rules.score.output.measurements,
        front=f"{study.report}/front_column.svg",
        front_page=rules.front_page.output.page,
        try_page=rules.try_page.output.page if TRIED else [],
        gap=f"{study.report}/gap.json" if study.teachers.imitated else [],
        gap_picture=f"{study.report}/gap.svg" if study.teachers.imitated else [],
        quantization=rules.quantization.output.json if ROUNDING else [],
        robustness=rules.translate_perturbed.output.json if study.robustness.folders else [],
        robustness_picture=f"{study.report}/robustness.svg" if study.robustness.folders else [],
        trained=[study.paths.learning(system) for system in study.systems.trained],
        learning=f"{study.report}/learning.svg",
        funnel=f"{study.report}/funnel.svg",
        lengths=f"{study.report}/lengths.svg",
        samples=rules.samples.output.data,
    output:
        page=report(
            f"{study.report}/report.html",
            caption="../report/page.rst",
            category="Summary",
        ),
        record=f"{study.report}/page.json",
    log:
        f"{study.folder}/logs/page.log",
    benchmark:
        f"{study.folder}/benchmarks/page.tsv"
    resources:
        **growing(mem_mb=500, runtime=10),
    params:
        note=lambda w: study.note,
        try_page=lambda w, input: f"--try-page {input.try_page}" if input.try_page else "",
        gap=lambda w, input: (f"--gap {input.gap} --gap-picture {input.gap_picture}" if input.gap else ""),
        quantization=lambda w, input: (f"--quantization {input.quantization}" if input.quantization else ""),
        robustness=lambda w, input: (
            f"--robustness {input.robustness} --robustness-picture {input.robustness_picture}"
            if input.robustness
            else ""
        ),
        trained=lambda w, input: f"--trained {input.trained}" if input.trained else "",
        corpora=study.corpora.training,
        scored=f"--scored {shlex.join(study.corpora.scored)} " if study.corpora.scored else "",
        dev=study.corpora.dev,
        timed=study.corpora.timed,
        benchmarks=f"{study.folder}/benchmarks",
        # A function of the output is not watched: a file by another name is no other study.
        configuration=lambda w, output: "".join(
            f"--configuration {os.path.relpath(path)} " for path in workflow.overwrite_configfiles[-1:]
        ),
    shell:
        "python -m report.study_page --measurements {input.measurements} --front {input.front}"
        " --front-page {input.front_page} {params.try_page} {params.gap} {params.quantization} {params.robustness} {params.trained}"
        " --learning {input.learning} --funnel {input.funnel} --lengths {input.lengths} --samples {input.samples}"
        " --benchmarks {params.benchmarks} --note {params.note:q} {params.configuration}--corpora {params.corpora}"
        " {params.scored}--dev {params.dev} --timed {params.timed} --record {output.record} --output {output.page} 2> {log}"
