"""What teachers behind HTTP are asked: requests, tokens, USD and hours, from assumed lengths and times."""

from typing import NamedTuple

from distill.http_teacher.budget import usd
from distill.http_teacher.prompt import Prompt
from distill.settings import HttpSection
from study.resources import TOKENS, size
from study.workload import TEST_SENTENCES, Work

TOKEN_BYTES = 4  # of a prompt
ANSWER_TOKENS = 30  # vocabularies of language models split less well than those of a study (TOKENS)
ANSWER_SECONDS = 2.0  # of a request, on a server that answers as many at a time as it is asked


class Asking(NamedTuple):
    """A teacher's requests, one for each candidate; those for failed answers come on top. usd: None without prices."""

    teacher: str
    requests: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    seconds: float
    budget: float | None

    @property
    def text(self) -> str:
        cost = "no prices" if self.usd is None else f"{self.usd:,.2f} USD"
        if self.usd is not None and self.budget is not None:
            cost += f" of {self.budget:g}" + ", more than its budget" * (self.usd > self.budget)
        tokens = f"{self.input_tokens:,} tokens in, {self.output_tokens:,} out"
        return f"{self.requests:,} requests, {tokens}, {cost}, {self.seconds / 3600:,.1f} hours"


def asking(work: Work) -> list[Asking]:
    """What each teacher behind HTTP is asked if nothing is kept yet."""
    return [_of(work, teacher) for teacher in work.study.teachers.asked]


def _of(work: Work, teacher: str) -> Asking:
    settings = work.study.teachers.asking(teacher)
    http = settings.http
    requests = http.candidates * sum(sentences(work, teacher).values())
    prompt = len(Prompt(http, settings.languages, settings.seed).request("", 0, 0).body)
    tokens = requests * (prompt // TOKEN_BYTES + TOKENS), requests * ANSWER_TOKENS
    cost = usd(http.prices, *tokens) if http.prices else None
    seconds = asking_seconds(http, requests // http.candidates)
    return Asking(teacher, requests, *tokens, cost, seconds, http.budget)


def asking_seconds(http: HttpSection, sentences: float) -> float:
    """Seconds from the first request to the last answer."""
    return sentences * http.candidates * ANSWER_SECONDS / http.concurrency


def sentences(work: Work, teacher: str) -> dict[str, int]:
    """Those that a teacher translates, by corpus: what is learned from, and the test sets, for report/gap.md."""
    learned = {corpus: work.sizes[corpus] for corpus in work.selected if teacher in work.translators(corpus)}
    corpora = work.config.corpora
    return learned | {name: size(corpora[name]) or TEST_SENTENCES for name in work.study.corpora.test}
