"""An OpenAI-compatible model on loopback that answers from a script."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = dict[str, Any]


def says(text: str) -> Answer:
    return {"role": "assistant", "content": text}


def calls(tool: str, **arguments: str) -> Answer:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{tool}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


class ScriptedServer(ThreadingHTTPServer):
    """Gives one answer after the other; keeps each request it was sent."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = list(answers)
        self.requests: list[dict[str, Any]] = []

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedServer

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        self.server.requests.append(json.loads(self.rfile.read(size)))
        message = self.server.answers.pop(0)
        reason = "tool_calls" if "tool_calls" in message else "stop"
        body = json.dumps(
            {
                "id": "scripted",
                "object": "chat.completion",
                "created": 0,
                "model": "scripted",
                "choices": [{"index": 0, "message": message, "finish_reason": reason}],
                "usage": {
                    "prompt_tokens": 10,
                    "completion_tokens": 5,
                    "total_tokens": 15,
                },
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: pytest shows what goes wrong."""


@contextmanager
def scripted_server(answers: Sequence[Answer]) -> Iterator[ScriptedServer]:
    """Serve *answers* until the block ends."""
    with ScriptedServer(answers) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
