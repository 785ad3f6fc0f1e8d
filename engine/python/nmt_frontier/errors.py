"""Errors that the user can fix: one message, no traceback."""

import os
import sys
from collections.abc import Callable


class UserError(Exception):
    """Bad input, or something missing. The message names the file and the line, and what to do."""


def command(main: Callable[[], None]) -> None:
    """Run the ``main`` of a command-line module and report UserError and OSError in one line.

    Exit status: 1 after an error, 141 if the reader of a pipe went away, 130 after Ctrl-C.
    """
    if sys.stderr is None:  # some supervisors close it
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (open until the process ends)
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
    except BrokenPipeError:  # `| head`
        sys.stderr.close()
        sys.exit(141)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:  # full disk, missing file, no permission
        where = f"{error.filename}: " if error.filename else ""
        sys.exit(f"error: {where}{error.strerror or error}")
