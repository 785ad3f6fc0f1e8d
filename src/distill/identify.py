"""Drop the records that langid.py does not take for their languages. One shard of a corpus at a time."""

import argparse
from pathlib import Path

from langid import langid

from distill import rules
from formats import records
from formats.errors import UserError, command
from formats.files import write_json
from formats.progress import progress


def language(expected: list[str]) -> rules.Rule:
    """A side is not in its language; ``expected`` has those of both columns, monolingual text has only the first."""
    identifier = langid.LanguageIdentifier.from_modelstring(langid.model)
    for code in expected:
        if code not in identifier.nb_classes:
            raise UserError(
                f"langid.py does not know the language {code!r}; it knows {' '.join(identifier.nb_classes)}"
            )
    return lambda record: any(
        identifier.classify(side)[0] != code for side, code in zip(record, expected, strict=False)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input", type=Path, required=True, help="records, a corpus or a shard of one")
    parser.add_argument("--languages", nargs="+", required=True, help="source and target, as ISO 639-1 codes")
    parser.add_argument("--output", type=Path, required=True, help="records; counts go to the JSON beside them")
    args = parser.parse_args()

    funnel = rules.Funnel({"language": language(args.languages)})
    corpus = progress(records.read(args.input), f"identify {records.name(args.input)}")
    _, checksum = records.write(args.output, funnel.passed(corpus))
    write_json(records.info(args.output), funnel.counts() | {"sha256": checksum})


if __name__ == "__main__":
    command(main)
