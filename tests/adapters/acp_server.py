"""Just enough of an ACP server: answers each prompt, and appends it to a file.

Run as a program with that file's path: JSON-RPC over standard input and output, one
message a line.
"""

import json
import sys
from pathlib import Path


def main(log: Path) -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked or "method" not in asked:
            continue
        method, params = asked["method"], asked.get("params") or {}
        if method == "session/prompt":
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(params["prompt"]) + "\n")
            content = {"type": "text", "text": "understood"}
            update = {"sessionUpdate": "agent_message_chunk", "content": content}
            session = {"sessionId": params["sessionId"], "update": update}
            send({"method": "session/update", "params": session})
        send({"id": asked["id"], "result": result_of(method)})


def result_of(method: str) -> dict[str, object]:
    if method == "initialize":
        return {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}
    if method == "session/new":
        return {"sessionId": "session-1"}
    if method == "session/prompt":
        return {"stopReason": "end_turn"}
    return {}


def send(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
