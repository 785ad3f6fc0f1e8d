# Tables of Marian at WNMT 2018, asked for by name; a study needs their untrained systems and types. Made as `switches` in
# workflow/rules/speed.smk.

from papers.marian2018.tables import TABLES as MARIAN_TABLES


# Tables 2 and 4: every row in the native engine.
use rule switches as marian_table with:
    input:
        models=lambda w: table_models(MARIAN_TABLES[w.number]),
        test_set=study.paths.clean(study.corpora.timed),
    output:
        records=f"{study.folder}/speed/marian_table{{number}}.json",
    log:
        f"{study.folder}/logs/marian_table{{number}}.log",
    benchmark:
        f"{study.folder}/benchmarks/marian_table{{number}}.tsv"
    wildcard_constraints:
        number="2|4",
    params:
        program="papers.marian2018.tables",
        models=lambda w, input: f"--table {w.number} --models {input.models}",
        options=speed_options,
