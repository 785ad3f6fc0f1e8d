# The configuration of the study, the names everything else is made of, and what every rule shares.
import fcntl
import json
import os
import shlex
import sys
from pathlib import Path

from distill.config import config_hash, languages, load, note_teachers_type, warnings
from distill.estimate import estimate
from distill.fetch import available, read_unchecked
from distill.rates import rates
from distill.resources import training_resources
from distill.systems import (
    ORIGINAL,
    absent_teachers,
    first_seed,
    learned_from,
    mixed,
    splits_as_study,
    systems,
    untrained,
    weights,
)
from formats.errors import UserError
from snakemake.exceptions import WorkflowError

DEFAULT_STUDY = f"{workflow.basedir}/configs/demo.yaml"

if workflow.config_settings.config:
    raise WorkflowError("--config is not supported: a study is one YAML file (it may have `extends: demo.yaml`)")
try:
    config.update(load(next(iter(workflow.configfiles), DEFAULT_STUDY)))
except UserError as error:
    raise WorkflowError(str(error)) from None

# Jobs run in the environment of this snakemake, activated or not, and without TensorFlow's chatter. The long ones
# show their progress on the terminal too (`tee`).
shell.prefix(f'export PATH="{Path(sys.executable).parent}:$PATH" TF_CPP_MIN_LOG_LEVEL=2 PYTHONWARNINGS=ignore; ')

STUDY = f"results/{config['study']}"
RAW = f"{STUDY}/corpora/raw/{{}}.tsv.zst"
HASH = config_hash(config)
PAIR = [config["source"], config["target"]]

CORPORA = {
    role: [name for name, corpus in config["corpora"].items() if corpus["role"] == role]
    for role in ("train", "monolingual", "dev", "test")
}
HELD_OUT = CORPORA["dev"] + CORPORA["test"]
TRAINING = CORPORA["train"] + CORPORA["monolingual"]
DEV = CORPORA["dev"][0]  # the one whose BLEU is watched during training

SYSTEMS = {system.name: system for system in systems(config)}
TEACHERS = list(config["teachers"])
STUDENTS = [name for name in SYSTEMS if name not in TEACHERS]
TRAINED = [name for name, system in SYSTEMS.items() if system.shape]
# Of several seeds the first one is timed.
MEASURED = [name for name in TRAINED if SYSTEMS[name].seed in (None, first_seed(config, SYSTEMS[name]))]
UNTRAINED = [system.name for system in untrained(config)]
SYSTEMS |= {system.name: system for system in untrained(config)}
REPORT = f"{STUDY}/report"
IMPORTED = {name: teacher for name, teacher in config["teachers"].items() if not teacher["shape"]}
IMPORTED |= {"reverse": config["reverse_teacher"]} if config["reverse_teacher"] else {}
TEACHER_BEAM = config["distillation"]["beam_size"]
BEAMS = sorted({1, TEACHER_BEAM, *config["decoding"]["beam_sizes"]})
ENSEMBLE = "ensemble" if len(TEACHERS) > 1 else next(iter(TEACHERS), None)
# What students are held against: the teacher of the first mixture that has one.
IMITATED = next((m["teacher"] or ENSEMBLE for m in config["mixtures"].values() if m["targets"] != "original"), ENSEMBLE)
# Teachers that are not trained here have no model folder: what they say is what distillation says.
FOREIGN = [name for name in dict.fromkeys([*TEACHERS, ENSEMBLE]) if name and name not in TRAINED]
EPOCHS = range(1, config["distillation"]["epochs"] + 1)
TYPES = config["decoding"]["compute_types"]
FORMATS = ["opennmt-tf", *TYPES]
GPU = 1 if config["distillation"]["device"] == "cuda" else 0
# CTranslate2 has no recurrent models; the map is fitted to the first student that it has.
TRANSFORMERS = sorted((name for name in MEASURED if not SYSTEMS[name].shape["cell"]), key=lambda name: name in TEACHERS)
MAP_SYSTEM = next((name for name in TRANSFORMERS if name in STUDENTS), None)
SEARCHED = config["search"]["system"] or MAP_SYSTEM
MAP_TYPE = "int8" if "int8" in TYPES else TYPES[0]
# The map is made of what the students learn from, the teachers' translations if there are any.
MAPPED = next((name for name, mixture in config["mixtures"].items() if mixture["targets"] != "original"), ORIGINAL)
MACHINE = config["prices"]["machine"]  # its entry, if the study names one
PRICE = f"--price {shlex.quote(json.dumps(MACHINE))}" if MACHINE else ""
KEEP_REJECTED = config["keep_rejected"]
NOTHING = "(?!)"  # a wildcard that stands for no name
ALL_CORES = 10_000  # Snakemake cuts this down to --cores: the job runs alone


