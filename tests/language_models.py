"""A server with OpenAI's API in a thread, which translates a few sentences and misbehaves as it is told."""

import http.server
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager

import pytest

KEY = "sk-c0ffee-secret"


def english(number):
    return f"A brown dog runs past {number} houses in the village."


def german(text):
    return f"Ein brauner Hund läuft im Dorf an {[*filter(str.isdigit, text.split())][-1]} Häusern vorbei."


def content(text, answer, finish="stop"):
    """The JSON of an answer, for both APIs."""
    return {
        "model": "tiny-2",
        "choices": [{"message": {"role": "assistant", "content": answer}, "text": answer, "finish_reason": finish}],
        "usage": {"prompt_tokens": len(text.split()), "completion_tokens": len(answer.split())},
    }


ANSWERS = {  # what fails the checks, by the reason
    "refusal": lambda text: "I'm sorry, but I can't assist with that request.",
    "explanation": lambda text: f"Here is the translation: {german(text)}",
    "several_lines": lambda text: f"{german(text)}\n{german(text)}",
    "copy": lambda text: text,
    "wrong_language": lambda text: "Un chien marron court devant les maisons du village, près de la rivière.",
    "wrong_script": lambda text: "Коричневая собака бежит мимо домов в деревне.",
    "length": lambda text: "Ja.",
    "loop": lambda text: "Ein Hund und ein Hund und ein Hund und ein Hund und ein Hund und ein Hund und",
    "quotes": lambda text: f"„{german(text)}“",
    "empty": lambda text: " \n",
}


class Model(http.server.ThreadingHTTPServer):
    """``fault`` gets the text and how often it was asked for before, and returns what goes wrong, or None."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.fault: Callable[[str, int], str | None] = lambda text, times: None
        self.lock, self.times, self.bodies, self.paths = threading.Lock(), Counter(), [], []
        self.at_a_time = self.most_at_a_time = 0
        self.seconds = 0.0
        self.address = f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, *_):
        """Whoever asked was killed."""


class Handler(http.server.BaseHTTPRequestHandler):
    server: Model
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        server, length = self.server, int(self.headers["Content-Length"])
        body = json.loads(self.rfile.read(length))
        text = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
        text = next(line for line in reversed(text.splitlines()) if "A brown dog" in line).removeprefix("English: ")
        with server.lock:
            times = server.times[text]
            server.times[text] += 1
            server.bodies.append(body)
            server.paths.append(self.path)
            server.at_a_time += 1
            server.most_at_a_time = max(server.most_at_a_time, server.at_a_time)
        time.sleep(server.seconds)
        try:
            self.answer(text, server.fault(text, times))
        finally:
            with server.lock:
                server.at_a_time -= 1

    def answer(self, text, fault):
        answer = json.dumps(content(text, german(text))).encode()
        if fault is None:
            return self.send(200, answer)
        if fault in ANSWERS:
            return self.send(200, json.dumps(content(text, ANSWERS[fault](text))).encode())
        if fault == "cut_off":
            return self.send(200, json.dumps(content(text, "Ein brauner Hund", "length")).encode())
        if fault == "cut_json":
            return self.send(200, answer[: len(answer) // 2])
        if fault == "cut_body":
            return self.send(200, answer[: len(answer) // 2], length=len(answer))
        if fault == "silent":
            time.sleep(1.5)
            return self.send(200, answer)
        if fault == "dead":
            self.close_connection = True
            return self.connection.close()
        if fault == "no_usage":
            return self.send(200, json.dumps(content(text, german(text)) | {"usage": None}).encode())
        told = {"error": {"message": f"{fault}: {self.headers['Authorization']}"}}  # some servers repeat the key
        wait = {"429": {"Retry-After": "0"}, "503": {"Retry-After": "0.5"}}  # the second is none that HTTP has
        return self.send(int(fault), json.dumps(told).encode(), wait.get(fault, {}))

    def send(self, status, answer, headers=(), length=None):
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length or len(answer)))
        self.end_headers()
        self.wfile.write(answer)
        if length:
            self.close_connection = True

    def log_message(self, *_):
        pass


@contextmanager
def served():
    with Model() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def model():
    with served() as server:
        yield server
