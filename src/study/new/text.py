"""The configuration of a new study as text, with comments that explain its values."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from common.document import Document
from corpora.language_codes import scripts
from nmt_frontier import machine
from study.estimate import of_cores
from study.new.files import shown
from study.new.look import HeldOut, Look, identifies
from study.new.sizes import PASSES, Plan, Size, rounded
from study.resources import TOKENS

CHARACTERS = {"Hani", "Hang", "Hira"}  # scripts with thousands of characters
MOST_HELD_OUT = 3000  # lines of a dev or test set: every system translates them all, several times
NEAR_REPEATS = 0.05  # share of a corpus from which on they are dropped: tables and templates
PER_WEIGHT = 100_000  # lines that a weight of 1 stands for
MOST_THREADS = 8
WARMUP, SHORT_WARMUP = 1 / 5, 1 / 16  # shares of the steps; short for weights that are not random
FEW_PASSES, MANY_PASSES = 3, 10  # of a training through its text: the dropout depends on them


@dataclass(frozen=True)
class Draft:
    """A new study before its sizes are chosen. folder: of the held-out sets."""

    name: str
    pair: list[str]
    looks: list[Look]
    held_out: list[HeldOut]
    folder: Path
    cores: int
    hours: float
    invalid: str

    @property
    def characters(self) -> bool:
        return any(CHARACTERS & set(scripts(code)) for code in self.pair)

    def of_role(self, role: str) -> dict[str, Look]:
        return {look.corpus.name: look for look in self.looks if look.corpus.role == role}


def cleaning(pair: list[str]) -> Document:
    """The rules for all corpora of a pair, without langid.py."""
    source, target = (set(scripts(code)) for code in pair)
    rules: Document = {"max_tokens": 100, "max_length_ratio": 3.0, "identical": True}
    return rules if source & target else rules | {"min_script_share": 0.5}


def text(draft: Draft, plan: Plan) -> str:
    """The file, with a line break at its end."""
    parts = (_head(draft), _corpora(draft, plan), _cleaning(draft), _vocabulary(draft, plan), _models(draft, plan))
    return "\n".join(part.rstrip() + "\n" for part in (*parts, _measuring(plan)))


def _head(draft: Draft) -> str:
    source, target = draft.pair
    return f"""\
# {source}-{target}, proposed by `python -m study.new` for {draft.hours:g} hours on {of_cores(draft.cores)}.
# Every key and its default is described in docs/keys.md.

