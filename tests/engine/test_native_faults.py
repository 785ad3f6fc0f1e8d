"""The native engine out of memory: one line, and the worker goes on. A signal while it decodes: it ends soon."""

import ctypes
import functools
import os
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import models
import pytest
from native import called, engine, folders, outputs, sentences, worker

from nmt_frontier.errors import UserError
from nmt_frontier.translator import Translator

pytestmark = pytest.mark.slow

# Memory

LARGE, SMALL = sentences(300, seed=5, longest=60), sentences(4, seed=6)
STEP = 64 * 1024  # additional bytes per try


def limit(extra):
    """Limit this process to so many bytes more than it has; None: no limit."""
    ctypes.CDLL(None).malloc_trim(0)  # else freed memory would be used first
    with open("/proc/self/status") as status:
        (size,) = (int(line.split()[1]) * 1024 for line in status if line.startswith("VmData:"))
    _, unlimited = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (unlimited if extra is None else size + extra, unlimited))


def decode_with_more_and_more(root, kind, threads, beam):
    """Decode a large batch with a little more memory each time; batches after a failure are right."""
    options = {"beam_size": beam}
    large, small = (outputs(worker(kind, root=root), batch, **options) for batch in (LARGE, SMALL))
    found, extra = None, 0
    while found is None:
        one = worker(kind, threads, root)
        assert outputs(one, SMALL, **options) == small
        limit(extra)
        try:
            found = outputs(one, LARGE, **options)
        except (engine.EngineError, MemoryError) as error:  # the latter is Python's own
            assert str(error) in ("", "not enough memory")
            assert outputs(one, SMALL, **options) == small
        finally:
            limit(None)
        assert outputs(one, LARGE, **options) == large
        extra += STEP
    assert found == large and extra > STEP, "memory was never short"


WAYS = [("float32", 1, 1), ("int8", 1, 4), ("int16", 1, 3), ("int8", 2, 4)]


@pytest.mark.parametrize(("kind", "threads", "beam"), WAYS)
def test_a_worker_goes_on_after_memory_ran_out(kind, threads, beam):
    called(decode_with_more_and_more, folders(), kind, threads, beam)


def translate_with_too_little(root):
    translator = Translator(Path(root) / "int8", beam_size=8, workers=1, batch_tokens=100_000)
    lines, few = models.sentences(4000), models.sentences(5, seed=2)
    expected = [*translator.translate(few)]
    limit(8 << 20)
    with pytest.raises(UserError, match=r"failed at a batch of \d+ sentences.*: not enough memory; .* lower --workers"):
        [*translator.translate(lines)]
    assert [*translator.translate(few)] == expected
    limit(None)
    assert [*translator.translate(lines)][:100] == [*translator.translate(lines[:100])]


def test_too_little_memory_for_a_batch_is_a_line_with_advice():
    called(translate_with_too_little, folders())


# Signals

LINES = models.sentences(10_000, seed=3)
BATCH = ["--beam-size", 8, "--batch-tokens", 1000, "--workers", 1]  # several windows
SOON = 20  # seconds, on a busy machine; a worker that did not stop would go on for minutes


def started(folder, *options):
    """Translate in a process and session of its own, which heeds SIGINT even if the tests run in the background."""
    files = ["--input", folder / "in", "--output", folder / "out"]
    call = [
        sys.executable,
        "-m",
        "nmt_frontier",
        "translate",
        "--model",
        folders() / "float32",
        *BATCH,
        *files,
        *options,
    ]
    heed = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen([*map(str, call)], stderr=subprocess.PIPE, start_new_session=True, preexec_fn=heed)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The translation in one go."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "in").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    process = started(folder)
    reported = process.communicate()[1]
    assert b"error" not in reported and process.returncode == 0
    (folder / "reported").write_bytes(reported)
    return folder


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_translation_soon_and_it_goes_on_to_the_same_bytes(whole, tmp_path, number, status):
    (tmp_path / "in").write_bytes((whole / "in").read_bytes())
    process = started(tmp_path)
    while not (tmp_path / "out").exists() or not (tmp_path / "out").stat().st_size:
        assert process.poll() is None
        time.sleep(0.02)
    start = time.monotonic()
    if number == signal.SIGINT:  # a terminal sends it to all processes
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    assert process.communicate()[1] == b"" and process.returncode == status
    assert time.monotonic() - start < SOON
    written = (tmp_path / "out").read_bytes()
    assert 0 < len(written) < (whole / "out").stat().st_size and (tmp_path / "out.progress").exists()
    resumed = started(tmp_path, "--resume")
    assert resumed.communicate()[1] == (whole / "reported").read_bytes() and resumed.returncode == 0
    assert (tmp_path / "out").read_bytes() == (whole / "out").read_bytes()
    assert not (tmp_path / "out.progress").exists()


def test_a_batch_that_is_decoded_is_stopped():
    """With an error; without a stop it would return translations."""
    translator = Translator(folders() / "float32", beam_size=32, workers=1, batch_tokens=1_000_000)
    with ThreadPoolExecutor(1) as pool:
        whole = pool.submit(lambda: [*translator.translate(LINES)])
        time.sleep(1)
        start = time.monotonic()
        translator.close()
        with pytest.raises(UserError, match="decoding was stopped"):
            whole.result()
        assert time.monotonic() - start < SOON
