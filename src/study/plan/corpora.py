"""The corpora of a study."""

from functools import cached_property

from corpora.sources.source import languages
from study.identity import results
from study.plan.paths import Paths
from study.schema import Config

FULL_WIDTH = {"ja", "zh"}  # languages whose punctuation nmt_nfkc would write in half width


class Corpora(Paths):
    """Knows which texts a study has, in which languages, and what each is for."""

    def __init__(self, config: Config):
        super().__init__(results(config).as_posix())
        self.config = config
        self.name: str = config["study"]
        self.pair: list[str] = [config["source"], config["target"]]

    @property
    def normalization(self) -> str:
        """SentencePiece's rule for the characters of all texts."""
        default = "identity" if FULL_WIDTH.intersection(self.pair) else "nmt_nfkc"
        return self.config["vocabulary"]["normalization"] or default

    @cached_property
    def corpora(self) -> dict[str, list[str]]:
        """The corpora of each role."""
        entries = self.config["corpora"].items()
        return {
            role: [name for name, entry in entries if entry["role"] == role]
            for role in ("train", "monolingual", "dev", "test")
        }

    @property
    def held_out(self) -> list[str]:
        """Corpora that no system may learn from."""
        return self.corpora["dev"] + self.corpora["test"]

    @property
    def training_corpora(self) -> list[str]:
        """Corpora that are cleaned, and that systems learn from."""
        return self.corpora["train"] + self.corpora["monolingual"]

    @property
    def dev(self) -> str:
        """The dev set whose BLEU is watched during training."""
        return self.corpora["dev"][0]

    @property
    def timed_corpus(self) -> str:
        """The test set that is timed, and that tables and pictures show."""
        return self.corpora["test"][0]

    def languages(self, corpus: str) -> list[str]:
        """The language of each side of a corpus."""
        return languages(self.config["corpora"][corpus], self.pair)

    def reading(self, corpus: str) -> Config:
        """The keys of a corpus's entry that decide what is read; a weight, a licence or a checksum change no text."""
        no_text = ("cleaning", "weight", "sample", "licence", "lines", "sha256", "mirror")
        return {key: value for key, value in self.config["corpora"][corpus].items() if key not in no_text}

    def uncleaned(self, corpus: str) -> str:
        """What is cleaned, the corpus or a random subset of it, as a path without ``.tsv.zst`` or ``.json``."""
        folder = "subset" if self.config["corpora"][corpus]["sample"] else "raw"
        return f"{self.folder}/corpora/{folder}/{corpus}"