study: {draft.name} # results go to results/{draft.name}
source: {_yaml(source)}
target: {_yaml(target)}
seed: 1
"""


def _corpora(draft: Draft, plan: Plan) -> str:
    weighted = sum(look.corpus.role in ("train", "monolingual") for look in draft.looks) > 1
    lines = ["# `lines` is checked when a corpus is read; the estimate of time and disk needs it."]
    lines += [
        "# Weights follow the sizes, so that every line counts alike; raise that of text like your own."
    ] * weighted
    entries = [_corpus(draft, look, plan, weighted) for look in draft.looks]
    entries += [_held_out(draft, sets) for sets in draft.held_out]
    return "\n".join([*lines, "corpora:", *entries])


def _corpus(draft: Draft, look: Look, plan: Plan, weighted: bool) -> str:
    corpus, sample = look.corpus, plan.samples.get(look.corpus.name)
    training = corpus.role in ("train", "monolingual")
    lines = [f"  {corpus.name}: # {_described(look, draft.pair)}", f"    role: {corpus.role}"]
    if training and weighted:
        lines.append(f"    weight: {_weight(sample or look.lines):.2f}")
    lines += [f"    {key}: {_yaml(value)}" for key, value in corpus.source.items()]
    lines.append(f"    lines: {look.lines}")
    if sample:
        as_pairs = "as much as there are pairs, at most, and " * (corpus.role == "monolingual")
        lines.append(f"    sample: {sample} # drawn at random: {as_pairs}as much as the teacher translates in the time")
    if not training and look.lines > MOST_HELD_OUT:
        lines.append(f"    max_lines: {MOST_HELD_OUT} # every system translates all of them, several times")
    if draft.invalid == "drop":
        lines.append("    invalid: drop # any number of lines that cannot be read")
    if look.scores:
        score = {each.name: each.place for each in look.scores}
        lines.append(f"    #score: {_yaml(score)} # shown on the page of the corpora; then give a bound")
    lines.append("    licence: unknown # fill it in: it is kept with the results")
    if own := _own_cleaning(draft, look) if training else {}:
        why = "; ".join(reason for _, reason in own.values())
        lines.append(f"    cleaning: {_yaml({key: value for key, (value, _) in own.items()})} # {why}")
    return "\n".join(lines)


def _weight(lines: int) -> float:
    return round(max(lines / PER_WEIGHT, 0.01), 2)


def _described(look: Look, pair: list[str]) -> str:
    """A corpus in a line: words, languages, repetitions."""
    words = " and ".join(f"{mean:.0f}" for mean in look.words)
    known = " and ".join(f"{percent(look.share(side, pair[side]))} {pair[side]}" for side in range(len(look.words)))
    repeats = f"; {look.repeats:,} lines repeat earlier ones" if look.repeats else ""
    return f"{words} words a line; by langid.py {known} of {look.identified:,} sampled lines{repeats}"


def percent(share: float, digits: int = 0) -> str:
    """The share in per cent; a positive one that rounds to 0 is given as below the last digit."""
    least = 10.0**-digits
    return f"< {least:.{digits}f} %" if 0 < 100 * share < least / 2 else f"{100 * share:.{digits}f} %"


def _own_cleaning(draft: Draft, look: Look) -> dict[str, tuple[Any, str]]:
    """Where a corpus differs from the cleaning of the study, and why."""
    names = ("source", "target")[: len(look.languages)]
    sides = [name for side, name in enumerate(names) if identifies(look, side, draft.pair[side])]
    own: dict[str, tuple[Any, str]] = {}
    if len(sides) < len(look.languages):
        own["langid"] = sides, "langid.py is too often wrong on the rest"
    if (share := look.near_repeats / look.lines) >= NEAR_REPEATS:
        own["near_duplicates"] = True, f"{share:.0%} differ from an earlier line in case, punctuation and numbers only"
    return own


def _held_out(draft: Draft, sets: HeldOut) -> str:
    of = " and ".join(sets.origin)
    return f"""\
  {sets.role}: # random lines of {of}, left out of the training by cleaning; they are no measure of other texts
    role: {sets.role}
    file: {_yaml(shown(draft.folder / f"{sets.role}.{{lang}}"))}
    lines: {len(sets.pairs)}"""


def _cleaning(draft: Draft) -> str:
    why = {
        "max_tokens": "whitespace tokens",
        "max_length_ratio": "of the longer side to the shorter one, in letters of an alphabet",
        "identical": "pairs with the same text on both sides: nobody translated them",
        "min_script_share": "of the letters of a side, in the script of its language",
    }
    rules = "".join(f"  {key}: {_yaml(value)} # {why[key]}\n" for key, value in cleaning(draft.pair).items())
    return f"""\
cleaning: # of training text; results/{draft.name}/report/corpora.html shows what each rule drops
{rules}  langid: [source, target] # drop lines that langid.py takes for another language
"""


def _vocabulary(draft: Draft, plan: Plan) -> str:
    coverage = "\n  character_coverage: 0.9995 # of the characters: rare ones of thousands need no piece"
    coverage *= draft.characters
    return f"""\
vocabulary:
  pieces: {plan.pieces} # for {plan.pairs:,} pairs; fewer train and decode faster, more split fewer words{coverage}
  byte_fallback: true # characters without a piece, such as emoji, are written in bytes instead of being lost
  split_digits: true # numbers are copied digit by digit
"""


def _models(draft: Draft, plan: Plan) -> str:
    size, threads = plan.size, min(max(draft.cores // 2, 1), MOST_THREADS)
    side_by_side = f"two trainings run side by side on {draft.cores} cores" if draft.cores > 1 else "there is one core"
    cut = bool(size.start_layers)
    monolingual = draft.of_role("monolingual").items()
    sentences = plan.pairs + (0 if cut else sum(plan.samples.get(name, look.lines) for name, look in monolingual))
    teacher, student = plan.passes(plan.teacher_steps, plan.pairs), plan.passes(plan.student_steps, sentences)
    limit = f"{PASSES} passes are enough for a text" if plan.full else f"what {draft.hours:g} hours allow"
    return f"""\
# Shapes and learning rates: {size.like}.
teachers:
  teacher:
    shape: {_yaml(size.teacher)}
    training: &training
      steps: {plan.teacher_steps} # {teacher:.1f} passes through pairs of {TOKENS} pieces a side: {limit}
      batch_tokens: {size.batch_tokens}
      learning_rate: {size.teacher_rate}
{_schedule(plan.teacher_steps, teacher)}
      threads: {threads} # {side_by_side}

