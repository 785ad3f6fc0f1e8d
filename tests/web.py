"""A web server in a thread, with the faults of real ones."""

import http.server
import threading

import pytest

NOWHERE = "http://127.0.0.1:9"  # the discard port: nothing answers


class Server(http.server.ThreadingHTTPServer):
    """Serves ``files``; the first ``cut`` answers break off, the first ``busy`` ones are 503."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.cut = self.busy = 0
        self.ranges = True
        self.tag = None
        self.requests: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.SimpleHTTPRequestHandler):
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
        same = self.headers.get("If-Range", self.server.tag) == self.server.tag
        if self.server.ranges and same and "Range" in self.headers:
            start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                return self.send_error(416)
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.send_header("Content-Type", "text/html" if self.path == "/" else self.guess_type(self.path))
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
