"""Threads and processes that use a Translator: they find what one alone does."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import native
import pytest
from models import sentences

from nmt_frontier import Translator
from nmt_frontier.ctranslate2 import Translator as OfPieces

THREADS, TIMES = 4, 15
OPTIONS = [
    {},
    {"beam_size": 4, "workers": 1},
    {"workers": 3, "batch_tokens": 16},
    {"workers": 2, "threads": 2, "without": {"overlap"}},
    {"html": True, "recase": True, "sentences": True, "protect": "url,number", "protect_missing": "keep"},
]


@pytest.fixture(scope="module")
def folder():
    return native.folders() / "int8"


@pytest.fixture(autouse=True)
def often():
    """Threads take turns often, so that they meet."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def text(number):
    """Lines of a thread: none, few or many, short and long ones."""
    lines = sentences(40 * number, seed=number)
    return ["", "7", f"<p>A <b>DOG</b> RUNS</p> to http://a.b/{number}", " ".join(lines[:30]), *lines] if number else []


def at_once(work):
    """What ``work`` of each thread's number returns; all begin together."""
    ready = threading.Barrier(THREADS)
    with ThreadPoolExecutor(THREADS) as pool:
        return [*pool.map(lambda number: (ready.wait(), work(number))[1], range(THREADS))]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_one_translator_serves_several_threads(folder, options):
    alone, shared = Translator(folder, **options), Translator(folder, **options)
    expected = [[*alone.translate(text(number))] for number in range(THREADS)]
    for _ in range(TIMES):
        assert at_once(lambda number: [*shared.translate(text(number))]) == expected
    assert len({*expected[-1]}) > 3
    for name in ("lines", "source_tokens", "target_tokens"):
        assert shared.counts[name] == TIMES * alone.counts[name] > 0


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_each_thread_has_its_translator(folder, options):
    expected = [[*Translator(folder, **options).translate(text(number))] for number in range(THREADS)]

    def work(number):
        own = Translator(folder, **options)
        return [[*own.translate(text(number))] for _ in range(TIMES)]

    assert at_once(work) == [[lines] * TIMES for lines in expected]


def test_threads_read_their_iterators_in_turn(folder):
    """An iterator that waits for its reader keeps no other one waiting."""
    shared = Translator(folder, workers=1, batch_tokens=16)
    expected = [*shared.translate(text(3))]
    waiting = shared.translate(text(3))
    first = next(waiting)
    assert at_once(lambda _: [*shared.translate(text(3))]) == [expected] * THREADS
    assert [first, *waiting] == expected


def test_a_second_thread_at_an_iterator_is_an_error(folder):
    errors = []

    def second():
        try:
            next(found)
        except ValueError as error:
            errors.append(str(error))

    def lines():
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
        yield "a b"

    found = Translator(folder).translate(lines())
    assert len([*found]) == 1 and errors == ["generator already executing"]


def test_an_error_in_the_input_ends_only_its_own_call(folder):
    shared = Translator(folder, batch_tokens=16)
    expected = [*shared.translate(text(2))]

    def lines():
        yield from text(3)
        raise KeyError

    def work(number):
        if number % 2:
            return [*shared.translate(text(2))] == expected
        with pytest.raises(KeyError):
            [*shared.translate(lines())]
        return True

    assert all(all(at_once(work)) for _ in range(TIMES))


def test_threads_share_the_class_of_pieces(folder):
    batches = [[[*word] for word in " ".join(sentences(5 + number, seed=number)).split()] for number in range(THREADS)]
    shared = OfPieces(str(folder), inter_threads=2, intra_threads=1)

    def work(number):
        found = shared.translate_batch(batches[number], beam_size=3, num_hypotheses=2, return_scores=True)
        return [(result.hypotheses, result.scores) for result in found]

    expected = [*map(work, range(THREADS))]
    for _ in range(TIMES):
        assert at_once(work) == expected


FORK = """
import gc, os, signal, sys
from nmt_frontier import Translator
from nmt_frontier.errors import UserError

folder, lines = sys.argv[1], ["ab cd", "e f g"]
inherited = [Translator(folder, threads=threads) for threads in (1, 2)]
expected = [*inherited[0].translate(lines)]
if not (child := os.fork()):
    signal.alarm(60)  # ends a process that hangs
    refused = 0
    while inherited:
        try:
            [*inherited.pop().translate(lines)]
        except UserError:
            refused += 1
    gc.collect()
    os._exit(100 + refused if [*Translator(folder, threads=2).translate(lines)] == expected else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), [*inherited[1].translate(lines)] == expected)
"""


def test_a_forked_process_makes_its_own(folder):
    """It neither waits for the threads that it lacks, nor at the end of what it inherited."""
    assert native.run(FORK, folder).split() == ["102", "True"]


def test_closing_ends_what_other_threads_translate(folder):
    shared, begun = Translator(folder, workers=1), threading.Event()

    def lines():
        while True:
            yield from sentences(500)
            begun.set()

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(lambda: [None for _ in shared.translate(lines())])
        assert begun.wait(60)
        shared.close()
        assert reading.exception(60)
    with pytest.raises(RuntimeError, match="after shutdown"):
        next(shared.translate(["a"]))
