import gzip
import hashlib
import http.server
import json
import subprocess
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from distill import config, download, fetch
from distill.sources import copies, obtain
from formats import records
from formats.errors import UserError
from formats.files import read_json

ROOT = Path(__file__).parents[1]
ENGLISH = "".join(f"A dog runs over field {number}.\n" for number in range(500))
GERMAN = "".join(f"Ein Hund läuft über Feld {number}.\n" for number in range(500))
PAIRS = list(zip(ENGLISH.splitlines(), GERMAN.splitlines(), strict=True))
NOWHERE = "http://127.0.0.1:9"  # the discard port: nothing answers


class Server(http.server.ThreadingHTTPServer):
    """Serves ``files``; the first ``cut`` answers break off in the middle, the first ``busy`` ones are 503."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.cut = self.busy = 0
        self.ranges = True
        self.tag = None
        self.requests: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_HEAD(self):
        self.send_response(200 if self.path in self.server.files else 404)
        self.end_headers()

    def do_GET(self):
        self.server.requests.append(f"{self.path} {self.headers.get('Range', '')}".strip())
        if self.server.busy:
            self.server.busy -= 1
            return self.send_error(503)
        if self.path not in self.server.files:
            return self.send_error(404)
        content, start = self.server.files[self.path], 0
        if (
            self.server.ranges
            and self.headers.get("If-Range", self.server.tag) == self.server.tag
            and "Range" in self.headers
        ):
            start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                return self.send_error(416)
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        if self.server.tag:
            self.send_header("ETag", self.server.tag)
        self.end_headers()
        rest = content[start:]
        if self.server.cut:
            self.server.cut -= 1
            rest = rest[: len(rest) // 2]
        self.wfile.write(rest)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    monkeypatch.delenv("NMT_FRONTIER_MIRROR", raising=False)
    monkeypatch.setattr(download, "BACKOFF_SECONDS", 0.01)


def checksum(text):
    return hashlib.sha256(text if isinstance(text, bytes) else text.encode()).hexdigest()


def entry(mirror="x.{lang}.gz", url=(), english=ENGLISH, german=GERMAN, **more):
    source = {"mirror": mirror, "url": list(url)} if url else {"file": mirror}
    return {"role": "train", **source, "sha256": {"en": checksum(english), "de": checksum(german)}, **more}


def corpus(*arguments, **more):
    return config.corpus(entry(*arguments, **more))


def mirrored(folder, english=ENGLISH, german=GERMAN, compress=gzip.compress):
    for language, text in (("en", english), ("de", german)):
        (folder / f"x.{language}.gz").write_bytes(compress(text if isinstance(text, bytes) else text.encode()))
    return folder


def fetched(asked, tmp_path, mirror=None):
    blocks, about = fetch.fetch("x", asked, ["en", "de"], mirror, tmp_path / "cache", 1)
    return rows(blocks), about.origins


def rows(blocks):
    return [tuple(line.split("\t")) for line in b"".join(blocks).decode().split("\n")[:-1]]


# Mirror


@pytest.mark.parametrize("compress", [gzip.compress, bytes], ids=["gzip", "plain"])
def test_from_the_mirror(tmp_path, compress):
    pairs, origins = fetched(corpus(), tmp_path, mirrored(tmp_path, compress=compress))
    assert pairs == PAIRS
    assert origins == ["x.en.gz", "x.de.gz"]


def test_monolingual_text_needs_the_source_only(tmp_path):
    mirrored(tmp_path)
    (tmp_path / "x.de.gz").unlink()
    pairs, _ = fetched(corpus(role="monolingual"), tmp_path, tmp_path)
    assert pairs == [(english,) for english, _ in PAIRS]


def test_environment_goes_before_the_configured_mirror(monkeypatch, tmp_path):
    assert fetch.mirror_folder(None) is None
    assert str(fetch.mirror_folder("/there")) == "/there"
    monkeypatch.setenv("NMT_FRONTIER_MIRROR", str(tmp_path))
    assert fetch.mirror_folder("/there") == tmp_path


def test_a_wrong_mirror_is_told_and_left_alone(tmp_path):
    mirrored(tmp_path, english=ENGLISH + "one more\n")
    with pytest.raises(UserError) as error:
        fetched(corpus(), tmp_path, tmp_path)
    assert f"x.en.gz: sha256 of the text is {checksum(ENGLISH + 'one more' + chr(10))}" in str(error.value)
    assert f"expected {checksum(ENGLISH)}" in str(error.value)
    assert "to read it all the same, set corpora.x.sha256 to null" in str(error.value)
    assert (tmp_path / "x.en.gz").exists()


@pytest.mark.parametrize("kept", [5, 0.5, -1])
def test_truncated_gzip(tmp_path, kept):
    path = mirrored(tmp_path) / "x.en.gz"
    data = path.read_bytes()
    path.write_bytes(data[: int(kept * len(data)) if isinstance(kept, float) else kept])
    with pytest.raises(UserError, match=r"x\.en\.gz: truncated or damaged file"):
        fetched(corpus(), tmp_path, tmp_path)


def test_invalid_utf8_names_line_and_byte(tmp_path):
    bad = b"fine\nM\xfcller\n"
    mirrored(tmp_path, english=bad, german=b"gut\nMueller\n")
    with pytest.raises(UserError, match=r"x\.en\.gz: line 2, byte 2: not UTF-8 \(0xfc\)"):
        fetched(corpus(english=bad, german=b"gut\nMueller\n"), tmp_path, tmp_path)


@pytest.mark.parametrize(("english", "german"), [("a\nb\nc\n", "d\n"), ("a\n", "b\nc\nd\n"), ("", "a\n")])
def test_sides_of_different_length(tmp_path, english, german):
    mirrored(tmp_path, english, german)
    counts = f"{english.count(chr(10))} of en, {german.count(chr(10))} of de"
    with pytest.raises(UserError, match=f"x: the sides have different numbers of lines: {counts}"):
        fetched(corpus(english=english, german=german), tmp_path, tmp_path)


def test_an_empty_text(tmp_path):
    mirrored(tmp_path, "", "")
    with pytest.raises(UserError, match="x: the text is empty"):
        fetched(corpus(english="", german=""), tmp_path, tmp_path)


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"))


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1))
def test_any_text_comes_out_as_records(tmp_path_factory, pairs):
    """U+2028, lone carriage returns and their like stay inside a sentence, so that sides do not shift."""
    folder = tmp_path_factory.mktemp("lines")
    texts = ["".join(f"{line}\n" for line in side) for side in zip(*pairs, strict=True)]
    assume(all("\0" not in text and text.strip("\n") for text in texts))  # many NULs are UTF-16
    assume(all(text[0] != "\ufeff" for text in texts))  # a byte order mark
    mirrored(folder, *texts)
    assert fetched(corpus(english=texts[0], german=texts[1]), folder, folder)[0] == [
        (records.sentence(source), records.sentence(target)) for source, target in pairs
    ]


# Download


def test_download_in_parts_is_cached(server, tmp_path):
    cut = ENGLISH.index("\n", 4000) + 1
    server.files = {
        "/1.en.gz": gzip.compress(ENGLISH[:cut].encode()),
        "/2.en": ENGLISH[cut:].encode(),
        "/1.de.gz": gzip.compress(GERMAN.encode()),
        "/2.de": b"",
    }
    urls = [[f"{server.url}/1.{{lang}}.gz", f"{server.url}/2.{{lang}}"]]
    assert fetched(corpus(url=urls), tmp_path)[0] == PAIRS
    assert len(server.requests) == 4
    pairs, origins = fetched(corpus(url=urls), tmp_path, mirror=tmp_path / "no mirror")
    assert pairs == PAIRS
    assert len(server.requests) == 4
    assert origins[1] == f"{server.url}/2.en"
    assert (tmp_path / "cache" / checksum(f"{server.url}/1.en.gz") / "1.en.gz").exists()


def test_a_broken_download_resumes(server, tmp_path):
    server.files, server.cut = {"/x": bytes(range(256)) * 256 * 8}, 2  # eight blocks
    download.download(f"{server.url}/x", tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == server.files["/x"]
    assert server.requests == ["/x", f"/x bytes={4 << 16}-", f"/x bytes={6 << 16}-"]
    assert not (tmp_path / "x.part").exists()


def test_a_killed_download_resumes(server, tmp_path):
    server.files = {"/x": b"0123456789"}
    (tmp_path / "x.part").write_bytes(b"0123")
    download.download(f"{server.url}/x", tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == b"0123456789"
    assert server.requests == ["/x bytes=4-"]


def test_a_file_that_changes_in_between_starts_again(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "ATTEMPTS", 1)
    server.files, server.cut, server.tag = {"/x": b"old" * 100_000}, 1, '"1"'
    with pytest.raises(download.Unreachable):
        download.download(f"{server.url}/x", tmp_path / "x")
    server.files, server.tag = {"/x": b"new" * 100_000}, '"2"'
    download.download(f"{server.url}/x", tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == b"new" * 100_000
    assert server.requests[1].startswith("/x bytes=")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_jobs_that_want_one_archive_download_it_once(server, tmp_path):
    server.files = {"/x": ENGLISH.encode() * 100}
    copy = copies.Copy("lines", [], {"en": [copies.Address("url", f"{server.url}/x")]})
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: obtain.obtained(copy, tmp_path), range(4)))
    assert len({parts["en"][0].path for parts in found}) == 1
    assert server.requests == ["/x"]


def test_alternatives_are_tried_in_order(server, tmp_path):
    server.files = {"/b.en": ENGLISH.encode(), "/b.de": GERMAN.encode(), "/a.en": b"half a copy"}
    asked = corpus(url=[f"{server.url}/a.{{lang}}", [f"{server.url}/b.{{lang}}"]])
    assert fetched(asked, tmp_path)[0] == PAIRS
    assert server.requests == ["/a.en", "/a.de", "/b.en", "/b.de"]


def test_a_server_without_ranges_starts_again(server, tmp_path):
    server.files, server.ranges = {"/x": b"0123456789"}, False
    (tmp_path / "x.part").write_bytes(b"0123")
    download.download(f"{server.url}/x", tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == b"0123456789"


def test_a_part_longer_than_the_file_is_dropped(server, tmp_path):
    server.files = {"/x": b"0123456789"}
    (tmp_path / "x.part").write_bytes(b"something else altogether")
    download.download(f"{server.url}/x", tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == b"0123456789"


def test_a_busy_server_is_asked_three_times(server, tmp_path):
    server.files, server.busy = {"/x": b"0"}, 2
    download.download(f"{server.url}/x", tmp_path / "x")
    server.busy = 3
    with pytest.raises(download.Unreachable, match=r"/x: HTTP 503 Service Unavailable"):
        download.download(f"{server.url}/x", tmp_path / "y")
    assert len(server.requests) == 6


def test_a_missing_file_is_asked_for_once(server, tmp_path):
    with pytest.raises(download.Unreachable, match="/x: HTTP 404 Not Found"):
        download.download(f"{server.url}/x", tmp_path / "x")
    assert server.requests == ["/x"]


def test_a_wrong_download_is_deleted(server, tmp_path):
    server.files = {"/en": b"something else\n", "/de": GERMAN.encode()}
    asked = corpus(url=[f"{server.url}/{{lang}}"])
    with pytest.raises(UserError) as error:
        fetched(asked, tmp_path)
    found = checksum("something else\n")
    assert f"sha256 of the text is {found}, expected {checksum(ENGLISH)}" in str(error.value)
    assert f"deleted the download of {server.url}/en; run again" in str(error.value)
    assert not (tmp_path / "cache" / checksum(f"{server.url}/en") / "en").exists()
    server.files["/en"] = ENGLISH.encode()
    assert fetched(asked, tmp_path)[0] == PAIRS


def test_neither_mirror_nor_network(tmp_path):
    with pytest.raises(UserError) as error:
        fetched(corpus(url=[f"{NOWHERE}/x.{{lang}}"]), tmp_path, tmp_path / "mirror")
    message = str(error.value)
    assert f"x: no {tmp_path}/mirror/x.en.gz in the mirror, and no download: {NOWHERE}/x.en: no connection" in message
    assert "Set NMT_FRONTIER_MIRROR to a folder that has x.en.gz" in message
    assert "or run configs/offline.yaml, which needs neither" in message


def test_no_mirror_and_no_url(tmp_path):
    with pytest.raises(UserError, match=r"x: no mirror, and no file x\.en\.gz in /"):
        fetched(corpus(), tmp_path)


# What can be had


def test_available_tells_what_is_missing(server, tmp_path):
    server.files = {"/web.en": b"", "/web.de": b""}
    mirrored(tmp_path)
    entries = {
        "here": corpus(),
        "web": corpus("no/{lang}", [f"{server.url}/web.{{lang}}"]),
        "gone": corpus("no/{lang}", [f"{server.url}/gone.{{lang}}"]),
        "off": corpus("no/{lang}", [f"{NOWHERE}/off.{{lang}}"]),
        "made": config.corpus({"role": "test", "builtin": {"split": "test", "sentences": 1}}),
    }
    study = {"source": "en", "target": "de", "mirror": str(tmp_path), "corpora": entries}
    (gone,), (off,) = fetch.available(study, tmp_path / "cache")
    assert gone.startswith("gone: no ") and "/gone.en: HTTP 404" in gone
    assert off.startswith("off: no ") and "/off.en: no connection" in off
    assert server.requests == []


def test_available_knows_the_cache(server, tmp_path):
    server.files = {"/en": ENGLISH.encode(), "/de": GERMAN.encode()}
    asked = corpus(url=[f"{server.url}/{{lang}}"])
    fetched(asked, tmp_path)
    server.files = {}
    study = {"source": "en", "target": "de", "mirror": None, "corpora": {"x": asked}}
    assert fetch.available(study, tmp_path / "cache") == ([], [])
    assert len(fetch.available(study, tmp_path / "other").missing) == 1
    assert fetch.available(study, tmp_path / "other", names=[]) == ([], [])


# Built in


def test_builtin(monkeypatch):
    def generate(target, split, sentences, seed):
        yield from ((f"{split} {seed} {number}", target) for number in range(sentences))

    monkeypatch.setitem(sys.modules, "distill.grammar", types.SimpleNamespace(generate=generate))
    for role, expected in [("test", [("a 3 0", "fr"), ("a 3 1", "fr")]), ("monolingual", [("a 3 0",), ("a 3 1",)])]:
        made = config.corpus({"role": role, "builtin": {"split": "a", "sentences": 2}})
        blocks, about = fetch.fetch("x", made, ["en", "fr"], None, None, 3)
        assert rows(blocks) == expected
        assert about.origins == ["built-in grammar, a"]


# Command line


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "distill.fetch", *map(str, arguments)], capture_output=True, text=True)


def test_command(tmp_path):
    spec = json.dumps(entry(licence="CC0", max_lines=3))
    common = ["--name", "x", "--languages", "en", "de", "--spec", spec, "--output", tmp_path / "o.tsv.zst"]
    done = run(*common, "--mirror", mirrored(tmp_path))
    assert done.returncode == 0, done.stderr
    assert list(records.read(tmp_path / "o.tsv.zst")) == PAIRS[:3]
    about = read_json(tmp_path / "o.json")
    text = "".join(f"{english}\t{german}\n" for english, german in PAIRS[:3])
    assert about == {
        "name": "x",
        "role": "train",
        "origin": ["x.en.gz", "x.de.gz"],
        "licence": "CC0",
        "lines": 3,
        "sha256": checksum(text),
        "text_sha256": {"en": checksum(ENGLISH), "de": checksum(GERMAN)},
        "dropped": {},
    }


def test_a_language_whose_checksums_the_base_does_not_know(tmp_path):
    """As the README adds Czech to the demo: three lines."""
    demo = config.load(ROOT / "configs/demo.yaml")["corpora"]
    base = {"extends": str(ROOT / "configs/demo.yaml"), "corpora": {}}
    for name, corpus in demo.items():
        texts = {"en": f"{name}\n{ENGLISH}", "cs": f"{name}\n{GERMAN}"}
        base["corpora"][name] = {"lines": 501, "sha256": {"en": checksum(texts["en"])}}
        for code in ("en",) if name == "captions" else texts:
            path = tmp_path / "mirror" / corpus["mirror"].replace("{lang}", code)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(gzip.compress(texts[code].encode()))
    (tmp_path / "base.yaml").write_text(yaml.safe_dump(base))
    study = tmp_path / "demo-cs.yaml"
    study.write_text("extends: base.yaml\nstudy: demo-cs\ntarget: cs\n")

    loaded = config.load(study)
    told = fetch.read_unchecked(loaded)
    assert told.startswith("no checksum for cs of multi30k, val, test_2016_flickr: what is read is not checked")
    assert fetch.read_unchecked(config.load(ROOT / "configs/demo.yaml")) is None
    for name, corpus in loaded["corpora"].items():
        common = [
            "--name",
            name,
            "--languages",
            "en",
            "cs",
            "--spec",
            json.dumps(corpus),
            "--mirror",
            tmp_path / "mirror",
        ]
        done = run(*common, "--output", tmp_path / f"{name}.tsv.zst")
        assert done.returncode == 0, done.stderr
        found = read_json(tmp_path / f"{name}.json")["text_sha256"]
        assert found["en"] == corpus["sha256"]["en"]
        unchecked = json.dumps({"cs": found["cs"]}) if "cs" in found else ""
        assert (f"not checked; for its configuration: {unchecked}" in done.stderr) == bool(unchecked)


def test_command_says_one_line(tmp_path):
    spec = json.dumps(entry())
    done = run("--name", "x", "--languages", "en", "de", "--spec", spec, "--output", tmp_path / "o.tsv.zst")
    assert done.returncode == 1
    assert done.stderr.startswith("error: x: no mirror, and no file x.en.gz in /")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    assert "needs --name" in run("--name", "x").stderr


def test_command_available(tmp_path):
    entries = {role: entry(f"{role}/x.{{lang}}.gz") | {"role": role} for role in ("train", "dev", "test")}
    study = {
        "study": "x",
        "source": "en",
        "target": "de",
        "mirror": str(tmp_path),
        "corpora": entries,
        "teachers": {
            "t": {
                "shape": {"encoder_layers": 1, "decoder_layers": 1, "units": 8, "ffn_units": 8, "heads": 2},
                "training": (training := {"steps": 1, "batch_tokens": 1, "learning_rate": 1, "warmup_steps": 1}),
            }
        },
        "students": {
            "s": {"shape": {"encoder_layers": 1, "decoder_layers": 1, "units": 8, "ffn_units": 8, "heads": 2}}
        },
        "student_training": training,
        "decoding": {"compute_types": ["float32"]},
        "distillation": {"compute_type": "float32"},
    }
    path = tmp_path / "x.yaml"
    path.write_text(json.dumps(study))  # JSON is YAML
    for role in ("train", "dev"):
        (tmp_path / role).mkdir()
        mirrored(tmp_path / role)
    done = run("--available", path)
    assert done.returncode == 1
    assert done.stdout.startswith("test: no ") and done.stdout.count("\n") == 1
    (tmp_path / "test").mkdir()
    mirrored(tmp_path / "test")
    done = run("--available", path)
    assert (done.returncode, done.stdout) == (0, "")


def test_another_number_of_lines_than_configured(tmp_path):
    mirrored(tmp_path)
    with pytest.raises(UserError, match=rf"x: has {ENGLISH.count(chr(10)):,} lines, its configuration says 7,000"):
        fetched(corpus(lines=7000), tmp_path, tmp_path)


@pytest.mark.parametrize("kind", ["file", "url"])
def test_a_published_distilled_corpus_is_a_source_like_any_other(kind, server, tmp_path):
    """Three columns, source, target and score; the checksum is the one in the JSON beside it."""
    path = tmp_path / "best.tsv.zst"
    _, content = records.write(path, [(*pair, "-0.1250") for pair in PAIRS])
    server.files["/best.tsv.zst"] = path.read_bytes()
    place = {"file": str(path)} if kind == "file" else {"url": [f"{server.url}/best.tsv.zst"]}
    asked = config.corpus({"role": "train", "format": "tsv", "columns": {"en": 0, "de": 1}, "sha256": content, **place})
    assert fetched(asked, tmp_path)[0] == PAIRS
    with pytest.raises(UserError, match="sha256"):
        fetched(asked | {"sha256": "0" * 64}, tmp_path)
