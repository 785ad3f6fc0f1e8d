"""Which configurations are timed more than once."""

import shutil

import msgspec
import pytest
from descriptions import described, redescribe
from models import folders

from formats import records
from measure.configuration import Benchmark, Configuration
from measure.contenders import contenders
from measure.kept_runs import KeptRun
from measure.task import DecodedTestSet

REFERENCES = ["ein kleiner Hund läuft durch den Schnee", "zwei Frauen sitzen auf einer Bank im Park"]
GOOD, BAD = REFERENCES, ["ein Hund läuft durch den Schnee", "zwei Frauen sitzen im Park"]


def decoded(seconds):
    counts = dict.fromkeys(("source_tokens", "target_tokens"), 9) | {"sentences": 2, "source_words": 100}
    times = dict.fromkeys(("cpu_seconds", "tokenization_seconds", "decode_seconds", "detokenization_seconds"), 0.1)
    return DecodedTestSet(text_seconds=seconds, output_sha256="x", joules=None, others=None, **counts, **times)


@pytest.fixture
def first(tmp_path):
    """Makes the first runs of configurations by (system, role, seconds, translations), whose beam is their number."""

    def made(*runs, pairs=None):
        records.write(tmp_path / "t.tsv.zst", pairs or [("x", reference) for reference in REFERENCES])
        shared = Benchmark(
            runs=3, noise=1.0, test_sets=[("t", tmp_path / "t.tsv.zst")], price=None, study="s",
            translations=tmp_path, output=tmp_path / "x.json",
        )  # fmt: skip
        kept = {}
        for number, (system, role, seconds, translations) in enumerate(runs, 1):
            model = redescribed(tmp_path / system, role)
            beam = 1 if role == "teacher" else number
            configuration = Configuration(model, beam_size=beam, label=system)
            lines = "".join(f"{line}\n" for line in translations)
            (tmp_path / f"{configuration.name}.t.txt").write_text(lines)
            run = dict.fromkeys(("checksum_seconds", "load_seconds", "warmup_seconds", "load_average"), 0.1)
            run |= {"engine_version": "1", "effective_compute_type": "int8", "forced_isa": None, "key": "x"}
            run |= {"peak_rss_bytes": 1, "measured_at": "x", "test_sets": {"t": msgspec.to_builtins(decoded(seconds))}}
            kept[configuration] = msgspec.convert(run, KeptRun)
        return {configuration.label for configuration in contenders(kept, shared)}

    return made


def redescribed(path, role):
    """A folder named as its format, below the name of its system."""
    folder = path / "int8"
    if not folder.exists():
        shutil.copytree(folders()["int8"], folder)
        redescribe(folder, role=role)
    return described(folder)[0]


def test_what_another_one_clearly_beats_is_timed_once(first):
    assert first(("fast", "student", 1.0, GOOD), ("slow", "student", 1.6, GOOD)) == {"fast"}
    assert first(("fast", "student", 1.0, GOOD), ("slow", "student", 1.2, GOOD)) == {"fast", "slow"}


def test_what_is_better_is_timed_again_however_slow(first):
    assert first(("fast", "student", 1.0, BAD), ("slow", "student", 9.0, GOOD)) == {"fast", "slow"}
    assert first(("fast", "student", 1.0, GOOD), ("slow", "student", 9.0, BAD)) == {"fast"}


def test_a_teacher_that_decodes_as_a_contender_is_timed_with_it(first):
    teacher = ("teacher", "teacher", 9.0, BAD)
    assert first(("fast", "student", 1.0, GOOD), teacher) == {"fast", "teacher"}
    assert first(("other", "student", 9.0, BAD), ("fast", "student", 1.0, GOOD), teacher) == {"fast"}


def test_without_references_speed_alone_decides(first):
    runs = ("fast", "student", 1.0, BAD), ("slow", "student", 1.6, GOOD)
    assert first(*runs, pairs=[("x",), ("y",)]) == {"fast"}
