"""A rollout forgotten: what it alone supported goes, and nothing else."""

import base64
from datetime import UTC, datetime
from pathlib import Path

import pytest
from generation.kit import Desk, contents
from generation.scripted import INDEX, TOKEN, adding, answer, mask
from hypothesis import given
from hypothesis import strategies as st

from openhands_memory.errors import MemoryFileError
from openhands_memory.generation.forgetting import (
    Forgotten,
    NoSuchRolloutError,
    forget_rollout,
)
from openhands_memory.generation.skills import without_removed
from openhands_memory.generation.stage import Stage
from openhands_memory.generation.state import keep_refused, load_ledger, load_proposal
from openhands_memory.generation.support import Refs, without_refs
from openhands_memory.layout import GENERATED_END, GENERATED_START
from openhands_memory.trust import state_directory
from openhands_memory.upkeep.change import history_of

ONE = "3f2a91c0-1111-4222-8333-444455556666"
TWO = "77aa01bc-1111-4222-8333-444455556666"
#: With a byte order mark, mixed line ends, no UTF-8, and no end.
HAND = b"\xef\xbb\xbf# Ours\r\n\r\n- by hand\n- caf\xe9 [^3f2a91c0]\r\n"
SKILL = "skills/deploy/SKILL.md"


@pytest.fixture
def desk(workspace: Path) -> Desk:
    return Desk(workspace)


def remember_both(desk: Desk) -> None:
    """Two conversations, one fact of each alone, and one fact and a skill of both."""
    desk.memory.mkdir(parents=True)
    desk.index.write_bytes(HAND)
    desk.record(ONE, "uses uv and tabs")
    edit = adding("- uses uv [^3f2a91c0]", "- uses tabs [^3f2a91c0]")
    desk.generate([answer("- uses uv\n- uses tabs", slug="one")], [edit])
    desk.record(TWO, "uses uv, pages by cursor")

    def more(stage: Stage) -> None:
        stage.replace(INDEX, "uv [^3f2a91c0]", "uv [^3f2a91c0] [^77aa01bc]")
        adding("- pages by cursor [^77aa01bc]")(stage)
        text = "# Deploy\n\n1. build [^3f2a91c0]\n2. push [^77aa01bc]\n"
        stage.create(SKILL, text)

    report = desk.generate([answer("- uses uv\n- pages by cursor", slug="two")], [more])
    assert report.consolidated == "accepted"


def forget(desk: Desk, name: str, *, purges: bool = False) -> Forgotten:
    now = desk.clock.now()
    return forget_rollout(desk.files, name, mask=mask, now=now, purges=purges)


def facts_of(desk: Desk) -> list[str]:
    """As `Desk.facts`, where a person wrote what is no UTF-8."""
    text = desk.index.read_bytes().decode(errors="replace")
    inside = text.partition(GENERATED_START)[2].partition(GENERATED_END)[0]
    lines = inside.splitlines()
    return [without_refs(line)[2:] for line in lines if line.startswith("- ")]


def persons_part(data: bytes) -> bytes:
    return data.partition(b"\r\n<!-- openhands-memory")[0]


def test_what_it_alone_supported_goes_and_nothing_else(desk: Desk) -> None:
    remember_both(desk)
    before = contents(desk.workspace)
    forgotten = forget(desk, ONE)
    assert facts_of(desk) == ["uses uv", "pages by cursor"]
    text = desk.index.read_text(errors="replace")
    assert "- uses uv [^77aa01bc]" in text
    assert persons_part(desk.index.read_bytes()) == HAND
    assert (desk.memory / SKILL).read_text() == "# Deploy\n\n2. push [^77aa01bc]\n"
    assert (desk.raw_memories, desk.summaries) == ([TWO], [f"{TWO}_two.md"])
    assert desk.selected == [TWO]
    merged = (desk.memory / "raw_memories.md").read_text()
    assert TWO in merged
    assert ONE not in merged
    assert ONE not in load_ledger(desk.files.directory).rollouts
    gone = before.keys() - contents(desk.workspace).keys()
    assert gone == {place.path for place in forgotten.removed}
    assert set(forgotten.changed) == {INDEX, SKILL}


def test_it_is_not_generated_again(desk: Desk) -> None:
    remember_both(desk)
    forget(desk, ONE)
    before = contents(desk.workspace)
    assert desk.generate().llm_calls == 0
    assert contents(desk.workspace) == before


