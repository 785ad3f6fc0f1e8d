"""Every engine gives the same translations, for any batches, types and threads."""

import os
import shutil
import subprocess
import sys

import cpus
import ctranslate2
import native
import pytest
from descriptions import redescribe
from models import folders, sentences
from opennmt.utils import decoding

from decode import engines
from decode.engines import opennmt_tf_search
from formats import ctranslate2_products as products
from nmt_frontier.errors import UserError
from nmt_frontier.search import loading
from nmt_frontier.search.engine import Search
from nmt_frontier.translator import LineTokenizer


@pytest.fixture(scope="module")
def models():
    return folders()


@pytest.fixture
def described(models, tmp_path):
    """A copy of a model folder with another description."""

    def copy(name, **description):
        folder = shutil.copytree(models[name], tmp_path / name)
        redescribe(folder, **description)
        return folder

    return copy


@pytest.fixture(scope="module")
def batch(models):
    tokenizer = LineTokenizer(models["float32"])
    return [tokenizer.encode(line) for line in sentences(20, seed=2)]


def outputs(models, batch, search):
    """Translations of both engines in float32; the baseline first."""
    loaded = [loading.load(models[name], search) for name in ("opennmt-tf", "float32")]
    assert all(engine.effective_compute_type == "float32" and engine.version[0].isdigit() for engine in loaded)
    return [engine.translate(batch) for engine in loaded]


def test_ctranslate2_is_no_ensemble(models):
    with pytest.raises(UserError, match="CTranslate2 decodes with one model; give --model only one folder"):
        loading.load(models["int8"], Search(others=(models["float32"],)))
    with pytest.raises(UserError, match="is for CTranslate2, not for native"):
        loading.load(native.folders() / "int8", Search(others=(models["int8"],)))


@pytest.mark.parametrize("search", [Search(), Search(4, length_penalty=0), Search(4)], ids=["greedy", "plain", "beam"])
@pytest.mark.slow
def test_engines_agree(models, batch, search):
    baseline, exact = outputs(models, batch, search)
    assert baseline == exact and len(exact) == len(batch)
    assert len(set(map(tuple, exact))) > 3  # not all the same, not all empty


@pytest.mark.slow
def test_engines_do_not_agree_with_the_search_of_opennmt_tf(models, batch, monkeypatch):
    """Its formula of the length and its finished hypotheses in the beam make a difference."""
    own = decoding.BeamSearch
    monkeypatch.setattr(opennmt_tf_search, "BeamSearch", lambda beam, penalty, maximum: own(beam, penalty))
    baseline, exact = outputs(models, batch, Search(4))
    assert baseline != exact


@pytest.mark.slow
def test_engines_agree_where_they_cut_off_a_translation(described, batch):
    models = {name: described(name, max_decoding_length=3) for name in ("opennmt-tf", "float32")}
    baseline, exact = outputs(models, batch, Search(4))
    assert baseline == exact
    lengths = {len(sentence) for sentence in exact}
    assert max(lengths) == 3 and min(lengths) < 3  # some are cut off, some end


@pytest.mark.slow
def test_a_sentence_does_not_depend_on_its_batch(models, batch):
    for name in ("opennmt-tf", "float32"):
        engine = loading.load(models[name], Search())
        assert [engine.translate([sentence])[0] for sentence in batch[:4]] == engine.translate(batch)[:4]


def test_quantized_models_compute_in_integers(models, batch):
    engine = loading.load(models["int8"], Search())
    assert engine.effective_compute_type.startswith("int8")
    assert len(engine.translate(batch)) == len(batch)


def test_the_vocabulary_map_restricts_the_output(models, batch):
    allowed = set((models["float32"] / "vmap.txt").read_text(encoding="utf-8").split())
    searches = [Search(vocabulary_map=used) for used in (False, True)]
    free, mapped = (loading.load(models["float32"], search).translate(batch) for search in searches)
    assert set().union(*mapped) - {"<unk>"} <= allowed
    assert not set().union(*free) <= allowed


def test_workers_share_an_engine(models, batch):
    engine = loading.load(models["float32"], Search(workers=2))
    assert engine.translate(batch) == loading.load(models["float32"], Search()).translate(batch)


THREADS = """
import os, sys
from pathlib import Path
from formats.ctranslate2_loading import translator
model = translator(Path(sys.argv[1]), intra_threads=1)
model.translate_batch([["a"] * 100] * 64, max_decoding_length=5)
print(len(os.listdir("/proc/self/task")))
"""


