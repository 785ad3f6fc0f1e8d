"""A teacher behind HTTP: checked answers that are kept, paid for once and within a budget, by a server with faults."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from math import log

import pytest
import warm
from hypothesis import given
from hypothesis import settings as settings_of_examples
from hypothesis import strategies as st
from language_models import ANSWERS, KEY, english, german, served

from common.document import short
from distill import n_best_lists
from distill.http_teacher import server, teacher
from distill.http_teacher.budget import Budget
from distill.http_teacher.checks import Checks
from distill.http_teacher.kept import Answer, KeptAnswers, decoded, encoded
from distill.http_teacher.prompt import Prompt
from distill.http_teacher.teacher import HttpTeacher, hypotheses
from distill.settings import AskingSettings, Example, HttpSection, TokenPrices
from formats import records
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json

PRICES = TokenPrices(1, 2)
TEXTS = [*map(english, range(12))]
AS_ASKED = [[german(text)] for text in TEXTS]


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(server, "BACKOFF_SECONDS", 0.001)


def settings(address, **http):
    return AskingSettings(["en", "de"], 1, HttpSection(**{"address": address, "model": "tiny", "timeout": 1} | http), 3)


def asked(model, folder, texts=TEXTS, **http):
    """The lists of texts, and the counts."""
    one = HttpTeacher(settings(model.address, **http), folder, "llm")
    lists = list(one.n_best(texts))
    assert [each.source for each in lists] == [*texts]
    return [[h.text for h in each.hypotheses] for each in lists], one.counts()


def test_answers_are_translations_in_order_and_counted(model, tmp_path):
    lists, counts = asked(model, tmp_path, prices=PRICES)
    assert lists == AS_ASKED
    assert counts["answers"] == len(TEXTS) == len(model.bodies) and counts["models"] == {"tiny-2": len(TEXTS)}
    paid = counts["input_tokens"] * 1 + counts["output_tokens"] * 2
    assert counts["usd"] == pytest.approx(paid / 1e6, abs=1e-6) and counts["seconds"] > 0
    assert counts["failed"] == counts["dropped"] == counts["samples"] == {}


@pytest.mark.parametrize("fault", ["429", "500", "503", "silent", "cut_json", "cut_body", "dead", "no_usage"])
def test_a_fault_of_the_server_loses_nothing(fault, model, tmp_path):
    model.fault = lambda text, times: fault if times == 0 and text in TEXTS[::4] else None
    lists, counts = asked(model, tmp_path, budget=1, prices=PRICES)
    assert lists == AS_ASKED and counts["dropped"] == {}
    assert len(model.bodies) == len(TEXTS) + (0 if fault == "no_usage" else len(TEXTS[::4]))
    spent, counted = read_json(tmp_path / "llm.spent.json")["usd"], counts["usd"]
    # What the server may have worked for counts, at its highest price.
    assert spent == pytest.approx(counted, abs=1e-6) if fault in ("429", "500", "503") else spent > counted


@settings_of_examples(max_examples=20)
@given(st.lists(st.lists(st.sampled_from(["429", "500", "cut_json", "cut_body", "dead", "copy", "length"]), max_size=2),
                min_size=1, max_size=8), st.integers(1, 4))  # fmt: skip
def test_whatever_goes_wrong_all_is_translated_and_paid_once(tmp_path_factory, faults, concurrency):
    """faults: of the first requests for each text, fewer than it is tried."""
    texts = [*map(english, range(len(faults)))]
    folder = tmp_path_factory.mktemp("answers")
    with served() as model:
        model.fault = lambda text, times: dict(enumerate(faults[texts.index(text)])).get(times)
        lists, counts = asked(model, folder, texts, concurrency=concurrency)
        assert lists == [[german(text)] for text in texts] and counts["dropped"] == {}
        assert len(model.bodies) == len(texts) + sum(map(len, faults))
        assert asked(model, folder, texts, concurrency=1) == (lists, counts)
        assert len(model.bodies) == len(texts) + sum(map(len, faults))
    failed = [fault for each in faults for fault in each if fault in ANSWERS]
    assert sum(counts["failed"].values()) == len(failed)
    assert (folder / "llm.jsonl").read_bytes().count(b"\n") == len(texts) + len(failed)


@pytest.mark.parametrize("reason", [*ANSWERS, "cut_off"])
def test_what_is_no_translation_is_asked_again_with_another_seed(reason, model, tmp_path):
    model.fault = lambda text, times: reason if times == 0 and text == TEXTS[3] else None
    lists, counts = asked(model, tmp_path)
    assert lists == AS_ASKED and counts["failed"] == {reason: 1} and counts["dropped"] == {}
    assert [place[:2] for place in counts["samples"][reason]] == [(4, TEXTS[3])]
    seeds = [body["seed"] for body in model.bodies if TEXTS[3] in body["messages"][-1]["content"]]
    assert len(seeds) == len({*seeds}) == 2


@pytest.mark.parametrize("reason", [*ANSWERS, "400"])
def test_a_text_without_a_translation_is_dropped_and_counted(reason, model, tmp_path):
    model.fault = lambda text, times: reason if text == TEXTS[3] else None
    lists, counts = asked(model, tmp_path, tries=2)
    name = "rejected" if reason == "400" else reason
    assert lists == [*AS_ASKED[:3], [], *AS_ASKED[4:]]
    assert counts["failed"] == {name: 2} and counts["dropped"] == {name: 1}
    sent = len(model.bodies)
    assert asked(model, tmp_path, tries=2) == (lists, counts) and len(model.bodies) == sent


def test_a_prompt_that_nothing_follows_ends_the_job(model, tmp_path, monkeypatch):
    monkeypatch.setattr(teacher, "HOPELESS", 5)
    model.fault = lambda text, times: "refusal"
    with pytest.raises(
        UserError, match=r"teachers.llm: nothing passed for 5 texts in a row, the last answer \(refusal"
    ):
        asked(model, tmp_path, concurrency=1, tries=1)
    assert len(model.bodies) < len(TEXTS)


def test_a_dead_server_ends_the_job_and_nothing_is_paid_twice(model, tmp_path, monkeypatch):
    monkeypatch.setattr(server, "ATTEMPTS", 2)
    model.fault = lambda text, times: "dead" if len(model.bodies) > 5 else None
    with pytest.raises(UserError, match=r"no whole answer .*; answers so far are kept, the same command goes on"):
        asked(model, tmp_path, concurrency=1)
    model.fault = lambda text, times: None
    kept = (tmp_path / "llm.jsonl").read_bytes().count(b"\n")
    before = len(model.bodies)
    assert asked(model, tmp_path)[0] == AS_ASKED and len(model.bodies) - before == len(TEXTS) - kept


def test_answers_that_are_never_whole_end_the_job(model, tmp_path):
    model.fault = lambda text, times: "cut_json" if text == TEXTS[3] else None
    with pytest.raises(UserError, match=r"this is no whole answer: .*the same command goes on"):
        asked(model, tmp_path)
    assert [decoded(line) for line in (tmp_path / "llm.jsonl").read_bytes().splitlines(True)]


@pytest.mark.parametrize("status, told", [("401", "must have a valid key"), ("404", "`address`"), ("301", "HTTP 301")])
def test_an_error_of_every_request_is_one_line_without_the_key(status, told, model, tmp_path, monkeypatch):
    monkeypatch.setenv("LLM_KEY", f" {KEY}\n")
    model.fault = lambda text, times: status
    with pytest.raises(UserError, match=told) as refused:
        asked(model, tmp_path, key="LLM_KEY")
    assert KEY not in str(refused.value) and "\n" not in str(refused.value)


def test_an_empty_text_is_not_asked(model, tmp_path):
    lists, counts = asked(model, tmp_path, ["", TEXTS[0]])
    assert lists == [[], AS_ASKED[0]] and counts["dropped"] == {"empty_source": 1} and len(model.bodies) == 1


def test_the_same_text_is_asked_once(model, tmp_path):
    model.seconds = 0.05
    lists, counts = asked(model, tmp_path, [TEXTS[0]] * 20)
    assert lists == [[german(TEXTS[0])]] * 20 and len(model.bodies) == 1 and counts["answers"] == 20


def test_as_many_requests_at_a_time_as_the_study_says(model, tmp_path):
    model.seconds = 0.02
    asked(model, tmp_path, concurrency=3)
    assert model.most_at_a_time == 3


def test_kept_answers_need_neither_server_nor_key(model, tmp_path, monkeypatch):
    monkeypatch.setenv("LLM_KEY", KEY)
    first = asked(model, tmp_path, key="LLM_KEY", candidates=2, temperature=1)
    monkeypatch.delenv("LLM_KEY")
    model.address = "http://127.0.0.1:9/v1"
    assert asked(model, tmp_path, key="LLM_KEY", candidates=2, temperature=1) == first
    with pytest.raises(UserError, match="environment variable LLM_KEY is not set"):
        asked(model, tmp_path, key="LLM_KEY", candidates=3, temperature=1)


@pytest.mark.parametrize("key", ["", "a\nb", "ä"])
def test_a_key_that_cannot_be_sent(key, monkeypatch):
    monkeypatch.setenv("LLM_KEY", key)
    with pytest.raises(UserError, match="variable LLM_KEY") as refused:
        server.key("LLM_KEY")
    assert not key or key not in str(refused.value)


def test_a_budget_is_never_passed(model, tmp_path):
    """Not even by what is asked at the same time."""
    prices, budget = TokenPrices(1000, 1000), 3.0
    with pytest.raises(UserError, match=r"http.budget: .* USD of 3 are spent, and the next request may cost"):
        asked(model, tmp_path, budget=budget, prices=prices, max_tokens=30)
    spent = read_json(tmp_path / "llm.spent.json")["usd"]
    kept = KeptAnswers(tmp_path / "llm.jsonl")
    assert 0 < sum(kept.tokens) * 1000 / 1e6 == pytest.approx(spent) and spent < budget
    sent = len(model.bodies)
    with pytest.raises(UserError, match=r"http\.budget"):
        asked(model, tmp_path, budget=spent, prices=prices, max_tokens=30)
    assert len(model.bodies) == sent  # checked before, not after
    assert asked(model, tmp_path, budget=100, prices=prices, max_tokens=30)[0] == AS_ASKED
    assert len(model.bodies) == len(TEXTS)


@given(st.lists(st.tuples(st.floats(0, 2), st.floats(0, 1)), max_size=20), st.floats(0.1, 5))
def test_reservations_and_prices_add_up(tmp_path_factory, requests, most):
    """prices: the highest of a request, and the share of it that is paid."""
    path, paid = tmp_path_factory.mktemp("budget") / "spent.json", 0.0
    for highest, share in requests:
        try:
            Budget(path, most, 0).reserve(highest)
        except UserError:
            assert paid + highest > most - 1e-9
            continue
        Budget(path, most, 0).settle(highest, share * highest)
        paid += share * highest
        assert paid <= most + 1e-9 and read_json(path)["usd"] == pytest.approx(paid, abs=1e-9)


@pytest.mark.parametrize("written", ["", "{}", "[1]", '{"usd": "x"}', '{"usd": NaN}', '{"usd": -1}'])
def test_a_file_that_does_not_say_what_was_spent_is_one_line(model, tmp_path, written):
    """With NaN any sum would be within the budget."""
    (tmp_path / "llm.spent.json").write_text(written)
    with pytest.raises(UserError, match=r"llm.spent.json: .*does not say what was spent; write"):
        asked(model, tmp_path, budget=1, prices=PRICES)
    assert model.bodies == []


def test_candidates_are_samples_with_their_shares(model, tmp_path):
    texts = [TEXTS[0]]
    lists, counts = asked(model, tmp_path, texts, candidates=4, temperature=0.7)
    assert lists == [[german(TEXTS[0])]] and counts["answers"] == 4 == len({body["seed"] for body in model.bodies})
    drawn = [Answer("", text) for text in ("a", "b ", "a", "c")]
    assert hypotheses(drawn) == [("a", log(2 / 4), 2), ("b", log(1 / 4), 1), ("c", log(1 / 4), 1)]


@given(st.lists(st.text("ab", min_size=1, max_size=2), min_size=1, max_size=8))
def test_shares_add_up(texts):
    found = hypotheses([Answer("", text) for text in texts])
    assert sum(2.718281828459045**each.score for each in found) == pytest.approx(1)
    assert {each.text for each in found} == {*texts}


def test_prompts_of_both_apis(model, tmp_path):
    shown = [Example("A cat.", "Eine Katze.")]
    assert asked(model, tmp_path, TEXTS[:1], examples=shown)[0] == AS_ASKED[:1]
    (body,) = model.bodies
    assert [each["role"] for each in body["messages"]] == ["user", "assistant", "user"]
    assert "English text into German" in body["messages"][0]["content"] and model.paths == ["/v1/chat/completions"]
    more = {"options": {"top_k": 5, "max_completion_tokens": 9}, "without": ["max_tokens", "seed"]}
    assert asked(model, tmp_path, TEXTS[:1], examples=shown, api="completions", **more)[0] == AS_ASKED[:1]
    body = model.bodies[-1]
    assert body["prompt"] == f"English: A cat.\nGerman: Eine Katze.\n\nEnglish: {TEXTS[0]}\nGerman:"
    assert body["top_k"] == 5 and not {"max_tokens", "seed"} & body.keys() and model.paths[-1] == "/v1/completions"


ANOTHER = [{"model": "b"}, {"temperature": 0.5}, {"top_p": 0.5}, {"max_tokens": 9}, {"prompt": "{text}?"},
           {"examples": [Example("a", "b")]}, {"api": "completions"}, {"options": {"top_k": 1}}]  # fmt: skip


def test_a_request_has_the_key_of_all_that_makes_its_answer():
    def keys(**http):
        prompt = Prompt(settings("http://a/v1", **http).http, ["en", "de"], 1)
        return [prompt.request("x", *place).key for place in ((0, 0), (0, 1))]

    every = [key for change in [{}, *ANOTHER] for key in keys(**change)]
    assert len({*every}) == len(every)
    same = HttpSection(address="http://b", model="tiny", key="K", budget=1, prices=PRICES, concurrency=1, timeout=5)
    assert Prompt(same, ["en", "de"], 1).request("x", 0, 0).key == keys()[0]


@given(st.text(), st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 9) | st.none(), st.floats(0, 9))
def test_a_kept_answer_is_read_as_it_was_written(finish, text, tokens, seconds):
    answer = Answer("ab" * 32, text, finish.encode(errors="replace").decode(), "m", tokens, 2, seconds)
    line = encoded(answer)
    assert decoded(line) == answer and line.count(b"\n") == 1
    assert all(decoded(line[:end]) is None for end in range(0, len(line), 7))
    assert decoded(line.replace(b'"key":"ab', b'"key":"aa')) is None


def test_a_line_that_was_cut_off_is_asked_again(model, tmp_path, capsys):
    first = asked(model, tmp_path)
    path = tmp_path / "llm.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    assert asked(model, tmp_path)[0] == first[0] and len(model.bodies) == len(TEXTS) + 1
    assert "1 line cut off or damaged, left out" in capsys.readouterr().err
    assert asked(model, tmp_path)[0] == first[0] and len(model.bodies) == len(TEXTS) + 1


@pytest.mark.parametrize("source, answer", [
    ("I'm sorry, but I can't help you.", "Es tut mir leid, aber ich kann dir nicht helfen."),
    ("Berlin", "Berlin"), ("New York", "New York"), ("Peugeot 206", "Peugeot 206"), ("No.", "Nein."), ("19", "19"),
    ("He said, \"Come here.\"", "„Komm her“, sagte er, „und bleib.“"),
    ("Note: this is a test.", "Hinweis: Das ist ein Test."),
    ("**Never** press </s> here.", "**Drücken Sie hier nie </s>.**"),
    ("Translation: a difficult art.", "Übersetzung: eine schwierige Kunst."),
])  # fmt: skip
def test_true_translations_pass(source, answer):
    assert Checks(["en", "de"], 3).reason(source, Answer("", f" {answer}\n", "stop")) is None


@pytest.mark.parametrize("answer, reason", [
    ("<think>Hmm, a dog.</think>\n\nEin brauner Hund läuft durch das Dorf.", None),
    ("<think>Hmm, a dog. It runs", "explanation"), ("German: Ein brauner Hund läuft durch das Dorf.", "explanation"),
    ("Deutsch: Ein brauner Hund läuft durch das Dorf.", "explanation"),
    ("Ein brauner Hund läuft durch das Dorf. (Hinweis: „Dorf“ ist Neutrum.)", "explanation"),
    *[(f"Ein brauner Hund läuft durch das Dorf.{left}", "explanation") for left in ("<|im_end|>", "</s>", " [/INST]")],
    ("<start_of_turn>model Ein brauner Hund läuft durch das Dorf.", "explanation"),
    *[(f"{mark}Ein brauner Hund läuft durch das Dorf.{mark}", "quotes") for mark in ("**", "_", "`")],
    ("Ein *brauner* Hund läuft durch das Dorf.", None),
    ("Als KI kann ich das nicht beantworten, bitte entschuldigen Sie.", "refusal"),
    ("Ein brauner Hund \ufffd läuft durch das Dorf.", "control_characters"),
])  # fmt: skip
def test_other_answers(answer, reason):
    source = "A brown dog runs through the village."
    assert Checks(["en", "de"], 3).reason(source, Answer("", answer, "stop")) == reason


@pytest.mark.parametrize("response", ["", "[]", "{}", '{"choices": []}', '{"choices": [{"message": {"content": 5}}]}',
                                      '{"choices": [null]}', '{"error": "x"}', "null", "[" * 10**5])  # fmt: skip
def test_other_documents_are_unreadable(response):
    with pytest.raises(server.Unreadable):
        server.read(response, "", 0)


@pytest.mark.parametrize("tokens", [-5, 10**30, True, 1.5, "7", None])
def test_what_is_no_number_of_tokens_is_unknown(tokens):
    """A number below 0 would make the budget larger, one of more than 64 bits could be written, and not read again."""
    usage = {"prompt_tokens": tokens, "completion_tokens": 3}
    text = json.dumps({"choices": [{"text": "a"}], "usage": usage})
    answer = server.read(text, "", 0)
    assert (answer.input, answer.output) == (None, 3)


def test_halves_of_characters_are_replaced_wherever_they_stand():
    told = {"model": "m\ud800", "choices": [{"text": "a\ud83d\ude00\ud800", "finish_reason": "\udc00"}]}
    answer = server.read(json.dumps(told), "ab" * 32, 0)
    assert answer == Answer("ab" * 32, "a\U0001f600\ufffd", "\ufffd", "m\ufffd") == decoded(encoded(answer))
    assert server.message('{"error": {"message": "no \\ud800"}}') == "no \ufffd"


def until(condition):
    while not condition():
        time.sleep(0.01)


def command(model, folder, output, **http):
    records.write(folder / "x.tsv.zst", [(text, "-") for text in TEXTS])
    document = json.dumps(short(settings(model.address, **http)))
    told = ["--teacher", "llm", "--input", folder / "x.tsv.zst", "--answers", folder / "answers", "--output", output]
    return [warm.python(), "-m", "distill.ask", document, *told]


def test_a_killed_run_pays_for_nothing_twice(model, tmp_path):
    model.seconds = 0.1
    told = command(model, tmp_path, output := tmp_path / "out.tsv.zst", concurrency=1)
    running = subprocess.Popen([sys.executable, *told[1:]])  # warm.python() cannot pass SIGKILL on
    until(lambda: len(model.bodies) > 3 or running.poll() is not None)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert not output.exists() and len(model.bodies) < len(TEXTS)
    sent, kept = len(model.bodies), (tmp_path / "answers/llm.jsonl").read_bytes().count(b"\n")
    assert kept >= sent - 1  # the last one was under way
    subprocess.run(command(model, tmp_path, output, concurrency=1), check=True, capture_output=True)
    assert len(model.bodies) - sent == len(TEXTS) - kept
    assert [[h.text for h in each.hypotheses] for each in n_best_lists.read(output)] == AS_ASKED
    whole, counts = output.read_bytes(), read_json(tmp_path / "out.json")
    assert counts["lines_out"] == len(TEXTS) and counts["answers"] == len(TEXTS)
    model.address = "http://127.0.0.1:9/v1"  # a repeated run asks nobody
    subprocess.run(command(model, tmp_path, output, concurrency=1), check=True, capture_output=True)
    assert output.read_bytes() == whole and read_json(tmp_path / "out.json") == counts
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers", "out.json", "out.tsv.zst", "x.tsv.zst"]


def test_a_job_that_has_to_end_keeps_its_answers(model, tmp_path):
    model.seconds = 0.02
    texts = [*map(english, range(60))]
    told = command(model, tmp_path, tmp_path / "out.tsv.zst", concurrency=1)
    records.write(tmp_path / "x.tsv.zst", [(text, "-") for text in texts])
    running = subprocess.Popen(told, stderr=subprocess.PIPE, text=True)
    until(lambda: len(model.bodies) > 3 or running.poll() is not None)
    running.send_signal(signal.SIGTERM)
    _, told = running.communicate()
    assert running.returncode == 1 and re.search("ended at sentence 20 of 60 .SIGTERM.; the same command goes on", told)
    assert (tmp_path / "answers/llm.jsonl").read_bytes().count(b"\n") == len(model.bodies) < 60


def test_the_key_is_nowhere_on_disk(model, tmp_path):
    """Nor on a command line or in what is printed, even of a server that repeats it."""
    model.fault = lambda text, times: {TEXTS[3]: "400", TEXTS[5]: "500"}.get(text) if times == 0 else None
    told = command(model, tmp_path, tmp_path / "out.tsv.zst", key="LLM_KEY")
    done = subprocess.run(told, capture_output=True, text=True, env=os.environ | {"LLM_KEY": KEY})
    assert done.returncode == 0, done.stderr
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    written.append(b"".join(records.frames(tmp_path / "out.tsv.zst")))
    assert len(written) >= 5 and not any(KEY.encode() in content for content in written)
    assert KEY not in done.stdout + done.stderr + " ".join(map(str, told))
    assert "400: Bearer ***" in (tmp_path / "out.json").read_text()  # as the server told it
