"""Firefox without a window, driven by its Marionette protocol over a socket, so that no other program is needed."""

import contextlib
import itertools
import json
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import chromium
import optional

SECONDS = 300
AWAITED = """
const done = arguments[0];
(async () => ({ value: await (EXPRESSION) }))().then(done, error => done({ error: String(error) }));
"""


class Browser:
    """One page of a browser, with the methods of chromium.Browser that tests of any browser need."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (folder / "user.js").write_text(f'user_pref("marionette.port", {port});\n')
        program = [optional.program("firefox-esr"), "--headless", "--no-remote", "--profile", folder, "--marionette"]
        self._process = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._socket, self._buffer, self._numbers = _connected(port), b"", itertools.count(1)
        self._socket.settimeout(SECONDS)
        self._message()  # what it is
        self.send("WebDriver:NewSession")
        self.send("WebDriver:SetTimeouts", script=1000 * SECONDS)

    def send(self, command: str, **parameters: Any) -> Any:
        """The result of a command of the protocol. Raises RuntimeError where it fails."""
        message = json.dumps([0, next(self._numbers), command, parameters])
        self._socket.sendall(f"{len(message)}:{message}".encode())
        _, _, error, result = self._message()
        if error:
            raise RuntimeError(f"{command}: {error['message']}")
        return result

    def _message(self) -> Any:
        size = None
        while size is None or len(self._buffer) < size:
            if size is None and b":" in self._buffer:
                head, _, self._buffer = self._buffer.partition(b":")
                size = int(head)
                continue
            if not (part := self._socket.recv(1 << 20)):
                raise RuntimeError("the browser ended")
            self._buffer += part
        message, self._buffer = self._buffer[:size], self._buffer[size:]
        return json.loads(message)

    def open(self, address: str, width: int = 1280, height: int = 900) -> None:
        """Open an address in a window of this size."""
        self.send("WebDriver:SetWindowRect", width=width, height=height)
        self.send("WebDriver:Navigate", url=address)

    def run(self, script: str) -> Any:
        """The value of an expression, awaited. Raises RuntimeError where the script fails."""
        found = self.send("WebDriver:ExecuteAsyncScript", script=AWAITED.replace("EXPRESSION", script), args=[])[
            "value"
        ]
        if "error" in found:
            raise RuntimeError(found["error"])
        return found.get("value")

    def wait(self, condition: str, seconds: float = 30) -> None:
        """Until an expression is true. Raises RuntimeError where it does not come true."""
        if not self.run(chromium.waiting(condition, seconds)):
            raise RuntimeError(f"never true: {condition}")

    def write(self, text: str) -> None:
        """Type a text into the element that has the focus."""
        (element,) = self.send("WebDriver:GetActiveElement")["value"].values()
        self.send("WebDriver:ElementSendKeys", id=element, text=text)

    def close(self) -> None:
        self._socket.close()
        self._process.kill()
        self._process.wait()


def _connected(port: int) -> socket.socket:
    for _ in range(10 * SECONDS):
        with contextlib.suppress(ConnectionRefusedError):
            return socket.create_connection(("127.0.0.1", port))
        time.sleep(0.1)
    raise RuntimeError("Firefox does not listen")