wildcard_constraints:
    corpus="|".join(map(re.escape, config["corpora"])),
    system="|".join(map(re.escape, [*SYSTEMS, *IMPORTED])),
    teacher="|".join(map(re.escape, TEACHERS)) or NOTHING,
    imitated="|".join(map(re.escape, sorted({*TEACHERS, ENSEMBLE} - {None}))) or NOTHING,
    mixture="|".join(map(re.escape, {*config["mixtures"], ORIGINAL})),
    scatteritem=r"\d+-of-\d+",
    type="|".join(sorted({*TYPES, config["distillation"]["compute_type"]})),
    format="|".join(FORMATS),
    targets="(best|interpolated)(-reverse)?",
    epoch=r"\d+",


scattergather:
    part=config["cleaning_shards"],
    shard=config["distillation"]["shards"],
    alignment=config["alignment"]["shards"],


if workflow.is_main_process:  # not in the jobs, which read this file too
    cores = workflow.resource_settings.cores or os.cpu_count()
    print(estimate(config, cores, rates(cores, config["distillation"]["compute_type"])), file=sys.stderr)
    # What cannot be had stops even a dry run; what could not be asked for, without a network, stops a real one only.
    absent = available(config, names=[name for name in config["corpora"] if not Path(RAW.format(name)).exists()])
    if absent.missing:
        raise WorkflowError("corpora that cannot be had:\n" + "\n".join(absent.missing))
    for line in absent.unchecked:
        print(f"could not be checked: {line}", file=sys.stderr)
    for line in absent_teachers(config):
        print(f"teacher is not there: {line}", file=sys.stderr)
    for line in warnings(config):
        print(line, file=sys.stderr)
    if line := read_unchecked(config):
        print(line, file=sys.stderr)


