"""The systems of a new study, and what they learn from, as text with comments that explain the values."""

from corpora.settings import TARGET_ONLY
from study.new.draft import Draft, as_yaml, weight
from study.new.sizes import PASSES, Plan, Size, rounded
from study.resources import TOKENS

MOST_THREADS = 8
WARMUP, SHORT_WARMUP = 1 / 5, 1 / 16  # shares of the steps; short for weights that are not random
FEW_PASSES, MANY_PASSES = 3, 10  # of a training through its text: the dropout depends on them


def models(draft: Draft, plan: Plan) -> str:
    size, threads = plan.size, min(max(draft.cores // 2, 1), MOST_THREADS)
    side_by_side = f"two trainings run side by side on {draft.cores} cores" if draft.cores > 1 else "there is one core"
    cut = bool(size.start_layers)
    monolingual = draft.of_role("monolingual").items()
    sentences = plan.pairs + (0 if cut else sum(plan.samples.get(name, look.lines) for name, look in monolingual))
    teacher, student = plan.passes(plan.teacher_steps, plan.taught), plan.passes(plan.student_steps, sentences)
    limit = f"{PASSES} passes are enough for a text" if plan.full else f"what {draft.hours:g} hours allow"
    return f"""\
# Shapes and learning rates: {size.like}.
teachers:
  teacher:{_augmented(plan)}
    shape: {as_yaml(size.teacher)}
    training: &training
      steps: {plan.teacher_steps} # {teacher:.1f} passes through pairs of {TOKENS} pieces a side: {limit}
      batch_tokens: {size.batch_tokens}
      learning_rate: {size.teacher_rate}
{_schedule(plan.teacher_steps, teacher)}
      threads: {threads} # {side_by_side}

{_back_translation(plan)}distillation:
  beam_size: 4
  n_best: {4 if cut else 1} # translations of a sentence that are kept
  shards: {max(4, draft.cores, sentences // 50_000)} # a killed run goes on with the next one

mixtures:
{_distilled(draft, plan)}{_mixed_back(draft, plan)}
  original: {{targets: original}} # the pairs as they are, for a control

students:
  deep: # deep encoder, shallow decoder: the decoder runs once a token, the encoder once a sentence
    shape: {as_yaml(size.deep)}{_start(size, "deep")}
{_twin(size)}  tiny:
    shape: {as_yaml(size.tiny)}{_start(size, "tiny")}
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
    weights = _weights(draft, plan, "train")
    return f"""\
  # Of the teacher's four best translations the one closest to the real one, so that they learn from both.
  distilled: {as_yaml({"targets": "interpolated", "weights": weights})}"""


def _weights(draft: Draft, plan: Plan, *roles: str) -> dict[str, float]:
    """Of the corpora with these roles, by their sizes."""
    looks = {name: look for role in roles for name, look in draft.of_role(role).items()}
    return {name: weight(plan.samples.get(name, look.lines)) for name, look in looks.items()}


AUGMENTED = "augmented"  # the mixture of the pairs and the back-translations


def _augmented(plan: Plan) -> str:
    """The key of a teacher that learns from back-translations."""
    why = "without it, it learns from the pairs alone"
    return f"\n    mixture: {AUGMENTED} # {why}" if plan.target_only else ""


def _mixed_back(draft: Draft, plan: Plan) -> str:
    """The mixture of this teacher."""
    mixture = {"targets": "original", "weights": _weights(draft, plan, "train", TARGET_ONLY)}
    return f"\n  {AUGMENTED}: {as_yaml(mixture)} # for the teacher alone" if plan.target_only else ""


def _back_translation(plan: Plan) -> str:
    """The section, if there is text of the target language alone."""
    if not plan.target_only:
        return ""
    return f"""\
# A backward teacher translates the text of the target language alone, and the teacher learns from these pairs, too
# (docs/teachers-and-students.md#back-translation). Propose the study without this text to see what it is worth.
back_translation:
  teacher: {{shape: {as_yaml(plan.size.teacher)}, training: *training}} # as long as the teacher
  #tag: <BT> # a piece in front of its translations, by which the teacher tells them from real text

"""


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
    shape: {as_yaml(size.deep)}
    mixtures: [original]
    training: {{learning_rate: {size.direct_rate}}}
"""


def _start(size: Size, student: str) -> str:
    """The keys of a student that begins with layers of the teacher."""
    if student not in size.start_layers:
        return ""
    layers = as_yaml(size.start_layers[student])
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
