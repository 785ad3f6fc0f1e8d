"""Tests of the usage counters: time, the share of others, energy, memory."""

import os
import signal
import subprocess
import sys
import time

import pytest

from measure import timing_loop

pytestmark = pytest.mark.slow

CORE = min(os.sched_getaffinity(0))


def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.fixture
def pinned():
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {CORE})
    yield
    os.sched_setaffinity(0, before)


@pytest.mark.skipif(timing_loop.busy_seconds([CORE]) is None, reason="no /proc/stat here")
def test_others_on_the_core_are_seen(pinned):
    """A busy neighbour takes about half the core, whatever else there is. It is no child: its parent has ended."""
    start = f"{sys.executable} -c 'while True: pass' > /dev/null & echo $!"
    neighbour = int(subprocess.check_output(["sh", "-c", start]))
    try:
        time.sleep(0.2)
        with timing_loop.watch([CORE]) as used:
            work(0.5)
    finally:
        os.kill(neighbour, signal.SIGKILL)
    assert used.seconds > 0.7 and 0.45 < used.cpu_seconds < 0.7
    assert 0.3 < used.others < 1.05


def test_idle_time_is_no_work(tmp_path, monkeypatch):
    """user nice system idle iowait irq softirq steal guest: of 100 ticks a core 60 were idle or waited for a disk."""
    stat = tmp_path / "stat"
    monkeypatch.setattr(timing_loop, "STAT", stat)
    stat.write_text("cpu  0\ncpu0 10 0 0 50 5 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0\n")
    before = timing_loop.busy_seconds([0, 1])
    stat.write_text("cpu  0\ncpu0 30 5 3 100 15 2 1 9 20\ncpu1 0 0 0 100 0 0 0 0 0\n")
    assert timing_loop.busy_seconds([0, 1]) - before == pytest.approx(40 / timing_loop.TICKS)


def test_short_work_has_no_share_of_others(pinned, tmp_path, monkeypatch):
    with timing_loop.watch([CORE]) as used:
        time.sleep(0.05)
    assert used.seconds >= 0.05 and used.cpu_seconds < 0.05 and used.others is None

    monkeypatch.setattr(timing_loop, "STAT", tmp_path / "absent")  # a machine without counts
    monkeypatch.setattr(timing_loop, "SHORTEST", 0)
    with timing_loop.watch([0]) as used:
        pass
    assert used.others is None


def test_energy_is_that_of_all_packages_and_counters_begin_again(tmp_path, monkeypatch):
    def count(**microjoules):
        for counter, value in microjoules.items():
            folder = tmp_path / f"intel-rapl:{counter[1:].replace('_', ':')}"
            folder.mkdir(exist_ok=True)
            (folder / "energy_uj").write_text(f"{value}\n")
            (folder / "max_energy_range_uj").write_text("1000000000\n")

    monkeypatch.setattr(timing_loop, "POWERCAP", tmp_path)
    count(_0=5_000_000, _1=999_000_000, _0_0=1)  # 0:0 is a part of package 0
    before = timing_loop.joules()
    count(_0=7_500_000, _1=500_000)
    assert timing_loop.spent(before, timing_loop.joules()) == pytest.approx(2.5 + 1.5)
    (tmp_path / "intel-rapl:0" / "energy_uj").unlink()
    assert timing_loop.spent(before, timing_loop.joules()) is None and timing_loop.spent({}, {}) is None


def test_the_work_of_children_is_counted_once_and_not_as_that_of_others(pinned):
    """So that an engine in processes of its own is no noise."""
    program = "import sys; [sum(range(10_000_000)) for line in sys.stdin if print(flush=True) is None]"
    child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with timing_loop.watch([CORE]) as used:
        child.stdin.write(b"\n\n")
        child.stdin.flush()
        child.stdout.readline()
        child.stdout.readline()  # after the first sum
    child.communicate()
    assert 0.03 < used.cpu_seconds < 1.05 * used.seconds + 0.05


def test_memory_is_that_of_the_process_and_its_children():
    before = timing_loop.peak_rss_bytes()
    command = [sys.executable, "-c", "x = bytearray(80_000_000); print(len(x), flush=True); input()"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    assert 80e6 < timing_loop.peak_rss_bytes() - before < 200e6
    child.communicate(b"\n")
    assert timing_loop.peak_rss_bytes() < before + 50e6
