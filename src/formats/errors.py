"""Errors the user can put right: one message, no traceback."""

import sys
from collections.abc import Callable


class UserError(Exception):
    """Bad input or a missing thing. The message says which file, which line and what to do."""


def command(main: Callable[[], None]) -> None:
    """Run the ``main`` of a command-line module; report what the user can put right in one line."""
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
    except BrokenPipeError:  # the reader of our output went away, as with `| head`
        sys.stderr.close()
        sys.exit(141)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:  # full disk, missing file, no permission: the system's words are clear enough
        where = f"{error.filename}: " if error.filename else ""
        sys.exit(f"error: {where}{error.strerror or error}")
