# Students learn from the teacher's translations, the control from the original data.


use rule train_teacher as train_student with:
    input:
        source=lambda w: f"{STUDY}/training/{dataset(w.system)}.source",
        target=lambda w: f"{STUDY}/training/{dataset(w.system)}.target",
        epochs=lambda w: expand(f"{STUDY}/training/{dataset(w.system)}.{{epoch}}.json", epoch=EPOCHS),
        dev=ancient(f"{STUDY}/corpora/clean/{DEV}.tsv.zst"),
        dev_source=ancient(f"{STUDY}/training/dev.source"),
        vocabulary=rules.vocabulary.output.vocabulary,
        sentencepiece=rules.vocabulary.output.model,
    wildcard_constraints:
        system="|".join(map(re.escape, STUDENTS)),
    priority: 10
    threads: config["student_training"]["threads"]
    params:
        shape=lambda w: json.dumps(config["students"][w.system.removesuffix("-control")]["shape"]),
        training=json.dumps(config["student_training"]),
        seed=config["seed"],
        runs=f"{STUDY}/systems/{{system}}",