def test_another_conversation_can_bring_the_same_fact_again(desk: Desk) -> None:
    remember_both(desk)
    forget(desk, ONE)
    desk.remember("c", "uses tabs")
    assert facts_of(desk) == ["uses uv", "pages by cursor", "uses tabs"]


def test_the_last_rollout_takes_all_that_was_generated(desk: Desk) -> None:
    remember_both(desk)
    forget(desk, ONE)
    forget(desk, TWO)
    assert facts_of(desk) == []
    assert persons_part(desk.index.read_bytes()) == HAND
    assert not (desk.memory / SKILL).exists()
    assert desk.selected == []
    assert desk.generate().consolidated == "none"


def test_in_the_sandbox_layout_both_files_lose_it(workspace: Path) -> None:
    desk = Desk(workspace, sandbox=True)
    desk.record(ONE, "uses tabs")
    desk.record(TWO, "uses uv")

    def edit(stage: Stage) -> None:
        for name in desk.files.written:
            facts = ("- uses tabs [^3f2a91c0]", "- uses uv [^77aa01bc]")
            adding(*facts, index=name)(stage)

    desk.generate([answer("- uses tabs"), answer("- uses uv")], [edit])
    assert set(forget(desk, ONE).changed) == {"MEMORY.md", "memory_summary.md"}
    for name in desk.files.written:
        text = (desk.memory / name).read_text()
        assert "uses uv" in text
        assert "uses tabs" not in text
    assert not (desk.sessions / f"{ONE}.jsonl").exists()


def test_a_line_that_a_person_edited_stays(desk: Desk) -> None:
    remember_both(desk)
    text = desk.index.read_bytes()
    edited = text.replace(b"uses tabs [^3f2a91c0]", b"uses tabs, four wide [^3f2a91c0]")
    assert edited != text
    desk.index.write_bytes(edited)
    skill = desk.memory / SKILL
    skill.write_text("# Deploy\n\n1. build by hand [^3f2a91c0]\n")
    forget(desk, ONE)
    assert "uses tabs, four wide" in facts_of(desk)[1]
    assert skill.read_text() == "# Deploy\n\n1. build by hand [^3f2a91c0]\n"


# --- Names ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["3f2a91c0", "3f2a91", f"{ONE[:-1]}"])
def test_a_ref_or_the_beginning_of_an_id_is_a_name(name: str, desk: Desk) -> None:
    remember_both(desk)
    assert forget(desk, name).rollout_id == ONE


@pytest.mark.parametrize(
    "name", ["", "3f2a9", "nope", "../../etc/passwd", f"{ONE}.jsonl", "3F2A91C0", "*"]
)
def test_what_is_no_name_changes_nothing_and_is_told_what_exists(
    name: str, desk: Desk
) -> None:
    remember_both(desk)
    before = contents(desk.workspace)
    with pytest.raises(NoSuchRolloutError) as caught:
        forget(desk, name)
    assert caught.value.known == (ONE, TWO)
    assert ONE in str(caught.value)
    assert contents(desk.workspace) == before


def test_the_beginning_of_two_ids_is_neither(desk: Desk) -> None:
    desk.record("conversation-1", "x")
    desk.record("conversation-2", "y")
    desk.record("other", "z")
    with pytest.raises(NoSuchRolloutError, match="begins the ids of several") as caught:
        forget(desk, "conversation")
    assert caught.value.known == ("conversation-1", "conversation-2")


def test_an_id_that_another_one_begins_with_takes_only_its_own(desk: Desk) -> None:
    desk.remember("a", "one thing")
    desk.remember("a_b", "another thing")
    assert desk.summaries == ["a_b_use-uv.md", "a_use-uv.md"]
    forget(desk, "a")
    assert desk.summaries == ["a_b_use-uv.md"]
    assert desk.facts == ["another thing"]
    assert desk.raw_memories == ["a_b"]


def test_where_there_is_nothing_it_says_so(desk: Desk) -> None:
    with pytest.raises(NoSuchRolloutError, match="there are none"):
        forget(desk, "a")
    assert not desk.memory.exists()


def test_what_was_only_recorded_is_forgotten(desk: Desk) -> None:
    desk.record("a", "x")
    forgotten = forget(desk, "a")
    assert [place.below[-1] for place in forgotten.removed] == ["a.jsonl"]
    assert not desk.selection.exists()
    assert desk.generate().llm_calls == 0


def test_a_rollout_of_any_size_is_removed_unread(desk: Desk) -> None:
    desk.record("a", "x")
    with (desk.sessions / "a.jsonl").open("r+b") as file:
        file.truncate(10 << 30)
    forget(desk, "a")
    assert list(desk.sessions.iterdir()) == []