distillation:
  beam_size: 4
  n_best: {4 if cut else 1} # translations of a sentence that are kept
  shards: {max(4, draft.cores, sentences // 50_000)} # a killed run goes on with the next one

mixtures:
{_distilled(draft, plan)}
  original: {{targets: original}} # the pairs as they are, for a control

students:
  deep: # deep encoder, shallow decoder: the decoder runs once a token, the encoder once a sentence
    shape: {_yaml(size.deep)}{_start(size, "deep")}
{_twin(size)}  tiny:
    shape: {_yaml(size.tiny)}{_start(size, "tiny")}
{_direct(size)}student_training:
  <<: *training
  steps: {plan.student_steps} # {student:.1f} passes through the translations
  learning_rate: {size.student_rate}
{_schedule(plan.student_steps, student, "  ", SHORT_WARMUP if cut else WARMUP)}
"""


def _distilled(draft: Draft, plan: Plan) -> str:
    """The mixture of students. A teacher of few steps knows little, so real translations choose among its own."""
    if not plan.size.start_layers:
        return "  distilled: {targets: best} # the teacher's translations, which students learn from"
    weights = {name: _weight(plan.samples.get(name, look.lines)) for name, look in draft.of_role("train").items()}
    return f"""\
  # Of the teacher's four best translations the one closest to the real one, so that they learn from both.
  distilled: {_yaml({"targets": "interpolated", "weights": weights})}"""


def _twin(size: Size) -> str:
    """The key of a student that has a control of its own: one that begins with random weights."""
    why = "twice, to compare the teacher's translations with the original targets"
    return "" if size.start_layers else f"    mixtures: [distilled, original] # {why}\n"


def _direct(size: Size) -> str:
    """The control of students that begin with layers of the teacher."""
    if not size.start_layers:
        return ""
    return f"""\
  direct: # the control: as large as deep, without a teacher, from random weights and the real translations
    shape: {_yaml(size.deep)}
    mixtures: [original]
    training: {{learning_rate: {size.direct_rate}}}
"""


def _start(size: Size, student: str) -> str:
    """The keys of a student that begins with layers of the teacher."""
    if student not in size.start_layers:
        return ""
    layers = _yaml(size.start_layers[student])
    return f"""
    start_from: teacher # so it learns more in few steps
    start_layers: {layers} # its layers, from 0; only numbers of layers may differ"""


def _schedule(steps: int, passes: float, indent: str = "      ", warmup: float = WARMUP) -> str:
    dropout = 0 if passes < FEW_PASSES else 0.1 if passes < MANY_PASSES else 0.2
    why = "few passes need none" if not dropout else "against learning by heart"
    lines = (
        f"warmup_steps: {min(rounded(steps * warmup), 4000)}",
        "decay: cosine # to 0 at the last step, which suits short trainings",
        f"dropout: {dropout} # {why}",
        f"checkpoint_steps: {rounded(steps / 18)}",
        "average_last: 5 # checkpoints, the last quarter of the training",
        f"validation_steps: {rounded(steps / 4)}",
    )
    return "\n".join(f"{indent}{line}" for line in lines)


def _measuring(plan: Plan) -> str:
    everywhere = "in_every_engine: [teacher, deep] # the others in the native engine alone, which saves minutes"
    compared = f"\n  {everywhere}" if plan.size.start_layers else ""
    return f"""\
alignment:
  pairs: {min(plan.pairs, 1_000_000)} # that the aligner learns from

decoding:
  compute_types: [float32, int8] # int16, as in the papers, takes longer on most CPUs{compared}
  beam_sizes: [1, 4]
  runs: 3
  cores: [{machine.cores()[0]}]
"""


def _yaml(value: Any, flow: bool = False) -> str:
    """A value as YAML on one line. flow: whether it is inside braces or brackets."""
    if isinstance(value, dict):
        pairs = (f"{_yaml(key, flow=True)}: {_yaml(item, flow=True)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_yaml(item, flow=True) for item in value) + "]"
    quoted = json.dumps(value, ensure_ascii=False)  # JSON is YAML
    return value if isinstance(value, str) and _is_bare(value, flow) else quoted


def _is_bare(value: str, flow: bool) -> bool:
    """Whether text needs no quotes."""
    try:
        return bool(yaml.safe_load(f"[{value}]" if flow else f"key: {value}") == ([value] if flow else {"key": value}))
    except yaml.YAMLError:
        return False
