"""The mixtures of a study: which corpora, in which proportions, with whose translations."""

from typing import Any

from study.schema import Config

TRANSLATED = ("best", "interpolated", "mbr", "all")  # the targets that teachers make, as distill.select names them
ORIGINAL = "original"  # the mixture of the teachers: the bilingual corpora with their own weights


def mixture(config: Config, name: str) -> Config:
    """The entry of a mixture. ORIGINAL is there even if the study has no mixture of this name."""
    absent = {"targets": "original", "teacher": None, "weights": None, "drop_worst": 0}
    return config["mixtures"].get(name, absent)


def weights(config: Config, name: str) -> dict[str, float]:
    """The corpora of a mixture with their weights."""
    entry = mixture(config, name)
    if entry["weights"]:
        return entry["weights"]
    roles = ("train",) if entry["targets"] == "original" else ("train", "monolingual")
    return {corpus: values["weight"] for corpus, values in config["corpora"].items() if values["role"] in roles}


def learned_from(config: Config, name: str) -> list[str]:
    """The teachers whose translations a mixture is made of."""
    entry = mixture(config, name)
    if entry["targets"] == "original":
        return []
    return [entry["teacher"]] if entry["teacher"] else list(config["teachers"])


def composition(config: Config, name: str) -> dict[str, Any]:
    """What a mixture is made of: whose translations, each corpus's share of the pairs (0 to 1), per cent dropped."""
    entry, weighted = mixture(config, name), weights(config, name)
    return {
        "targets": entry["targets"],
        "teachers": learned_from(config, name),
        "shares": {corpus: round(w / sum(weighted.values()), 6) for corpus, w in sorted(weighted.items())},
        "drop_worst": entry["drop_worst"],
    }
