"""``demo``: two conversations, one decision, in a temporary workspace."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

EXAMPLE = "LLM_API_KEY=... LLM_MODEL=openai/gpt-4o openhands-memory demo"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--keep",
        action="store_true",
        help="keep the temporary directory to look around",
    )


def run(args: argparse.Namespace) -> int:
    if args.keep:
        root = tempfile.mkdtemp(prefix="openhands-memory-")
        code = _run_in(Path(root))
        print(f"\nkept: {root}")
        return code
    with tempfile.TemporaryDirectory(prefix="openhands-memory-") as root:
        return _run_in(Path(root))


def _run_in(root: Path) -> int:
    workspace, home = root / "workspace", root / "home"
    workspace.mkdir()
    home.mkdir()
    # Its own user tier, and no word from the SDK but ours. Before the SDK is imported,
    # which reads these once.
    os.environ.pop("OH_PERSISTENCE_DIR", None)
    os.environ.update(HOME=str(home), USERPROFILE=str(home))
    os.environ.setdefault("LOG_LEVEL", "ERROR")
    os.environ.setdefault("OPENHANDS_SUPPRESS_BANNER", "1")
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    key = os.environ.get("LLM_API_KEY")
    model = os.environ.get("LLM_MODEL", "gpt-5.5") if key else None
    print("openhands-memory demo: two conversations, one decision")
    if model:
        print(f"model: {model}, a real one (from LLM_MODEL, with your LLM_API_KEY)")
    else:
        print("model: scripted, no real one (set LLM_API_KEY to have one do both)")
    print(
        f"workspace: {workspace} (temporary, with a user tier of its own)", flush=True
    )
    print("loading the OpenHands SDK, which takes some seconds ...", file=sys.stderr)
    from openhands_memory.adapters.demo import run_demo

    return run_demo(
        workspace, model=model, api_key=key, base_url=os.environ.get("LLM_BASE_URL")
    )
