# The ladder of Devlin 2017; the target `speed` makes it. Made as `switches` in workflow/rules/speed.smk.


# Section 4: each way to compute less in a recurrent model with fully connected layers.
use rule switches as identities with:
    input:
        baseline=study.paths.model("{system}", "opennmt-tf"),
        models=lambda w: [study.paths.model(w.system, f"native-{type}") for type in ("float32", "int16", "int8")],
        test_set=study.paths.clean(study.corpora.timed),
    output:
        records=f"{study.folder}/speed/identities.{{system}}.json",
    log:
        f"{study.folder}/logs/identities_{{system}}.log",
    benchmark:
        f"{study.folder}/benchmarks/identities_{{system}}.tsv"
    params:
        program="papers.devlin2017.identities",
        models=lambda w, input: f"--baseline {input.baseline} --models {input.models}",
        options=speed_options,