# --- What is damaged or in between ------------------------------------------------------


@pytest.mark.parametrize("text", [None, "", "{broken", '{"selected": [{}]}'])
def test_without_the_selection_its_refs_tell(text: str | None, desk: Desk) -> None:
    remember_both(desk)
    desk.selection.unlink()
    if text is not None:
        desk.selection.write_text(text)
    forget(desk, ONE)
    assert facts_of(desk) == ["uses uv", "pages by cursor"]
    report = desk.generate([], [lambda stage: None])
    assert report.consolidated == "accepted"
    assert facts_of(desk) == ["uses uv", "pages by cursor"]


def test_a_summary_without_a_header_goes_by_its_name(desk: Desk) -> None:
    remember_both(desk)
    (desk.memory / "rollout_summaries" / f"{ONE}_one.md").write_text("damaged")
    forget(desk, ONE)
    assert desk.summaries == [f"{TWO}_two.md"]


def test_an_index_that_is_gone_is_not_made_again(desk: Desk) -> None:
    remember_both(desk)
    desk.index.unlink()
    forget(desk, ONE)
    assert not desk.index.exists()
    assert desk.selected == [TWO]
    edit = adding("- uses uv [^77aa01bc]", "- pages by cursor [^77aa01bc]")
    assert desk.generate([], [edit]).consolidated == "accepted"
    assert desk.facts == ["uses uv", "pages by cursor"]


@pytest.mark.parametrize("data", [b"\0\1\2" * 99, b"\xff\xfe" + b"\x00\xd8" * 9])
def test_an_index_that_cannot_be_written_back_stops_it_before_anything_goes(
    data: bytes, desk: Desk
) -> None:
    remember_both(desk)
    desk.index.write_bytes(data)
    before = contents(desk.workspace)
    with pytest.raises(MemoryFileError, match=r"is no text|cannot be written back"):
        forget(desk, ONE)
    assert contents(desk.workspace) == before


def test_a_read_only_index_stops_it_before_anything_goes(desk: Desk) -> None:
    remember_both(desk)
    desk.index.chmod(0o444)
    before = contents(desk.workspace)
    with pytest.raises(MemoryFileError, match="is read-only"):
        forget(desk, ONE)
    assert contents(desk.workspace) == before


def test_what_a_person_writes_meanwhile_stays(desk: Desk) -> None:
    remember_both(desk)
    written: list[bytes] = []

    def mask_and_write(text: str) -> str:
        if not written:
            with desk.index.open("ab") as file:
                file.write(b"- meanwhile\n")
        written.append(b"")
        return text

    forget_rollout(desk.files, ONE, mask=mask_and_write, now=desk.clock.now())
    assert facts_of(desk) == ["uses uv", "pages by cursor"]
    assert desk.index.read_bytes().endswith(b"- meanwhile\n")


def test_a_link_in_place_of_a_rollout_goes_without_what_it_leads_to(
    desk: Desk, tmp_path: Path
) -> None:
    desk.record("a", "x")
    outside = tmp_path / "outside"
    outside.write_text("not ours")
    (desk.sessions / "a.jsonl").unlink()
    (desk.sessions / "a.jsonl").symlink_to(outside)
    forget(desk, "a")
    assert list(desk.sessions.iterdir()) == []
    assert outside.read_text() == "not ours"


def test_a_directory_that_is_a_link_is_not_followed(desk: Desk, tmp_path: Path) -> None:
    desk.record("a", "x")
    outside = tmp_path / "outside"
    desk.sessions.rename(outside)
    desk.sessions.symlink_to(outside)
    with pytest.raises(MemoryFileError):
        forget(desk, "a")
    assert (outside / "a.jsonl").exists()


# --- What else holds it -----------------------------------------------------------------


def test_what_waits_for_review_goes_if_it_has_a_part_in_it(desk: Desk) -> None:
    desk.remember("a", "one thing")
    desk.record("b", "x")
    edit = adding("- another thing [^b]")
    desk.generate([answer("- another thing")], [edit], review=True)
    assert load_proposal(desk.files.directory)
    forgotten = forget(desk, "b")
    assert forgotten.dropped_proposal
    assert load_proposal(desk.files.directory) is None
    assert desk.facts == ["one thing"]


def test_what_waits_for_review_stays_if_it_has_no_part_in_it(desk: Desk) -> None:
    desk.record("a", "x")
    desk.generate([answer("- a thing")], [adding("- a thing [^a]")], review=True)
    proposal = load_proposal(desk.files.directory)
    desk.record("b", "y")
    assert not forget(desk, "b").dropped_proposal
    assert load_proposal(desk.files.directory) == proposal


