"""The n-best list of a text, from the answers of a server: kept ones if there are, else new ones, which are kept."""

import threading
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from math import log
from pathlib import Path

from distill.http_teacher.budget import Budget, usd
from distill.http_teacher.checks import Checks, text_of
from distill.http_teacher.counts import AnswerCounts, Asked, Tally
from distill.http_teacher.kept import Answer, KeptAnswers, encoded
from distill.http_teacher.prompt import Prompt, Request
from distill.http_teacher.server import GOES_ON, REJECTED, SILENT, NoAnswer, Server, Unreadable
from distill.n_best_lists import NBestList, ScoredText, ranked
from distill.settings import AskingSettings
from formats import records
from nmt_frontier.errors import UserError

AHEAD = 4  # texts in work or waiting for each request at a time, so that a slow answer does not stop the others
HOPELESS = 100  # texts in a row without an answer that passes: the prompt is wrong, or the account
STRIPES = 1024  # locks; requests of one key have the same, so that nothing is asked twice at a time
EXCERPT = 200  # characters of an answer in a message


class HttpTeacher:
    """Asks for translations.

    folder: of the answers, and of what is spent. name: of the teacher. Raises UserError if the key is missing, if the
    budget is used up, and if the server does not answer; what it has answered is kept.
    """

    def __init__(self, settings: AskingSettings, folder: Path, name: str):
        self._http, self._name = settings.http, name
        self._prompt = Prompt(settings.http, settings.languages, settings.seed)
        self._checks = Checks(settings.languages, settings.ratio)
        self._kept = KeptAnswers(folder / f"{name}.jsonl")
        spent = usd(settings.http.prices, *self._kept.tokens)
        self._budget = Budget(folder / f"{name}.spent.json", settings.http.budget, spent)
        self._stripes = [threading.Lock() for _ in range(STRIPES)]
        self._rejected: dict[str, Answer] = {}
        self._tally = Tally()

    @cached_property
    def _server(self) -> Server:
        """Not before there is something to ask: what is kept needs no key."""
        return Server(self._http)

    def n_best(self, sources: Iterable[str]) -> Generator[NBestList, None, None]:
        """The list of each text, in order; it is empty if no answer passes."""
        hopeless = 0
        pool = ThreadPoolExecutor(self._http.concurrency)
        try:
            for asked in self._in_order(pool, sources):
                self._tally.add(asked)
                hopeless = hopeless + 1 if asked.failed and not asked.passed else 0
                if hopeless == HOPELESS:
                    raise UserError(self._no_hope(*asked.failed[-1]))
                yield NBestList(asked.source, hypotheses(asked.passed))
        finally:
            pool.shutdown(cancel_futures=True)
        for answer in self._rejected.values():  # as others passed, the server rejects these, not the account
            self._kept.keep(answer)

    def counts(self) -> AnswerCounts:
        """Of the texts whose lists were read."""
        return self._tally.counts(self._http.prices)

    def _in_order(self, pool: ThreadPoolExecutor, sources: Iterable[str]) -> Iterator[Asked]:
        waiting: deque[Future[Asked]] = deque()
        for source in sources:
            waiting.append(pool.submit(self._ask, source))
            if len(waiting) == AHEAD * self._http.concurrency:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _ask(self, source: str) -> Asked:
        asked = Asked(source, [], [], [])
        for candidate in range(self._http.candidates if source else 0):
            self._ask_candidate(asked, candidate)
        return asked

    def _ask_candidate(self, asked: Asked, candidate: int) -> None:
        """Ask until an answer passes, with another seed after each that failed."""
        attempt, unreadable = 0, ""
        for _ in range(self._http.tries):
            try:
                answer, line = self._answer(self._prompt.request(asked.source, candidate, attempt))
            except (
                Unreadable
            ) as error:  # with the same seed again, so that what is kept is all that a repeated run asks
                unreadable = f"{self._http.address}: this is no whole answer: {str(error)!r}; {GOES_ON}"
                continue
            asked.lines.append(line)
            if (reason := self._checks.reason(asked.source, answer)) is None:
                asked.passed.append(answer)
                return
            asked.failed.append((reason, answer))
            attempt += 1
        if unreadable:  # no fault of the text: the next run may get a whole one
            raise UserError(unreadable)

    def _answer(self, request: Request) -> tuple[Answer, bytes]:
        """The answer and its line."""
        with self._stripes[int(request.key[:8], 16) % STRIPES]:
            if found := self._kept.get(request.key):
                return found
            answer = self._rejected.get(request.key) or self._paid(request)
            if answer.finish != REJECTED:
                return answer, self._kept.keep(answer)
            self._rejected[request.key] = answer
            return answer, encoded(answer)

    def _paid(self, request: Request) -> Answer:
        """A new answer, within the budget."""
        prices, server = self._http.prices, self._server
        most = usd(prices, request.most_input, request.most_output)
        reserved = most * (1 + SILENT)
        self._budget.reserve(reserved)
        try:
            answer, before = server.answer(request)
        except (NoAnswer, Unreadable) as error:
            self._budget.settle(reserved, most * (error.billed if isinstance(error, NoAnswer) else 1))
            raise
        known = answer.finish == REJECTED or None not in (answer.input, answer.output)
        own = usd(prices, answer.input or 0, answer.output or 0) if known else most
        self._budget.settle(reserved, own + before * most)
        return answer

    def _no_hope(self, reason: str, last: Answer) -> str:
        answered = f"the last answer ({reason}): {last.text[:EXCERPT]!r}"
        remedy = "see http.prompt, http.model, the account and the texts; answers so far are kept"
        return f"teachers.{self._name}: nothing passed for {HOPELESS} texts in a row, {answered}; {remedy}"


def hypotheses(answers: list[Answer]) -> list[ScoredText]:
    """The different translations, with their numbers. Their score is the logarithm of their share."""
    drawn = Counter(records.sentence(text_of(answer)) for answer in answers)
    return ranked(ScoredText(text, log(number / len(answers)), number) for text, number in drawn.items())
