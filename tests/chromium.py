"""Chromium without a window, driven by the DevTools protocol over two pipes, so that no other program is needed."""

import itertools
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import optional

OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe")
START = 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"'  # Chromium reads from 3 and writes to 4


def waiting(condition: str, seconds: float) -> str:
    """An expression that waits until another one is true, and tells whether it came true in this time."""
    poll = f"(async () => {{ for (let i = 0; i < {int(seconds * 20)}; i++) {{ if ({condition}) return true;"
    return poll + " await new Promise(done => setTimeout(done, 50)); } return false; })()"


class Browser:
    """One page of a browser; ``events`` are the messages that it sent on its own, by their method."""

    def __init__(self, folder: Path):
        (commands, self._commands), (self._answers, answers) = os.pipe(), os.pipe()
        program = [optional.program("chromium"), *OPTIONS, f"--user-data-dir={folder}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", START, "bash", str(commands), str(answers), *program],
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands), os.close(answers)
        self._numbers, self._buffer, self._session = itertools.count(1), b"", None
        self.events: list[dict[str, Any]] = []
        targets = self.send("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in targets if one["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of a command of the protocol. Raises RuntimeError where it fails."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        message |= {"sessionId": self._session} if self._session else {}
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._read()).get("id") != number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not (part := os.read(self._answers, 1 << 20)):
                raise RuntimeError("the browser ended")
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def open(self, page: Path | str, width: int = 1280, height: int = 900) -> None:
        """Open a file or an address in a window of this size."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.send("Emulation.setDeviceMetricsOverride", **size)
        self.events.clear()
        self.send("Page.navigate", url=page if isinstance(page, str) else page.resolve().as_uri())

    def run(self, script: str) -> Any:
        """The value of an expression, awaited. Raises RuntimeError where the script fails."""
        result = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def wait(self, condition: str, seconds: float = 30) -> None:
        """Until an expression is true. Raises RuntimeError where it does not come true."""
        if not self.run(waiting(condition, seconds)):
            raise RuntimeError(f"never true: {condition}")

    def failures(self) -> list[str]:
        """Errors of scripts and of what the page was not allowed to load."""
        self.run("0")  # all events before it are read
        failed = ("Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(event["params"]) for event in self.events if event.get("method") in failed]

    def requests(self) -> list[str]:
        """The addresses that the page asked for."""
        sent = (event for event in self.events if event.get("method") == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in sent]

    def click(self, script: str) -> None:
        """Press the middle of the element that an expression gives, as a mouse does."""
        middle = "const box = e.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2];"
        x, y = self.run(f"(e => {{ e.scrollIntoView(); {middle} }})({script})")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, name: str, text: str = "") -> None:
        """Press a key in the element that has the focus."""
        code = {"Enter": 13, "Tab": 9, " ": 32}[name]
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=name, text=text, windowsVirtualKeyCode=code)

    def write(self, text: str) -> None:
        """Type a text into the element that has the focus."""
        self.send("Input.insertText", text=text)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._commands), os.close(self._answers)
