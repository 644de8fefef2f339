"""An OpenAI-compatible model on loopback that answers from a script."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Message = dict[str, Any]


class Reply(NamedTuple):
    """What goes wrong: a *status* and a *body*, after *wait* seconds, or in drops.

    With *drop* seconds between them, the body's bytes come one at a time and never end.
    """

    status: int = 200
    body: bytes = b""
    wait: float = 0.0
    drop: float = 0.0


Answer = Message | Reply


def says(text: str) -> Message:
    return {"role": "assistant", "content": text}


def calls(tool: str, **arguments: str) -> Message:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{tool}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def fails(status: int, message: str = "scripted failure", code: str = "") -> Reply:
    error = {"message": message, "type": "error", "code": code or None}
    return Reply(status, json.dumps({"error": error}).encode())


def slow(seconds: float, text: str = "late") -> Reply:
    return Reply(body=_completion(says(text)), wait=seconds)


def responds(*output: dict[str, Any]) -> Reply:
    """An answer of the Responses API."""
    usage: dict[str, Any] = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    usage |= {"input_tokens_details": {"cached_tokens": 0}}
    usage |= {"output_tokens_details": {"reasoning_tokens": 0}}
    found: dict[str, Any] = {"id": "resp_1", "object": "response", "created_at": 0}
    found |= {"status": "completed", "model": "scripted", "output": list(output)}
    found |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return Reply(body=json.dumps({**found, "usage": usage}).encode())


GARBAGE = Reply(body=b'<html>{"choices": [')
DRIPPING = Reply(body=b" " * 10**6, drop=0.05)


def _completion(message: Message, *, reports_usage: bool = True) -> bytes:
    reason = "tool_calls" if "tool_calls" in message else "stop"
    found: dict[str, Any] = {
        "id": "scripted",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
    }
    if reports_usage:
        tokens = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        found["usage"] = tokens
    return json.dumps(found).encode()


class ScriptedServer(ThreadingHTTPServer):
    """Gives one answer after the other; keeps each request it was sent.

    The last answer comes again and again with *repeat*, and without *reports_usage* no
    answer tells its tokens.
    """

    def __init__(
        self,
        answers: Sequence[Answer],
        *,
        repeat: bool = False,
        reports_usage: bool = True,
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = list(answers)
        self.requests: list[dict[str, Any]] = []
        self.repeat = repeat
        self.reports_usage = reports_usage
        self.closing = threading.Event()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def next_reply(self) -> Reply:
        is_last = self.repeat and len(self.answers) == 1
        answer = self.answers[0] if is_last else self.answers.pop(0)
        if isinstance(answer, Reply):
            return answer
        return Reply(body=_completion(answer, reports_usage=self.reports_usage))


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedServer

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        self.server.requests.append(json.loads(self.rfile.read(size)))
        reply = self.server.next_reply()
        if self.server.closing.wait(reply.wait):
            return
        try:
            self._send(reply)
        except OSError:
            """The client gave up; that is what some scripts are for."""

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if not reply.drop:
            self.wfile.write(reply.body)
            return
        for byte in reply.body:
            self.wfile.write(bytes([byte]))
            if self.server.closing.wait(reply.drop):
                return

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: pytest shows what goes wrong."""


@contextmanager
def scripted_server(
    answers: Sequence[Answer], *, repeat: bool = False, reports_usage: bool = True
) -> Iterator[ScriptedServer]:
    """Serve *answers* until the block ends."""
    with ScriptedServer(answers, repeat=repeat, reports_usage=reports_usage) as server:
        serve = partial(server.serve_forever, poll_interval=0.01)
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            server.shutdown()
            thread.join()
