"""Checks of what students learn from: the mixtures, and the vocabulary that may be learned from one of them."""

from collections.abc import Iterator

from study.mixtures import ORIGINAL, learned_from
from study.schema import Config
from study.teachers import splits_as_study


def problems(config: Config) -> Iterator[str]:
    distillation = config["distillation"]
    if distillation["n_best"] > distillation["beam_size"]:
        beam, n_best = distillation["beam_size"], distillation["n_best"]
        yield f"distillation.n_best: {n_best} hypotheses need a beam as wide; beam_size is {beam}"
    for name, mixture in config["mixtures"].items():
        if name == ORIGINAL and mixture["targets"] != "original":
            yield f"mixtures.{name}.targets: this name is that of the teachers' data"
        yield from _mixture_problems(f"mixtures.{name}", mixture, config)


def _mixture_problems(path: str, mixture: Config, config: Config) -> Iterator[str]:
    original, n_best = mixture["targets"] == "original", config["distillation"]["n_best"]
    if not original and not config["teachers"]:
        yield f"{path}.targets: {mixture['targets']} needs teachers; without any all targets are original"
    if mixture["teacher"] not in (None, *config["teachers"]):
        yield f"{path}.teacher: {mixture['teacher']!r} is not one of the teachers {', '.join(config['teachers'])}"
    for corpus in mixture["weights"] or ():
        role = config["corpora"][corpus]["role"] if corpus in config["corpora"] else None
        allowed = ["train"] if original else ["train", "monolingual"]
        if role not in allowed:
            yield f"{path}.weights.{corpus}: is not a corpus with the role {' or '.join(allowed)}"
    if mixture["targets"] in ("interpolated", "mbr", "all") and n_best < 2:
        targets = mixture["targets"]
        yield f"{path}.targets: {targets} needs several hypotheses; distillation.n_best is 1 (papers have 8)"
    if original and mixture["teacher"]:
        yield f"{path}.teacher: original targets are no teacher's"
    if original and mixture["drop_worst"]:
        yield f"{path}.drop_worst: original targets have no scores"


def vocabulary_problems(config: Config) -> Iterator[str]:
    """A vocabulary that is learned from translations must not be needed to make them."""
    of, path = config["vocabulary"]["of"], "vocabulary.of"
    if of is None:
        return
    if of not in config["mixtures"]:
        yield f"{path}: {of!r} is not one of the mixtures {', '.join(config['mixtures'])}"
        return
    teachers = {name: config["teachers"][name] for name in learned_from(config, of) if name in config["teachers"]}
    for name, teacher in teachers.items():
        if splits_as_study(teacher):
            remedy = "take a teacher from elsewhere" if teacher["shape"] else "give it a tokenization of its own"
            yield f"{path}: {of} is made by {name}, which splits text with this vocabulary itself; {remedy}"