def traces(root: Path, words: str) -> list[str]:
    """Files below *root* that hold *words*, in base64 as well."""
    data = words.encode()
    coded = [base64.b64encode(b"x" * n + data)[4:-4] for n in range(3)]
    return [
        path
        for path, held in contents(root).items()
        if any(needle in held for needle in (data, *coded)) or words in path
    ]


def test_with_purge_nothing_of_it_is_left_anywhere(desk: Desk, tmp_path: Path) -> None:
    remember_both(desk)
    desk.record(TWO, "more")
    refused = adding("- uses tabs", f"- token {TOKEN}")
    desk.generate([answer("- uses uv")], [refused])
    assert list(state_directory().glob("generation/*/refused/*"))
    # Only the history has it still.
    text = desk.index.read_bytes()
    desk.index.write_bytes(text.replace(b"- uses tabs [^3f2a91c0]\r\n", b""))
    assert traces(tmp_path, "uses tabs")
    forget(desk, ONE, purges=True)
    desk.index.write_bytes(desk.index.read_bytes().replace(HAND, b""))
    for words in ("uses tabs", ONE, "[^3f2a91c0]", "1. build"):
        assert traces(tmp_path, words) == []


def test_with_purge_the_rest_of_the_history_stays(desk: Desk) -> None:
    remember_both(desk)
    desk.record("other", "x")
    edit = adding("- another thing [^other]")
    desk.generate([answer("- another thing")], [edit])
    held = len(history_of(str(desk.memory)))
    forgotten = forget(desk, "other", purges=True)
    assert forgotten.purged == 2  # it was brought, and it was forgotten
    assert len(history_of(str(desk.memory))) == held - 1


def test_without_purge_the_index_can_be_brought_back(desk: Desk) -> None:
    remember_both(desk)
    before = desk.index.read_bytes()
    forgotten = forget(desk, ONE)
    assert forgotten.purged == 0
    newest = [e for e in history_of(str(desk.memory)) if e.writer == "forget"]
    assert {entry.path.rpartition("/")[2] for entry in newest} == {INDEX, "SKILL.md"}
    assert before in [entry.written.before for entry in newest]


def test_a_refused_result_is_kept_without_purge(desk: Desk) -> None:
    from openhands_memory.generation.state import Proposal

    remember_both(desk)
    time = datetime(2026, 11, 30, tzinfo=UTC).isoformat()
    keep_refused(desk.files.directory, Proposal(time, "no", {}, "", ""))
    forget(desk, ONE)
    assert list(state_directory().glob("generation/*/refused/*"))


# --- Skills -----------------------------------------------------------------------------

REFS = Refs({"keepkeep": "keepkeep"}, {"gonegone": "gonegone"})
LINES = st.sampled_from(
    [
        *("# Steps", "## More", "", "plain text", "- plain", "  nested text"),
        *("- kept [^keepkeep]", "- mixed [^gonegone] [^keepkeep]"),
        *("- gone [^gonegone]", "1. gone too [^gonegone]", "text gone [^gonegone]"),
        *(
            "```",
            "code [^gonegone]",
            "| a | b |",
            "---",
            "> quoted",
            "From [^keepkeep]",
        ),
    ]
)


@given(st.lists(LINES, max_size=14), st.sampled_from(["\n", "\r\n"]))
def test_a_skill_loses_only_lines_and_refs_of_what_was_removed(
    lines: list[str], newline: str
) -> None:
    data = newline.join([*lines, ""]).encode()
    left = without_removed(data, REFS)
    if left is None:
        assert "[^gonegone]" in data.decode()
        assert "[^keepkeep]" not in data.decode()
        return
    there = [without_refs(line) for line in left.decode().splitlines() if line.strip()]
    rest = iter([without_refs(line) for line in lines])
    assert all(line in rest for line in there), "nothing is new, and the order is kept"
    if "```" not in lines:  # code goes and stays with its fact, whatever it says
        assert there.count("- kept") == lines.count("- kept [^keepkeep]")
        assert there.count("- mixed") == lines.count("- mixed [^gonegone] [^keepkeep]")
        assert "gonegone" not in left.decode()
    assert without_removed(left, REFS) == left


def test_a_skill_of_others_is_the_very_same() -> None:
    data = b"\xef\xbb\xbf# A\r\n\r\n- x [^keepkeep]\n- caf\xe9"
    assert without_removed(data, REFS) is data
