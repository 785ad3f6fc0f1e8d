"""Paths of the files of a study that several rules share."""


class Paths:
    """Paths relative to the folder that Snakemake runs in.

    Names may be wildcards: ``paths.model("{system}", "int8")`` is ``results/demo/models/{system}/int8``.
    """

    def __init__(self, folder: str):
        self.folder = folder
        self.report = f"{folder}/report"
        self.sentencepiece = f"{folder}/vocabulary/sentencepiece.model"
        self.vocabulary = f"{folder}/vocabulary/vocabulary.txt"

    def raw(self, corpus: str) -> str:
        """A corpus as it was read."""
        return f"{self.folder}/corpora/raw/{corpus}.tsv.zst"

    def clean(self, corpus: str) -> str:
        """A corpus as everything after the cleaning sees it."""
        return f"{self.folder}/corpora/clean/{corpus}.tsv.zst"

    def clean_counts(self, corpus: str) -> str:
        """What the cleaning kept and dropped, and why."""
        return f"{self.folder}/corpora/clean/{corpus}.json"

    def named_corpora(self, corpora: list[str]) -> list[str]:
        """Clean corpora with their names, as programs take test sets: NAME=PATH."""
        return [f"{corpus}={self.clean(corpus)}" for corpus in corpora]

    def averaged(self, system: str) -> str:
        """The folder of a trained model, an OpenNMT-tf checkpoint."""
        return f"{self.folder}/systems/{system}/averaged"

    def learning(self, system: str) -> str:
        """How a training went: its dev BLEU, its length, its speed."""
        return f"{self.folder}/systems/{system}/learning.json"

    def converted(self, system: str, type: str) -> str:
        """The bare CTranslate2 model of a system in one type."""
        return f"{self.folder}/systems/{system}/converted/{type}"

    def converted_native(self, system: str, type: str) -> str:
        """The bare model of a system for the native engine in one type."""
        return f"{self.folder}/systems/{system}/native/native-{type}"

    def imported_model(self, teacher: str, format: str) -> str:
        """The bare model of a teacher from elsewhere: a type for CTranslate2, ``native-TYPE`` for the native engine."""
        return f"{self.folder}/systems/{teacher}/imported/{format}"

    def model(self, system: str, format: str) -> str:
        """A model folder, which decodes without any other file."""
        return f"{self.folder}/models/{system}/{format}"

    def epoch(self, mixture: str, number: int | str, side: str) -> str:
        """An epoch of a mixture: ``tsv.zst`` the pairs, ``source`` and ``target`` the pieces of a side."""
        return f"{self.folder}/training/{mixture}.{number}.{side}"

    def coverage(self, corpus: str) -> str:
        """What the maps of a grid cover of a corpus."""
        return f"{self.folder}/alignment/coverage/{corpus}.json"
