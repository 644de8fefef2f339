"""A rollout forgotten: what it alone supported goes, and nothing else."""

import base64
import re
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
from openhands_memory.upkeep.change import create, history_of, undo

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


# --- What only the history knows --------------------------------------------------------


def take_back_all(desk: Desk) -> None:
    """Undo the forgetting in all files."""
    for entry in history_of(str(desk.memory)):
        if entry.writer == "forget":
            place = desk.files.place(*Path(entry.path).relative_to(desk.memory).parts)
            undo(place, entry, now=desk.clock.now(), writer="undo")


@pytest.mark.parametrize("name", [ONE, "3f2a91c0", "3f2a91"])
def test_what_was_forgotten_can_be_purged_afterwards(
    name: str, desk: Desk, tmp_path: Path
) -> None:
    remember_both(desk)
    log = desk.files.place("2026-01-01.md")
    now = desk.clock.now()
    create(log, b"- uses tabs\n", now=now, writer="log", reason="no ref tells")
    Path(log.path).unlink()
    forget(desk, ONE)
    assert traces(tmp_path, "uses tabs")
    forgotten = forget(desk, name, purges=True)
    assert forgotten.rollout_id == ONE
    assert forgotten.purged
    assert not forgotten.changed
    desk.index.write_bytes(desk.index.read_bytes().replace(HAND, b""))
    for words in ("uses tabs", ONE, "[^3f2a91c0]", "1. build"):
        assert traces(tmp_path, words) == []
    with pytest.raises(NoSuchRolloutError):
        forget(desk, ONE)


def test_what_undo_brought_back_is_forgotten_again(desk: Desk) -> None:
    remember_both(desk)
    desk.index.write_bytes(desk.index.read_bytes() + b"- below\n")
    before = contents(desk.memory / "skills") | {"index": desk.index.read_bytes()}
    forget(desk, ONE)
    after = contents(desk.memory / "skills") | {"index": desk.index.read_bytes()}
    take_back_all(desk)
    assert desk.index.read_bytes() == before["index"]
    assert set(forget(desk, "3f2a91c0").changed) == {INDEX, SKILL}
    assert (
        contents(desk.memory / "skills") | {"index": desk.index.read_bytes()} == after
    )
    assert before != after
    assert forget(desk, ONE).is_nothing


def test_a_skill_that_undo_brought_back_goes_again(desk: Desk) -> None:
    remember_both(desk)
    forget(desk, ONE)
    forget(desk, TWO)
    entries = history_of(str(desk.memory))
    skill = next(
        e for e in entries if e.path.endswith("SKILL.md") and not e.written.after
    )
    undo(desk.files.place(*SKILL.split("/")), skill, now=desk.clock.now(), writer="u")
    assert (desk.memory / SKILL).exists()
    forget(desk, TWO)
    assert not (desk.memory / SKILL).exists()


def test_what_a_person_edited_after_the_undo_stays(desk: Desk) -> None:
    remember_both(desk)
    forget(desk, ONE)
    take_back_all(desk)
    edited = desk.index.read_bytes().replace(b"uses tabs", b"uses four tabs")
    desk.index.write_bytes(edited)
    forget(desk, ONE)
    assert "uses four tabs" in facts_of(desk)[1]


@pytest.mark.parametrize("name", [ONE, "3f2a91c0"])
def test_refs_alone_are_enough_to_purge(name: str, desk: Desk, tmp_path: Path) -> None:
    """A person took its facts out before: forgetting it was no write."""
    desk.record(ONE, "uses tabs")
    desk.generate([answer("- uses tabs")], [adding("- uses tabs [^3f2a91c0]")])
    desk.index.unlink()
    assert not forget(desk, ONE).changed
    assert traces(tmp_path, "uses tabs")
    assert forget(desk, name).is_nothing
    assert forget(desk, name, purges=True).purged == 1
    assert traces(tmp_path, "uses tabs") == []


def test_the_beginning_of_one_there_and_one_forgotten_is_neither(desk: Desk) -> None:
    desk.remember("conversation-1", "one thing")
    forget(desk, "conversation-1")
    desk.record("conversation-2", "y")
    with pytest.raises(NoSuchRolloutError, match="begins the ids of several"):
        forget(desk, "conversation")


