"""The mixtures of a study, which its systems learn from."""

from functools import cached_property

from study.mixtures import ORIGINAL, learned_from, weights
from study.plan.teachers import Teachers


class Mixtures(Teachers):
    """Knows the text that each system learns from: its corpora, their files, whose translations they are."""

    @cached_property
    def mixtures(self) -> list[str]:
        """The mixtures of the configuration, and that of the teachers."""
        return list(dict.fromkeys([*self.config["mixtures"], ORIGINAL]))

    @property
    def aligned_mixture(self) -> str:
        """What the map is made of: the first mixture of translations that systems learn from, or the original."""
        learned = {system.mixture for system in self.systems.values()}
        return next((name for name in self.config["mixtures"] if name in learned and self.translations(name)), ORIGINAL)

    def weights(self, name: str) -> dict[str, float]:
        """The corpora of a mixture with their weights."""
        return weights(self.config, name)

    def mixed_corpus(self, name: str, corpus: str) -> str:
        """The file that a mixture draws from."""
        if not self.translations(name):
            return self.clean(corpus)
        if self.config["mixtures"][name]["drop_worst"]:
            return f"{self.folder}/training/{name}/{corpus}.tsv.zst"
        return self.distilled_corpus(name, corpus)

    def distilled_corpus(self, name: str, corpus: str) -> str:
        """The translations of a mixture, with the scores that it drops the worst pairs by."""
        teacher, targets = self.translations(name)
        return f"{self.folder}/distilled/{teacher}/{targets}/{corpus}.tsv.zst"

    def epochs_of(self, system: str) -> dict[str, str | range]:
        """The wildcards ``mixture`` and ``epoch`` of all epochs that a system learns from."""
        epochs = self.config["distillation"]["epochs"]
        return {"mixture": self.systems[system].mixture, "epoch": range(1, epochs + 1)}

    def teachers_of(self, system: str) -> list[str]:
        """The teachers whose translations a system learned from."""
        return learned_from(self.config, self.systems[system].mixture)
