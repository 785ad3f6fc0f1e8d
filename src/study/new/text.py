"""The configuration of a new study as text, with comments that explain its values."""

from typing import Any

from common.document import Document
from corpora.language_codes import scripts
from corpora.settings import SIDES, TARGET_ONLY
from nmt_frontier import machine
from study.estimate import of_cores
from study.new.draft import Draft, as_yaml, weight
from study.new.look import HeldOut, Look, identifies
from study.new.models import models
from study.new.pairing import ALONE, shown
from study.new.sizes import Plan

MOST_HELD_OUT = 3000  # lines of a dev or test set: every system translates them all, several times
NEAR_REPEATS = 0.05  # share of a corpus from which on they are dropped: tables and templates


def cleaning(pair: list[str]) -> Document:
    """The rules for all corpora of a pair, without langid.py."""
    source, target = (set(scripts(code)) for code in pair)
    rules: Document = {"max_tokens": 100, "max_length_ratio": 3.0, "identical": True}
    return rules if source & target else rules | {"min_script_share": 0.5}


def text(draft: Draft, plan: Plan) -> str:
    """The file, with a line break at its end."""
    parts = (_head(draft), _corpora(draft, plan), _cleaning(draft), _vocabulary(draft, plan), models(draft, plan))
    return "\n".join(part.rstrip() + "\n" for part in (*parts, _measuring(plan)))


def _head(draft: Draft) -> str:
    source, target = draft.pair
    return f"""\
# {source}-{target}, proposed by `python -m study.new` for {draft.hours:g} hours on {of_cores(draft.cores)}.
# Every key and its default is described in docs/keys.md.

study: {draft.name} # results go to results/{draft.name}
source: {as_yaml(source)}
target: {as_yaml(target)}
seed: 1
"""


def _corpora(draft: Draft, plan: Plan) -> str:
    weighted = sum(look.corpus.trains for look in draft.looks) > 1
    lines = ["# `lines` is checked when a corpus is read; the estimate of time and disk needs it."]
    lines += [
        "# Weights follow the sizes, so that every line counts alike; raise that of text like your own."
    ] * weighted
    entries = [_corpus(draft, look, plan, weighted) for look in draft.looks]
    entries += [_held_out(draft, sets) for sets in draft.held_out]
    return "\n".join([*lines, "corpora:", *entries])


def _corpus(draft: Draft, look: Look, plan: Plan, weighted: bool) -> str:
    corpus, sample = look.corpus, plan.samples.get(look.corpus.name)
    training = corpus.trains
    lines = [f"  {corpus.name}: # {_described(look, draft.pair)}", f"    role: {corpus.role}"]
    if training and weighted and corpus.role != TARGET_ONLY:
        lines.append(f"    weight: {weight(sample or look.lines):.2f}")
    lines += [f"    {key}: {as_yaml(value)}" for key, value in corpus.source.items()]
    lines.append(f"    lines: {look.lines}")
    if sample:
        as_pairs = "as much as there are pairs, at most, and " * (corpus.role in ALONE)
        lines.append(f"    sample: {sample} # drawn at random: {as_pairs}as much as a teacher translates in the time")
    if not training and look.lines > MOST_HELD_OUT:
        lines.append(f"    max_lines: {MOST_HELD_OUT} # every system translates all of them, several times")
    if draft.invalid == "drop":
        lines.append("    invalid: drop # any number of lines that cannot be read")
    if look.scores:
        score = {each.name: each.place for each in look.scores}
        lines.append(f"    #score: {as_yaml(score)} # shown on the page of the corpora; then give a bound")
    lines.append("    licence: unknown # fill it in: it is kept with the results")
    if own := _own_cleaning(draft, look) if training else {}:
        why = "; ".join(reason for _, reason in own.values())
        lines.append(f"    cleaning: {as_yaml({key: value for key, (value, _) in own.items()})} # {why}")
    return "\n".join(lines)


def _described(look: Look, pair: list[str]) -> str:
    """A corpus in a line: words, languages, repetitions."""
    words = " and ".join(f"{mean:.0f}" for mean in look.words)
    known = " and ".join(look.known(pair))
    repeats = f"; {look.repeats:,} lines repeat earlier ones" if look.repeats else ""
    return f"{words} words a line; by langid.py {known} of {look.identified:,} sampled lines{repeats}"


def _own_cleaning(draft: Draft, look: Look) -> dict[str, tuple[Any, str]]:
    """Where a corpus differs from the cleaning of the study, and why."""
    columns = enumerate(look.corpus.sides)
    sides = [SIDES[side] for column, side in columns if identifies(look, column, draft.pair[side])]
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
    file: {as_yaml(shown(draft.folder / f"{sets.role}.{{lang}}"))}
    lines: {len(sets.pairs)}"""


def _cleaning(draft: Draft) -> str:
    why = {
        "max_tokens": "whitespace tokens",
        "max_length_ratio": "of the longer side to the shorter one, in letters of an alphabet",
        "identical": "pairs with the same text on both sides: nobody translated them",
        "min_script_share": "of the letters of a side, in the script of its language",
    }
    rules = "".join(f"  {key}: {as_yaml(value)} # {why[key]}\n" for key, value in cleaning(draft.pair).items())
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
