"""The staged copy: every edit is on a mapping, whatever a path says."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openhands_memory.generation.stage import (
    FILE_CHARS,
    NEW_FILES,
    TOTAL_CHARS,
    VIEW_CHARS,
    Stage,
    StageError,
)

FILES = {
    "MEMORY.md": "# Facts\n- one\n- two\n",
    "raw_memories/a.md": "raw\n",
    "rollout_summaries/a_fix.md": "summary\n",
}


def writable(path: str) -> bool:
    parts = path.split("/")
    is_skill = len(parts) == 3 and parts[0] == "skills" and path.endswith(".md")
    return path == "MEMORY.md" or is_skill


@pytest.fixture
def stage() -> Stage:
    return Stage(FILES, writable=writable)


# --- What the model sees ------------------------------------------------------------------


def test_a_view_numbers_lines_as_the_editor_of_the_sdk_does(stage: Stage) -> None:
    assert stage.view("MEMORY.md") == "     1\t# Facts\n     2\t- one\n     3\t- two"
    assert stage.view("./MEMORY.md", (2, -1)) == "     2\t- one\n     3\t- two"
    assert stage.view("MEMORY.md", (3, 99)) == "     3\t- two"


def test_a_directory_lists_what_it_holds(stage: Stage) -> None:
    assert [row.split(" ")[0] for row in stage.view(".").split("\n")] == sorted(FILES)
    assert stage.view("raw_memories/") == "raw_memories/a.md (4 characters)"
    assert "no files" in Stage({}, writable=writable).view("./")


@pytest.mark.parametrize("view_range", [(0, 1), (4, 5), (3, 2), (-1, -1), (2, -2)])
def test_a_range_that_names_no_lines_is_refused(
    stage: Stage, view_range: tuple[int, int]
) -> None:
    with pytest.raises(StageError, match="the file has 3"):
        stage.view("MEMORY.md", view_range)


@pytest.mark.parametrize("text", ["x" * 10**6, "line of text\n" * 10**5, "\n" * 10**6])
def test_a_huge_file_is_clipped_and_says_so(text: str) -> None:
    shown = Stage({"MEMORY.md": text}, writable=writable).view("MEMORY.md")
    assert len(shown) < VIEW_CHARS + 200
    assert "clipped" in shown or "not shown" in shown


# --- Edits ----------------------------------------------------------------------------------


def test_edits_change_the_copy_and_nothing_that_was_given(stage: Stage) -> None:
    stage.replace("MEMORY.md", "- one", "- uno")
    stage.insert("MEMORY.md", 3, "- three\n")
    stage.create("skills/deploy/SKILL.md", "how\n")
    assert stage.files["MEMORY.md"] == "# Facts\n- uno\n- two\n- three\n"
    assert stage.changed == ("MEMORY.md", "skills/deploy/SKILL.md")
    assert FILES["MEMORY.md"] == "# Facts\n- one\n- two\n"
    stage.files.clear()
    assert stage.files


def test_an_edit_answers_with_the_lines_that_it_left(stage: Stage) -> None:
    assert "     2\t- uno" in stage.replace("MEMORY.md", "- one", "- uno")
    assert "     1\tfirst" in stage.insert("MEMORY.md", 0, "first")


def test_every_edit_can_be_undone_in_turn(stage: Stage) -> None:
    stage.create("MEMORY.md", "gone")
    stage.create("skills/deploy/SKILL.md", "how")
    stage.insert("MEMORY.md", 1, "more")
    for path in ("MEMORY.md", "skills/deploy/SKILL.md", "MEMORY.md"):
        stage.undo(path)
    assert stage.files == FILES
    assert stage.changed == ()
    with pytest.raises(StageError, match="no edit"):
        stage.undo("MEMORY.md")


def test_what_is_replaced_stands_exactly_once(stage: Stage) -> None:
    for old, problem in (("- ", "lines 2, 3"), ("absent", "view it"), ("", "empty")):
        with pytest.raises(StageError, match=problem):
            stage.replace("MEMORY.md", old, "x")
    with pytest.raises(StageError, match="equal"):
        stage.replace("MEMORY.md", "- one", "- one")
    stage.replace("MEMORY.md", "\n\n- two\n\n", "\n- zwei\n")  # blank ends forgiven
    assert stage.files["MEMORY.md"] == "# Facts\n- one\n- zwei\n"


def test_a_missing_file_in_another_case_is_named(stage: Stage) -> None:
    with pytest.raises(StageError, match=r"MEMORY\.md"):
        stage.view("memory.md")


# --- What is refused ------------------------------------------------------------------------

ESCAPES = [
    *("", "/MEMORY.md", "//MEMORY.md", "/etc/passwd", "~/x", "~", "~root/x"),
    *("..", "../MEMORY.md", "skills/../../x", "skills/x/..", "./../x"),
    *("C:\\x", "C:/x", "c:MEMORY.md", "\\\\host\\x", "skills\\x\\SKILL.md"),
    *("file:///etc/passwd", "MEMORY.md\0", "MEMORY.md\n", "a\x1bb", "a\u202eb"),
    *("\ud800", "x" * 10**6),
]

EDITS: list[Callable[[Stage, str], str]] = [
    lambda stage, path: stage.view(path),
    lambda stage, path: stage.create(path, "x"),
    lambda stage, path: stage.replace(path, "a", "b"),
    lambda stage, path: stage.insert(path, 0, "x"),
    lambda stage, path: stage.undo(path),
]


@pytest.mark.parametrize("path", ESCAPES, ids=repr)
def test_a_path_that_leads_out_is_refused_for_every_command(path: str) -> None:
    stage = Stage(FILES, writable=lambda _: True)
    for edit in EDITS:
        with pytest.raises(StageError) as refused:
            edit(stage, path)
        assert len(str(refused.value)) < 500
    assert stage.files == FILES


@pytest.mark.parametrize(
    "path",
    [
        *("raw_memories/a.md", "rollout_summaries/a_fix.md", "rollout_summaries"),
        *("skills/x/run.sh", "skills/SKILL.md", "other.md", "MEMORY.md/x", "."),
    ],
)
def test_what_is_only_there_to_be_read_is_never_written(
    stage: Stage, path: str
) -> None:
    for edit in EDITS[1:]:
        with pytest.raises(StageError):
            edit(stage, path)
    assert stage.files == FILES


def test_a_file_is_no_directory_and_a_directory_no_file() -> None:
    stage = Stage(FILES, writable=lambda _: True)
    with pytest.raises(StageError, match="below a file"):
        stage.create("MEMORY.md/more.md", "x")
    with pytest.raises(StageError, match="is a directory"):
        stage.create("raw_memories", "x")


@pytest.mark.parametrize("text", ["x" * (FILE_CHARS + 1), "a\0b", "\udc80"])
def test_a_text_that_cannot_be_a_file_is_refused(stage: Stage, text: str) -> None:
    for edit in (
        lambda: stage.create("MEMORY.md", text),
        lambda: stage.replace("MEMORY.md", "- one", text),
        lambda: stage.insert("MEMORY.md", 1, text),
    ):
        with pytest.raises(StageError):
            edit()
    assert stage.files == FILES


def test_all_files_together_and_their_number_have_limits(stage: Stage) -> None:
    for number in range(NEW_FILES):
        stage.create(f"skills/s{number}/SKILL.md", "x")
    with pytest.raises(StageError, match="may be added"):
        stage.create("skills/more/SKILL.md", "x")
    full = TOTAL_CHARS // FILE_CHARS - 1
    for number in range(full):
        stage.create(f"skills/s{number}/SKILL.md", "x" * FILE_CHARS)
    with pytest.raises(StageError, match="together"):
        stage.create("MEMORY.md", "x" * FILE_CHARS)
    stage.create("MEMORY.md", "")


def test_a_frozen_stage_is_still_read(stage: Stage) -> None:
    stage.freeze()
    assert stage.view("MEMORY.md")
    for edit in EDITS[1:]:
        with pytest.raises(StageError, match="over"):
            edit(stage, "MEMORY.md")


# --- Whatever comes -------------------------------------------------------------------------

paths = st.one_of(
    st.sampled_from([*FILES, *ESCAPES, "skills/a/SKILL.md", ".", "skills"]),
    st.text("aM./\\~:\0\u00e9", max_size=12),
)
texts = st.text("ab\n\r\t- \0\ud800\u00e9", max_size=30)
steps = st.one_of(
    st.tuples(st.just("view"), paths, st.tuples(st.integers(), st.integers())),
    st.tuples(st.just("create"), paths, texts),
    st.tuples(st.just("replace"), paths, texts, texts),
    st.tuples(st.just("insert"), paths, st.integers(-1, 9), texts),
    st.tuples(st.just("undo"), paths),
)


@given(st.lists(steps, max_size=12))
def test_whatever_is_asked_only_writable_files_change_and_texts_stay_valid(
    asked: list[tuple[str, str, object]],
) -> None:
    stage = Stage(FILES, writable=writable)
    for command, *arguments in asked:
        before = dict(stage.files)
        try:
            answer = getattr(stage, command)(*arguments)
        except StageError:
            assert stage.files == before, "refused, and yet something changed"
        else:
            assert answer
    assert all(map(writable, stage.changed))
    for text in stage.files.values():
        assert "\0" not in text
        text.encode()


def test_nothing_is_opened(
    stage: Stage,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    link: Callable[[Path, str | Path], Path],
) -> None:
    """A link in the directory that the process is in leads nowhere."""
    outside = tmp_path / "outside"
    outside.write_text("secret")
    link(tmp_path / "here" / "MEMORY.md", outside)
    monkeypatch.chdir(tmp_path / "here")
    stage.create("MEMORY.md", "written")
    assert "secret" not in stage.view("MEMORY.md")
    assert outside.read_text() == "secret"
