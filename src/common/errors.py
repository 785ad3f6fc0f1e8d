"""Errors that the user can put right: one message, no traceback."""

import os
import sys
from collections.abc import Callable


class UserError(Exception):
    """Bad input, or something missing. The message says which file, which line and what to do."""


def command(main: Callable[[], None]) -> None:
    """Run the ``main`` of a command-line module; report errors that the user can put right in one line.

    The exit status is 1 after such an error, 141 if the reader of a pipe went away, and 130 after Ctrl-C.
    """
    if sys.stderr is None:  # closed, as by some supervisors: progress and messages go nowhere
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (as long as the process)
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
    except BrokenPipeError:  # the reader of our output went away, for instance `| head`
        sys.stderr.close()
        sys.exit(141)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:  # full disk, missing file, no permission: the system's message suffices
        where = f"{error.filename}: " if error.filename else ""
        sys.exit(f"error: {where}{error.strerror or error}")
