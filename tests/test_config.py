"""Settings check themselves, where they are written."""

import copy
import dataclasses
import pickle

import pytest

from openhands_memory.config import (
    MemoryConfig,
    MemoryGenerateConfig,
    MemoryLayoutConfig,
    MemoryReadConfig,
)
from openhands_memory.errors import (
    ConfigError,
    FileRefusedError,
    MemoryFileError,
    UnknownFieldError,
)
from openhands_memory.options import ReadOptions


def test_the_defaults_are_those_of_the_documentation() -> None:
    config = MemoryConfig()
    assert config.layout is None
    assert config.generate is None
    assert config.read == MemoryReadConfig(
        live_update=True,
        char_budget=6000,
        project_trust="always",
        search_parents=False,
    )
    assert MemoryLayoutConfig() == MemoryLayoutConfig("memories", "sessions")


def test_reading_gets_what_it_needs_of_the_settings() -> None:
    assert MemoryConfig().read_options() == ReadOptions()
    config = MemoryConfig(
        layout=MemoryLayoutConfig("notes"),
        read=MemoryReadConfig(
            char_budget=300, project_trust="ask", search_parents=True
        ),
    )
    assert config.read_options() == ReadOptions(300, "ask", True, "notes")
    generating = MemoryConfig(read=None, generate=MemoryGenerateConfig())
    assert generating.read_options() is None


def test_parts_may_be_given_as_mappings() -> None:
    config = MemoryConfig(layout={}, read={"char_budget": 300}, generate={})
    assert config.layout == MemoryLayoutConfig()
    assert config.read == MemoryReadConfig(char_budget=300)
    assert config.generate == MemoryGenerateConfig()


@pytest.mark.parametrize(
    ("make", "near"),
    [
        (lambda: MemoryReadConfig(char_bugdet=3), "char_budget"),
        (lambda: MemoryReadConfig(liveupdate=True), "live_update"),
        (lambda: MemoryLayoutConfig(memory_dir="x"), "memories_dir"),
        (lambda: MemoryGenerateConfig(phase_two_model_setting={}), "phase_two_model"),
        (lambda: MemoryConfig(reed=None), "read"),
        (lambda: MemoryConfig(read={"char_bugdet": 3}), "char_budget"),
    ],
    ids=["read", "read again", "layout", "generate", "config", "mapping"],
)
def test_a_field_that_does_not_exist_names_the_nearest(make, near: str) -> None:
    with pytest.raises(UnknownFieldError, match=f"did you mean '{near}"):
        make()


def test_a_field_like_no_other_names_them_all() -> None:
    with pytest.raises(UnknownFieldError, match="it has memories_dir, sessions_dir"):
        MemoryLayoutConfig(zzz=1)


@pytest.mark.parametrize("budget", [199, 0, -1, True, 6000.0, "6000", None])
def test_a_budget_that_cannot_work_is_refused(budget: object) -> None:
    with pytest.raises(ConfigError, match=r"MemoryReadConfig\.char_budget="):
        MemoryReadConfig(char_budget=budget)


def test_the_smallest_budget_is_accepted() -> None:
    assert MemoryReadConfig(char_budget=200).char_budget == 200


@pytest.mark.parametrize("name", ["live_update", "search_parents"])
@pytest.mark.parametrize("value", [1, 0, "yes", None])
def test_a_switch_is_true_or_false(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=rf"{name}=.*must be True or False"):
        MemoryReadConfig(**{name: value})


@pytest.mark.parametrize("value", ["", "Always", "no", None, [], True])
def test_trust_is_one_of_three_words(value: object) -> None:
    with pytest.raises(ConfigError, match="'always', 'ask', 'never'"):
        MemoryReadConfig(project_trust=value)


@pytest.mark.parametrize("name", ["layout", "read", "generate"])
def test_a_part_of_another_kind_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"MemoryConfig\.{name}='x'"):
        MemoryConfig(**{name: "x"})


def test_neither_reading_nor_generating_is_refused() -> None:
    with pytest.raises(ConfigError, match="read and generate are both off"):
        MemoryConfig(read=None)


# --- Directories of the sandbox layout --------------------------------------------------

