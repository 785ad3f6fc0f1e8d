"""Where the files of a study are: below the folder of a run, or of its record in results/reference."""

from pathlib import Path

from common.errors import UserError


def files(study: Path, pattern: str) -> list[Path]:
    """The files of a study that match a path below the folder of a run, such as ``report/gap.json``, sorted.

    ``make reference`` keeps the files of report/ beside the others, so they are looked for there, too. Raises UserError
    where there are none.
    """
    if found := sorted(study.glob(pattern)) or sorted(study.glob(pattern.removeprefix("report/"))):
        return found
    raise UserError(f"{study}: no {pattern}; set STUDY to the folder of a study that has it, below results/")
