"""Source `sacrebleu`: a test set of sacreBLEU, in sacreBLEU's own cache; of several references the first."""

import difflib
import logging
import socket
from pathlib import Path

from common.errors import UserError
from corpora import download
from corpora.readers import Lines
from corpora.sources.addressed import AddressedSource
from corpora.sources.place import Place, locked


class TestSetSide(Place):
    """One side of a test set; ``address`` is "test set/language pair/language"."""

    __test__ = False  # not a test of pytest's
    label = "sacrebleu "

    def path(self, cache: Path) -> Path:
        dataset, pair = self._dataset()
        source = self.address.endswith(f"/{pair.split('-')[0]}")
        field = next(name for name in dataset.fieldnames(pair) if name.startswith("src" if source else "ref"))
        return Path(dataset._get_txt_file_path(pair, field))

    def download(self, cache: Path) -> None:
        dataset, pair = self._dataset()
        logging.getLogger("sacrebleu").setLevel(logging.ERROR)
        socket.setdefaulttimeout(download.ANSWER_SECONDS)  # sacreBLEU itself would wait for ever
        try:
            with locked(Path(dataset._outdir)):
                dataset.process_to_text(pair)
        except (OSError, SystemExit) as error:  # no network, not there, another checksum (which it says on stderr)
            reason = f"{error}; if it was interrupted before, delete {dataset._outdir}"
            raise download.Unreachable(f"sacrebleu {dataset.name}: {reason}") from error
        finally:
            socket.setdefaulttimeout(None)

    def reach(self) -> None:
        for url in self._dataset()[0].data:
            download.reach(url)

    def _dataset(self):
        """sacreBLEU's object for the test set, and the language pair. Raises UserError if there is none."""
        from sacrebleu.dataset import DATASETS

        name, pair, _ = self.address.rsplit("/", 2)
        if name not in DATASETS:
            near = difflib.get_close_matches(name, DATASETS, n=3, cutoff=0.5)
            hint = f"; did you mean {' or '.join(near)}?" if near else f"; known: {', '.join(sorted(DATASETS))}"
            raise UserError(f"sacrebleu: no test set {name!r}{hint}")
        dataset = DATASETS[name]
        if pair not in dataset.langpairs:
            raise UserError(f"sacrebleu: {name} has no {pair}; it has {', '.join(sorted(dataset.langpairs))}")
        return dataset, pair


class Sacrebleu(AddressedSource):
    key = "sacrebleu"
    reader = Lines
    mirrored_by_name = False
    implied = ("member", "format")

    def alternatives(self, code: str | None) -> list[list[Place]]:
        return [[TestSetSide(f"{self.entry['sacrebleu']}/{'-'.join(self.pair)}/{code}")]]