def test_a_short_beginning_is_told_how_long_it_must_be(desk: Desk) -> None:
    desk.record(ONE, "x")
    with pytest.raises(NoSuchRolloutError) as caught:
        forget(desk, "3f2a9")
    assert "the beginning of an id takes 6 characters" in str(caught.value)
    with pytest.raises(NoSuchRolloutError) as caught:
        forget(desk, "nope")
    assert "6" not in str(caught.value).partition(";")[0]


@pytest.mark.parametrize("sandbox", [False, True])
def test_where_there_are_none_it_says_where_it_looked(
    sandbox: bool, workspace: Path
) -> None:
    desk = Desk(workspace, sandbox=sandbox)
    with pytest.raises(NoSuchRolloutError) as caught:
        forget(desk, "abcdef")
    places = f"{desk.memory} and {desk.sessions}" if sandbox else f"{desk.memory}"
    assert str(caught.value).endswith(f"there are none in {places}")


# --- Mentions of its files ----------------------------------------------------------------


def summary(rollout_id: str, slug: str) -> str:
    return f"rollout_summaries/{rollout_id}_{slug}.md"


MENTIONS = [
    ("uses uv (see {})", "uses uv"),
    ("uses uv, see `{}`.", "uses uv."),
    ("uses uv; details in {}", "uses uv"),
    ("[uses uv]({})", "uses uv"),
    ("uses uv (see {}, OTHER)", "uses uv (see OTHER)"),
    ("uses uv (see OTHER, {})", "uses uv (see OTHER)"),
    ("{} shows that it uses uv", "shows that it uses uv"),
    ("as {} shows, it uses uv", "as shows, it uses uv"),
    ("uses uv - .openhands/memory/{}", "uses uv"),
    ("uses uv ([log]({}))", "uses uv (log)"),
]


@pytest.mark.parametrize(("said", "left"), MENTIONS)
def test_a_mention_of_its_summary_goes_from_a_fact_that_stays(
    said: str, left: str, desk: Desk
) -> None:
    other = summary(TWO, "two")
    desk.memory.mkdir(parents=True)
    desk.record(ONE, "x")
    desk.record(TWO, "y")
    fact = said.format(summary(ONE, "one")).replace("OTHER", other)
    answers = [answer("- uses uv", slug="one"), answer("- uses uv", slug="two")]
    edit = adding(f"- {fact} [^3f2a91c0] [^77aa01bc]")
    assert desk.generate(answers, [edit]).consolidated == "accepted"
    forget(desk, ONE)
    left = left.replace("OTHER", other)
    assert f"\n- {left} [^77aa01bc]\n" in desk.index.read_text()
    # It is still what was generated: with its last support it goes.
    forget(desk, TWO)
    assert desk.facts == []


def test_a_fact_that_only_named_its_summary_goes(desk: Desk) -> None:
    desk.record(ONE, "x")
    desk.record(TWO, "y")
    edit = adding(
        "- uses uv [^77aa01bc]",
        f"- See {summary(ONE, 'one')} [^3f2a91c0] [^77aa01bc]",
        f"- uses tabs\n  see {summary(ONE, 'one')} [^3f2a91c0] [^77aa01bc]",
    )
    answers = [answer("- uses uv", slug="one"), answer("- uses uv", slug="two")]
    assert desk.generate(answers, [edit]).consolidated == "accepted"
    forget(desk, ONE)
    assert desk.facts == ["uses uv", "uses tabs"]
    assert "ollout_summaries" not in desk.index.read_text()


def test_a_mention_in_a_line_of_a_person_stays(desk: Desk) -> None:
    desk.memory.mkdir(parents=True)
    hers = f"- hers, see {summary(ONE, 'one')}\n"
    desk.index.write_text(hers)
    desk.record(ONE, "x")
    desk.record(TWO, "y")
    edit = adding(f"- uses uv, see {summary(ONE, 'one')} [^3f2a91c0] [^77aa01bc]")
    answers = [answer("- uses uv", slug="one"), answer("- uses uv", slug="two")]
    assert desk.generate(answers, [edit]).consolidated == "accepted"
    edited = desk.index.read_text().replace("uses uv", "uses uv only")
    desk.index.write_text(edited)
    forget(desk, ONE)
    assert desk.index.read_text() == edited


