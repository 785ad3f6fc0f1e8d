"""A command in a child process, so that a kill for want of memory is told."""

import os
import signal
import sys
from collections.abc import Callable

PR_SET_PDEATHSIG = 1  # prctl(2): the signal that a process gets when its parent dies


def guarded(main: Callable[[], None], advice: str) -> None:
    """Run ``main`` in a child process, pass signals on to it, and end with its status, 128 + N after signal N.

    If the child is killed with SIGKILL, print one line with ``advice``. Call this before threads are started, and
    before anything else is imported, which this process would only have to clean up. Only Linux kills for want of
    memory; on other systems ``main`` runs in this process.
    """
    if sys.platform != "linux":
        main()
        return
    if not (child := os.fork()):
        import ctypes  # inside: for the child only

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.signal(signal.SIGINT, _interrupted)
        main()
        return
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):  # a terminal sends the last one to the child, too
        signal.signal(number, lambda received, _: os.kill(child, received))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == -signal.SIGKILL:
        print(f"error: killed, which the kernel does when memory runs out; {advice}", file=sys.stderr)
    sys.exit(status if status >= 0 else 128 - status)


def _interrupted(*_: object) -> None:
    """Raise once, though Ctrl-C arrives from the terminal and from the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt
