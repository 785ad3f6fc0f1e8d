"""`python tests/pure.py ARGUMENTS` is `snakemake ARGUMENTS` in a process that ends with an error where it starts a
program, imports a library that computes, or opens a kept result.
"""

import re
import sys

COMPUTING = {"tensorflow", "opennmt", "ctranslate2", "torch", "nmt_frontier.bindings"}
OF_SNAKEMAKE = ["uname", "-p"]  # started for its header, by the standard library's platform.platform()


def refuse(event: str, arguments: tuple) -> None:
    started = event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty")
    imported = event == "import" and bool({arguments[0], arguments[0].partition(".")[0]} & COMPUTING)
    opened = event == "open" and re.search("results/(reference|.*/distillation.json)", str(arguments[0]))
    if (started and arguments[1:2] != (OF_SNAKEMAKE,)) or imported or opened:
        print(f"not pure: {event} {arguments}", file=sys.stderr)
        raise AssertionError(f"not pure: {event}")


if __name__ == "__main__":
    from snakemake.cli import main

    sys.addaudithook(refuse)
    main()