onstart:
    if missing := absent_teachers(config):
        raise WorkflowError("teachers that are not there:\n" + "\n".join(missing))
    if absent.unchecked:
        raise WorkflowError("corpora that could not be reached:\n" + "\n".join(absent.unchecked))
    # Two runs of one study at a time would mix their files. The kernel lets go of this lock when the process dies
    # in whatever way, so that a killed run continues without --unlock (Snakemake's own lock is off in the profile).
    Path(STUDY).mkdir(parents=True, exist_ok=True)
    workflow.study_lock = open(f"{STUDY}/.lock", "w")  # kept open as long as the workflow lives
    try:
        fcntl.flock(workflow.study_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise WorkflowError(f"another snakemake is running the study {config['study']} in {STUDY}") from None
    note_teachers_type(config)  # before any job, which may run on another machine


def source(corpus):
    """What is read, without what is done with it later: another weight is no reason to read again."""
    return {
        key: value for key, value in config["corpora"][corpus].items() if key not in ("cleaning", "weight", "sample")
    }


def taken(corpus):
    """The folder of what is cleaned: the whole corpus, or a random subset of it."""
    return "subset" if config["corpora"][corpus]["sample"] else "raw"


def cleaning(corpus):
    return config["corpora"][corpus]["cleaning"]


def duplicates_options(wildcards):
    asked = cleaning(wildcards.corpus)
    return [f"--{kind.replace('_', '-')}" for kind in ("duplicates", "near_duplicates") if asked[kind]]


def formats(system):
    """The exports of a system: CTranslate2 has no recurrent models."""
    return ["opennmt-tf"] if SYSTEMS[system].shape.get("cell") else FORMATS


def about(system):
    """What tells a system from others."""
    return {"system": system} | {key: getattr(SYSTEMS[system], key) for key in ("role", "student", "mixture", "seed")}


def shown_systems():
    """The systems of the comparison, teachers first; an ensemble is one of them."""
    teacher = {"role": "teacher", "mixture": None, "seed": None}
    names = dict.fromkeys(name for name in [*TEACHERS, ENSEMBLE] if name)
    return [{"system": name, "student": name, **teacher} for name in names] + [about(name) for name in STUDENTS]


def parent(system):
    """The averaged teacher whose weights a training begins with, if any."""
    return f"{STUDY}/systems/{system.start_from}/averaged" if system.start_from else []


def teacher_model(teacher):
    """The teacher as a CTranslate2 folder."""
    kind = "imported" if teacher in IMPORTED else "converted"
    return f"{STUDY}/systems/{teacher}/{kind}/{config['distillation']['compute_type']}"


def reverse_model():
    return teacher_model("reverse") if config["reverse_teacher"] else []


def study_pieces(*teachers):
    """The study's SentencePiece model for teachers that split text with it, which is made before them then."""
    return rules.vocabulary.output.model if any(map(splits_as_study, teachers)) else []


def study_vocabulary(teacher):
    """For an OpenNMT-tf run with the pieces of the study, which may have no vocabulary beside it."""
    return rules.vocabulary.output.vocabulary if teacher["checkpoint"] and splits_as_study(teacher) else []


def scored_corpus(mixture, corpus):
    """The distilled corpus with the scores that a mixture drops the worst pairs by."""
    entry = config["mixtures"][mixture]
    reverse = "-reverse" if entry["drop_by"] == "reverse" and entry["drop_worst"] else ""
    return f"{STUDY}/distilled/{entry['teacher'] or ENSEMBLE}/{entry['targets']}{reverse}/{corpus}.tsv.zst"


def mixed_corpus(mixture, corpus):
    """The file that a mixture draws from."""
    entry = config["mixtures"].get(mixture, {"targets": "original"})
    if entry["targets"] == "original":
        return f"{STUDY}/corpora/clean/{corpus}.tsv.zst"
    if entry["drop_worst"]:
        return f"{STUDY}/training/{mixture}/{corpus}.tsv.zst"
    return scored_corpus(mixture, corpus)


def pairs_option(pairs):
    return f"--pairs {pairs}" if pairs else ""


def description(wildcards):
    """What the name of a model folder tells about it, as JSON for its model.json."""
    names = {
        "study": config["study"],
        **about(wildcards.system),
        "source": config["source"],
        "target": config["target"],
        "max_decoding_length": config["decoding"]["max_decoding_length"],
    }
    return json.dumps(names)


def made_of(wildcards):
    """The corpora of the mixture that a model learned from, as JSON for its model card."""
    keys = ("role", "licence", "url")
    names = weights(config, SYSTEMS[wildcards.system].mixture)
    return json.dumps([{"name": name, **{key: config["corpora"][name][key] for key in keys}} for name in names])


def teachers_option(wildcards):
    names = learned_from(config, SYSTEMS[wildcards.system].mixture)
    return ["--teachers", *names] if names else []


def test_sets_option(names):
    return [f"{name}={STUDY}/corpora/clean/{name}.tsv.zst" for name in names]


def of_timed(tables):
    """The speed tables, if the study has what they are about."""
    if not SPEED_SYSTEMS:
        raise WorkflowError(f"speed: no Transformer is trained in {config['study']}, and speed.untrained names none")
    if lacking := {"float32", "int8"} - set(TYPES):
        raise WorkflowError(f"decoding.compute_types: speed needs {' and '.join(sorted(lacking))}, too")
    return tables


def of_searched(pages):
    """The pages on search, if the system they are about can be measured."""
    if SEARCHED not in MEASURED or SYSTEMS[SEARCHED].shape["cell"]:
        raise WorkflowError(f"search.system: {SEARCHED} is no Transformer that is trained and timed in this study")
    return pages


def note(wildcards):
    """What the data are, in a sentence; the built-in corpus says of itself what it is not."""
    corpora = config["corpora"]
    names = ", ".join(f"{name} ({corpora[name]['role']}, {corpora[name]['licence']})" for name in corpora)
    made_up = any(corpus["builtin"] for corpus in corpora.values())
    warning = " Synthetic text of a small grammar: BLEU here says nothing about the translation of real text."
    return f"{config['source']}-{config['target']}: {names}.{warning if made_up else ''}"


def map_report(wildcards):
    if GRID is None:
        raise WorkflowError(f"the study {config['study']} tries no maps: give it a vocabulary_map.grid")
    return [*rules.map_table.output, *expand(rules.map_plot.output.picture, picture=["svg", "png"])]