def test_a_rollout_that_grows_takes_the_new_name_of_its_summary(desk: Desk) -> None:
    desk.record(ONE, "x")
    old, new = summary(ONE, "one"), summary(ONE, "another")
    edit = adding(f"- uses uv, see `{old}` [^3f2a91c0]", "- uses tabs [^3f2a91c0]")
    assert desk.generate([answer(slug="one")], [edit]).consolidated == "accepted"

    def write(stage: Stage) -> None:
        text = f"# Deploy\n\n1. build, as in {old} [^3f2a91c0]\n"
        stage.create(SKILL, text.replace(old, new))
        adding(f"- pages by cursor: {old} [^3f2a91c0]")(stage)

    desk.record(ONE, "more")
    report = desk.generate([answer("- more", slug="another")], [write])
    assert report.consolidated == "accepted", report
    text = desk.index.read_text()
    assert old not in text
    assert desk.facts == [
        f"uses uv, see `{new}`",
        "uses tabs",
        f"pages by cursor: {new}",
    ]
    # And once more, with a skill that names it, too.
    desk.record(ONE, "and more")
    last = summary(ONE, "last")
    desk.generate([answer("- and more", slug="last")], [adding("- x [^3f2a91c0]")])
    assert f"see `{last}`" in desk.index.read_text()
    assert f"as in {last} [^3f2a91c0]" in (desk.memory / SKILL).read_text()
    forget(desk, ONE)
    assert desk.facts == []
    assert not (desk.memory / SKILL).exists()


def test_a_new_name_that_there_is_no_room_for_goes(desk: Desk) -> None:
    desk.record(ONE, "x")
    old = summary(ONE, "one")
    edit = adding(f"- uses uv {'and ' * 10}tabs, see {old} [^3f2a91c0]")
    desk.generate([answer(slug="one")], [edit], room=170)
    desk.record(ONE, "more")
    more = [answer("- more", slug="a-name-as-long-as-it-may-be-for-a-summary")]
    report = desk.generate(more, [lambda stage: None], room=170)
    assert report.consolidated == "accepted", report
    assert desk.facts == [f"uses uv {'and ' * 10}tabs"]


def test_a_skill_that_goes_is_named_no_more(desk: Desk) -> None:
    desk.record(ONE, "x")
    desk.record(TWO, "y")

    def edit(stage: Stage) -> None:
        stage.create(SKILL, "# Deploy\n\n1. build [^3f2a91c0]\n")
        adding(f"- deploys by hand (see {SKILL}) [^77aa01bc]")(stage)

    desk.generate([answer(slug="one"), answer(slug="two")], [edit])
    forget(desk, ONE)
    assert not (desk.memory / SKILL).exists()
    assert desk.facts == ["deploys by hand"]


def test_a_missing_file_in_a_line_of_a_person_is_only_told(desk: Desk) -> None:
    desk.record(ONE, "x")
    edit = adding("- uses uv [^3f2a91c0]", "- uses tabs [^3f2a91c0]")
    desk.generate([answer(slug="one")], [edit])
    text = desk.index.read_text().replace("uses uv", "uses uv, see skills/a/SKILL.md")
    desk.index.write_text(text)
    desk.record(TWO, "y")
    report = desk.generate([answer(slug="two")], [adding("- more [^77aa01bc]")])
    assert report.consolidated == "accepted", report
    assert "names skills/a/SKILL.md, which was not there to be read" in str(
        report.reason
    )


def test_what_came_with_a_clone_keeps_the_names_of_its_files(desk: Desk) -> None:
    desk.remember("mine", "uses uv")
    desk.remember("more", "uses tabs")
    data = desk.index.read_text()
    theirs = "- theirs, see rollout_summaries/other_x.md [^other]"
    desk.index.write_text(data.replace("- uses uv", f"{theirs}\n- uses uv"))
    selection = desk.selection.read_text()
    desk.selection.write_text(
        re.sub(r'"written": \[[^]]*\]', '"written": null', selection)
    )
    desk.remember("last", "pages by cursor")
    assert theirs in desk.index.read_text()