def test_the_threads_of_a_worker_are_not_those_of_the_environment(models):
    """Snakemake sets MKL_NUM_THREADS to the threads of the job, and oneMKL took as many in every worker."""
    call = [sys.executable, "-c", THREADS, str(models["float32"])]
    one, three = (subprocess.check_output(call, env=os.environ | {"MKL_NUM_THREADS": n}, text=True) for n in "13")
    assert one == three


@pytest.mark.parametrize("isa", [None, "AVX2"])
def test_ctranslate2_takes_the_widest_instructions_by_default(models, isa, monkeypatch):
    """As its log has it; by itself it would take AVX2."""
    cpus.real(monkeypatch)
    if not products.widest():
        pytest.skip("CTranslate2 takes the widest instructions of this CPU by itself")
    environment = {name: value for name, value in os.environ.items() if name != products.ISA} | {"CT2_VERBOSE": "1"}
    environment |= {products.ISA: isa} if isa else {}
    call = [sys.executable, "-c", INT16, str(models["float32"])]
    done = subprocess.run(call, env=environment, capture_output=True, text=True, check=True)
    assert f"Selected ISA: {isa or 'AVX512'}\n" in done.stderr + done.stdout


INT16 = """
import sys
from pathlib import Path
from nmt_frontier.search import loading
from nmt_frontier.search.engine import Search
print(loading.load(Path(sys.argv[1]), Search()).effective_compute_type)
"""


@pytest.mark.skipif(not products.has_onemkl(), reason="only oneMKL multiplies in int16, and it is on x86-64 only")
def test_int16_is_int16_on_the_cpus_of_all_makers(described):
    """In a process of its own: the first model of a process decides on the library of matrix products."""
    folder = described("float32", quantization="int16")
    assert subprocess.check_output([sys.executable, "-c", INT16, str(folder)], text=True).strip() == "int16"


@pytest.mark.parametrize("name", ["opennmt-tf", "float32"])
@pytest.mark.slow
def test_a_model_may_limit_the_length_of_translations(models, described, batch, name):
    before = loading.load(models[name], Search()).translate(batch)
    after = loading.load(described(name, max_decoding_length=2), Search()).translate(batch)
    assert max(map(len, before)) > 2 and after == [output[:2] for output in before]


@pytest.mark.parametrize(
    ("engine", "shape", "names", "message"),
    [
        ("native", {"units": 96}, engines.ENGINES, None),
        ("native", {"units": 90}, engines.ENGINES,
         "native needs units in multiples of 16, not 90; OpenNMT-tf and CTranslate2 decode it"),
        ("native", {"units": 48, "cell": "gru", "bidirectional": True}, engines.ENGINES,
         "native needs units in multiples of 32, 16 for each direction, not 48; OpenNMT-tf decodes it"),
        ("native", {"units": 48, "cell": "gru", "embedding_units": 40}, ["native", "ctranslate2"],
         "native needs embedding_units in multiples of 16, not 40"),
        ("native", {"units": 4096, "decoder_transitions": 2}, ["native"],
         "native needs units of at most 2,048, not 4,096"),
        ("native", {"model": "own"}, ["ctranslate2"],
         "native needs the numbers of a shape, not the name of a model; CTranslate2 decodes it"),
        ("ctranslate2", {"units": 96, "decoder": "averaging"}, engines.ENGINES,
         "CTranslate2 has no averaging decoder; OpenNMT-tf and native decode it"),
        ("ctranslate2", {"units": 96, "fully_connected_layers": 1}, ["native"],
         "CTranslate2 has no recurrent model with fully connected layers; native decodes it"),
        ("marian", {"units": 96}, ["opennmt-tf"], "Marian decodes only what it trained; OpenNMT-tf decodes it"),
    ],
)  # fmt: skip
def test_a_refusal_names_what_an_engine_lacks_and_what_runs_the_shape(engine, shape, names, message):
    assert engines.refusal(engines.ENGINES[engine], shape, names) == message


def test_a_type_this_cpu_lacks(described):
    with pytest.raises(UserError, match=r"does not compute in int4; it supports float32, .*int8, int8_float32"):
        loading.load(described("float32", quantization="int4"), Search())


def test_half_floats_are_computed_in_float32_where_the_cpu_lacks_them(described):
    if "float16" in ctranslate2.get_supported_compute_types("cpu"):
        pytest.skip("this CPU computes in float16")
    assert loading.load(described("float32", quantization="float16"), Search()).effective_compute_type == "float32"


def test_the_baseline_has_no_map(models):
    with pytest.raises(UserError, match="OpenNMT-tf has no vocabulary map"):
        loading.load(models["opennmt-tf"], Search(vocabulary_map=True))
