"""Settings measured on this machine are kept and used."""

import functools
import json
import os
import shutil
import sys
from types import SimpleNamespace

import pytest
from models import folders, sentences
from translation import run

from decode.engines.ctranslate2 import CTranslate2
from formats import ctranslate2_products
from measure import tune
from measure.timing_loop import Repeats
from measure.tune.__main__ import main
from nmt_frontier import cpu
from nmt_frontier.errors import UserError
from nmt_frontier.search import loading, tuned
from nmt_frontier.search.engine import Search
from nmt_frontier.search.pipeline import GPU
from nmt_frontier.translator import best_batch


@pytest.fixture(scope="module")
def model():
    return folders()["float32"]


def test_tuned_settings_are_found_kept_and_used(model, tmp_path, monkeypatch):
    folder = shutil.copytree(model, tmp_path / "model")
    sets = (None, "AVX512", "AVX2")
    speeds = {(isa, tokens): 12.0 if isa == "AVX2" else 10.0 for isa in sets for tokens in (256, 512)}
    speeds |= {(isa, tokens): 5.0 for isa in sets for tokens in (64, 128, 2048)} | {(isa, 1024): 20.0 for isa in sets}
    monkeypatch.setattr(cpu, "flags", lambda: ctranslate2_products.AVX512)

    def decode(way, text, number):
        words = speeds[way.isa, way.batch_tokens]
        return SimpleNamespace(test_sets={"text": SimpleNamespace(source_words=words, text_seconds=1.0, others=None)})

    monkeypatch.setattr(tune, "decode", decode)
    monkeypatch.setattr(tuned.machine, "describe", lambda: {"cpu": "x", "isa": "avx512-vnni"})
    assert tuned.settings(folder) == {}
    found = tune.tune(folder, ["a b"] * 300)
    assert found == {"isa": "AVX2", "batch_tokens": 1024, "source_words_per_second": 20}
    assert tuned.settings(folder) == found and tuned.settings(folder, beam_size=4) == {}
    monkeypatch.delenv(ctranslate2_products.ISA, raising=False)
    assert (loading.isa(folder, CTranslate2), loading.isa(folder, CTranslate2, beam_size=4)) == ("AVX2", "AVX512")
    monkeypatch.setenv(ctranslate2_products.ISA, "AVX512")  # restored after the test
    here = len(os.sched_getaffinity(0))
    batch = functools.partial(best_batch, folder, CTranslate2)
    assert batch(Search(workers=here)) in (256, 512)  # tuned for another instruction set
    monkeypatch.setenv(ctranslate2_products.ISA, "AVX2")
    assert batch(Search(workers=here)) == 1024
    assert batch(Search(4, workers=2)) == 256 and batch(Search(workers=here, device="cuda")) == GPU
    monkeypatch.setattr(tuned.machine, "describe", lambda: {"cpu": "y", "isa": "avx2"})
    monkeypatch.setattr(cpu, "flags", lambda: {"avx2"})
    assert tuned.settings(folder) == {}
    assert tune.tune(folder, ["a b"] * 300)["isa"] is None
    assert len(json.loads((folder / "tuned.json").read_text())) == 2
    with pytest.raises(UserError, match="10 lines are too few"):
        tune.tune(folder, ["a"] * 10)
    damaged = ({"isa": "avx2"}, 5, 0, [], {"batch_tokens": "x", "isa": None}, {"batch_tokens": 0, "isa": None})
    for text in ("[", *(json.dumps({tuned.here(1): settings}) for settings in damaged)):
        (folder / "tuned.json").write_text(text)
        with pytest.raises(UserError, match=r"tuned[.]json: damaged"):
            tuned.settings(folder)


@pytest.mark.slow
def test_tuning_measures_for_real(model, tmp_path, monkeypatch, capsys):
    folder = shutil.copytree(model, tmp_path / "model")
    monkeypatch.setattr(tune, "BATCHES", (64,))
    monkeypatch.setattr(tune, "REPEATS", Repeats(runs=1, noise=1.0))
    (text := tmp_path / "text").write_text("".join(f"{line}\twith a tab\n" for line in sentences(250)))
    monkeypatch.setattr(sys, "argv", ["tune", "--model", str(folder), "--text", str(text)])
    main()
    found = json.loads(capsys.readouterr().out)
    assert found["source_words_per_second"] > 0 and found["batch_tokens"] == 64
    assert tuned.settings(folder) == found
    done = run("--model", folder, text=b"abc\n")
    assert done.returncode == 0 and done.stdout.count(b"\n") == 1
