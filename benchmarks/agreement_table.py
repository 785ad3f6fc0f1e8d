"""The result of benchmarks/agreement.py as a table."""

from typing import Any

from report import markdown

LABELS = {"opennmt-tf": "OpenNMT-tf", "marian": "Marian"}
NOTE = """Equal translations of {sentences:,} sentences with the same weights in float32; of the others, how many are
ties (scores within 1e-4), and how many have a better score with the native engine's search or with the peer's; wider:
how many the native engine translates as the peer if its beam is twice as wide. Models
are small, OpenNMT-tf's with random weights, Marian's trained for seconds; sources are {text}, with {pieces} pieces in
place of words, with Marian 1 to {longest} of each, as its models have learned no longer ones. Score: the largest
difference between both engines' scores of a translation by the peer. Native engine with {isa} on {cpu}."""


def table(result: dict[str, Any]) -> str:
    def cells(row: dict[str, Any]) -> dict[str, str]:
        return {
            "peer": LABELS[row["peer"]], "architecture": row["architecture"],
            "search": f"beam {row['beam_size']}" if row["beam_size"] > 1 else "greedy",
            "equal": f"{row['equal']:,}", "%": f"{100 * row['equal'] / row['sentences']:.1f}", "ties": f"{row['ties']}",
            "native better": f"{row['ours_better']}", "peer better": f"{row['theirs_better']}",
            "wider": "" if row["wider"] is None else f"{row['wider']}", "score": f"{row['score_difference']:.1e}",
        }  # fmt: skip

    rows = result["rows"]
    shown = markdown.table([cells(row) for row in rows], left=("peer", "architecture", "search"))
    told = {key: result[key] for key in ("text", "isa", "cpu", "pieces", "longest")}
    note = " ".join(NOTE.format(sentences=rows[0]["sentences"], **told).split())
    return markdown.document("Equal translations of two engines", shown, note)
