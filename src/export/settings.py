"""What decides on the import of a model of another toolkit, as a study writes it."""

from typing import Literal

from msgspec import field

from common.document import Number, Section


class Converted(Section, kw_only=True):
    """A model of another toolkit that CTranslate2 converts; the package of the toolkit must be in the environment."""

    toolkit: Literal["fairseq", "marian", "opus-mt", "transformers", "opennmt-py", "opennmt-tf"] = field(name="from")
    """The toolkit, as in the name of CTranslate2's converter, ct2-<toolkit>-converter."""
    options: dict[str, str | list[str | bool | Number] | bool | Number] = field(default_factory=dict)
    """Options of the converter, such as model_path, data_dir, vocab_paths, model_dir, model."""
    environment: str | None = None
    """Virtual environment whose converter is called, that of the study if null. fairseq needs one of Python 3.10; the
    error has the commands."""