REFUSED = {
    "absolute": "/etc",
    "absolute on Windows": "C:/memories",
    "a drive": "C:memories",
    "a share": "//host/share",
    "empty": "",
    "the workspace itself": ".",
    "the workspace itself, longer": "./.",
    "a home directory": "~/memories",
    "another home directory": "~root",
    "above": "..",
    "out and in": "a/../../b",
    "dots inside": "a/../b",
    "dots with backslashes": "a\\..\\b",
    "a backslash": "a\\b",
    "NUL": "a\0b",
    "a new line": "a\nb",
    "escape": "a\x1b[31m",
    "C1 control": "a\x85b",
    "line separator": "a\u2028b",
    "bidi override": "a\u202eb",
    "zero width": "a\u200bb",
    "a lone surrogate": "a\ud800b",
    "a colon": "a:b",
    "a wildcard": "a*",
    "a quote": 'a"b',
    "a pipe": "a|b",
    "an angle bracket": "a<b",
    "a device": "CON",
    "a device in small letters": "nul",
    "a device with an ending": "com1.txt",
    "a device inside": "a/lpt9/b",
    "a trailing dot": "a.",
    "a trailing space": "a ",
    "a leading space": "a/ b",
    "git's": ".git",
    "git's, in capitals": "x/.GIT/y",
    "the other layout's": ".openhands/memory",
    "inside the other layout's": ".openhands/memory/sandbox",
    "the other layout's, in capitals": ".OpenHands/Memory",
    "bytes": b"memories",
    "nothing": None,
    "a number": 3,
}


@pytest.mark.parametrize("name", ["memories_dir", "sessions_dir"])
@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED.keys())
def test_a_directory_that_cannot_work_is_refused(name: str, value: object) -> None:
    with pytest.raises(ConfigError) as refused:
        MemoryLayoutConfig(**{name: value})
    assert str(refused.value).startswith(f"MemoryLayoutConfig.{name}={value!r}: ")
    assert refused.value.found == value


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        ("memories", "memories"),
        ("./memories/", "memories"),
        ("a//b/./c", "a/b/c"),
        (".agent/memory", ".agent/memory"),
        ("console", "console"),
        ("записи", "записи"),
        ("with space", "with space"),
        (".openhands/notes", ".openhands/notes"),
    ],
)
def test_a_directory_is_normalised(given: str, normal: str) -> None:
    assert MemoryLayoutConfig(memories_dir=given).memories_dir == normal


@pytest.mark.parametrize("other", ["memories", "Memories", "./memories/"])
def test_rollouts_have_a_directory_of_their_own(other: str) -> None:
    with pytest.raises(ConfigError, match="is also memories_dir"):
        MemoryLayoutConfig(memories_dir="memories", sessions_dir=other)


# --- Generation -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_raw_memories_for_consolidation", 0),
        ("max_raw_memories_for_consolidation", 4097),
        ("phase_two_max_turns", 0),
        ("max_seconds", 0),
        ("max_seconds", float("nan")),
        ("max_seconds", True),
        ("max_tokens", 0),
        ("max_tokens", 1.5),
        ("max_cost", -1),
        ("max_cost", float("inf")),
        ("extra_prompt", 3),
    ],
)
def test_a_cap_that_cannot_work_is_refused(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=rf"MemoryGenerateConfig\.{name}="):
        MemoryGenerateConfig(**{name: value})


# --- Values and errors ------------------------------------------------------------------


def test_settings_are_values() -> None:
    config = MemoryConfig(layout=MemoryLayoutConfig("notes"))
    assert copy.deepcopy(config) == config
    assert pickle.loads(pickle.dumps(config)) == config  # noqa: S301 (our own bytes)
    assert hash(config.read) == hash(MemoryReadConfig())
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.read = None  # pyright: ignore


def test_replacing_a_field_checks_it_again() -> None:
    with pytest.raises(ConfigError):
        dataclasses.replace(MemoryReadConfig(), char_budget=1)


@pytest.mark.parametrize(
    "error",
    [
        ConfigError("A.b", 3, "must be 4"),
        UnknownFieldError("A", "bb", ["b", "c"]),
        MemoryFileError("/x/MEMORY.md", "is full", "Remove something."),
        FileRefusedError("/x/MEMORY.md", "is a directory"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_keeps_its_parts_through_pickling(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 (our own bytes)
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_errors_are_what_a_caller_would_catch_already() -> None:
    assert issubclass(ConfigError, ValueError)
    assert issubclass(UnknownFieldError, TypeError)
    assert issubclass(MemoryFileError, OSError)
    problem = MemoryFileError("/x", "is full", "Remove something.")
    assert str(problem) == "/x: is full. Remove something."
    assert str(FileRefusedError("/x", "is a directory")) == "/x: is a directory."


@pytest.mark.parametrize(
    "wrong",
    [
        {"phase_one_model": 5},
        {"phase_two_model": ""},
        {"phase_one_model_settings": "high"},
        {"phase_two_model_settings": [1]},
        {"review": "yes"},
    ],
)
def test_a_model_that_cannot_be_one_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        MemoryGenerateConfig(**wrong)


@pytest.mark.parametrize("name", ["x" * 300, "conin$", "CLOCK$.txt", ".openhands"])
def test_a_directory_that_cannot_be_one_everywhere_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="memories_dir"):
        MemoryLayoutConfig(memories_dir=name)
