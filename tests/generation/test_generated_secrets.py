"""No secret of a rollout, a person or a model reaches a file, a model or a report."""

import base64
import json
from pathlib import Path

from generation.kit import PERSONS, Desk, contents
from generation.scripted import (
    REGISTERED,
    TOKEN,
    Scripted,
    adding,
    answer,
    noting,
)

from openhands_memory.generation.stage import Stage
from openhands_memory.trust import state_directory

# --- Extraction -------------------------------------------------------------------------


def test_no_secret_of_an_answer_reaches_a_file_a_name_or_a_report(desk: Desk) -> None:
    desk.record("a", "work")
    desk.record("b", "work")
    said = answer(
        f"- The token is {TOKEN}.\n- Say {REGISTERED} at the door.",
        slug=f"deploy {TOKEN}",
        summary=f"Used {TOKEN} and {REGISTERED}.",
    )
    wrong = f'{{"rollout_slug": "{TOKEN}", "{TOKEN}": "{REGISTERED}"'
    report = desk.generate([said, wrong, wrong], [noting])
    assert (report.extracted, len(report.failed)) == (1, 1)
    assert "[secret: " in desk.raw("a").body
    told = json.dumps(report.as_dict()) + "".join(map(str, desk.workspace.rglob("*")))
    everything = contents(desk.workspace, state_directory())
    for secret in (TOKEN, TOKEN.lower(), REGISTERED):
        assert secret not in told
        assert not any(secret in path for path in everything)
        assert not any(secret.encode() in data for data in everything.values())


def test_a_secret_of_an_old_rollout_does_not_reach_the_model(desk: Desk) -> None:
    """It was recorded before anybody knew that it is one."""
    desk.record("a", f"the key is {TOKEN}", items=[{"output": {"k": [REGISTERED]}}])
    models = Scripted([answer()], [noting])
    desk.run(models)
    assert "the key is [secret: " in models.asked[0][1]
    assert TOKEN not in models.asked[0][1]
    assert REGISTERED not in models.asked[0][1]


# --- Consolidation ----------------------------------------------------------------------


def test_a_refused_result_is_kept_aside_without_its_secrets(
    desk: Desk, project_index: Path
) -> None:
    """Those of the agent, and those that a person has in the file."""
    before = f"{PERSONS}- the old token was {TOKEN}\n"
    project_index.write_text(before)
    desk.record("a", "work")
    path = f"rollout_summaries/{TOKEN}.md"

    def leak(stage: Stage) -> None:
        adding(f"- Say {REGISTERED} and {TOKEN}. See {path} [^{TOKEN}]")(stage)
        text = f"Use {TOKEN}, see {path}.\n"
        stage.create("skills/deploy/SKILL.md", text)

    models = Scripted([answer()], [leak])
    report = desk.run(models)
    assert report.consolidated == "refused"
    assert "holds a secret (github-token)" in (report.reason or "")
    assert project_index.read_text() == before
    [kept] = state_directory().glob("generation/*/refused/*.json")
    assert kept.stat().st_mode & 0o777 == 0o600
    record = json.loads(kept.read_text())
    texts = json.dumps(report.as_dict()), json.dumps(record), *map(repr, models.tasks)
    files = contents(state_directory(), desk.memory / "raw_memories.md")
    decoded = b"".join(
        base64.b64decode(t or "") for w in record["files"].values() for t in w.values()
    )
    assert b"written by hand" in decoded
    for secret in (TOKEN, REGISTERED):
        assert not any(secret in text for text in texts)
        assert secret.encode() not in decoded
        assert not any(secret.encode() in data for data in files.values())


def test_a_persons_secret_is_hidden_from_the_agent_and_stays_in_the_file(
    desk: Desk, project_index: Path
) -> None:
    before = f"{PERSONS}- the token is {TOKEN}\n"
    project_index.write_text(before)
    desk.record("a", "work")
    seen: list[str] = []

    def look(stage: Stage) -> None:
        seen.extend(stage.files.values())
        noting(stage)

    assert desk.generate([answer()], [look]).consolidated == "accepted"
    assert not any(TOKEN in text for text in seen)
    assert project_index.read_text().startswith(before)
