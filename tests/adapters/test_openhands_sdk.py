"""Memory in real conversations of the OpenHands SDK, with scripted models."""

import asyncio
import copy
import inspect
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("openhands.sdk", reason="needs the extra: openhands-memory[sdk]")

from adapters.sdk_kit import (
    AGENTS_MD,
    NOW,
    OURS,
    PROJECT_INDEX,
    PROJECT_MARK,
    TWO_TIERS,
    USER_INDEX,
    USER_MARK,
    agent,
    call,
    context,
    converse,
    converse_stock,
    files_below,
    model,
    parts_of,
    prompts_of,
    say,
    start,
    system_message,
    write,
)
from openhands import sdk
from openhands.sdk.conversation import ConversationExecutionStatus
from openhands.sdk.hooks import HookConfig
from openhands.sdk.tool.builtins.think import ThinkAction
from openhands.tools.preset.planning import get_planning_agent

import openhands_memory
from openhands_memory import (
    MemoryConfig,
    MemoryGenerateConfig,
    MemoryLayoutConfig,
    MemoryReadConfig,
    UnknownFieldError,
)

TEMPLATE = "You are a custom agent.{% if memory_enabled %} You remember.{% endif %}"
TWO_SECTIONS = (
    "You are careful.\n\n<MEMORY>\n* first\n</MEMORY>\n\n<ROLE>\nhelp\n</ROLE>\n\n"
    "  <MEMORY>second</MEMORY>\n"
)


@pytest.fixture
def both_tiers(memory_home, workspace):
    write(memory_home / USER_INDEX, f"* {USER_MARK}\n")
    write(workspace / PROJECT_INDEX, f"* {PROJECT_MARK}\n")
    return workspace


def with_prompt(kind: str, directory: Path, *replies, agent_context) -> sdk.Agent:
    """An agent whose system prompt comes from where *kind* says."""
    if kind == "planning preset":
        planner = get_planning_agent(model(*replies))
        return planner.model_copy(update={"agent_context": agent_context})
    fields = {
        "default": {},
        "planning": {"system_prompt_filename": "system_prompt_planning.j2"},
        "inline": {"system_prompt": "You are a poet."},
        "template": {
            "system_prompt_filename": str(write(directory / "custom.j2", TEMPLATE))
        },
        "two sections": {"system_prompt": TWO_SECTIONS},
    }[kind]
    return agent(*replies, agent_context=agent_context, **fields)


PROMPTS = ["default", "planning", "planning preset", "inline", "template"]


# --- The block and the instructions ---------------------------------------------------


@pytest.mark.parametrize("kind", [*PROMPTS, "two sections"])
def test_block_and_instructions_stand_once_in_every_prompt(kind, both_tiers, tmp_path):
    given = with_prompt(kind, tmp_path, say(), agent_context=context())
    with converse(given, both_tiers) as conversation:
        static, dynamic = start(conversation)
        conversation.run()

    block = conversation.memory.block
    assert dynamic.count(block) == dynamic.count("<MEMORY_CONTEXT>") == 1
    assert USER_MARK in block and PROJECT_MARK in block
    assert "MEMORY_CONTEXT" not in static
    assert static.count("<MEMORY>") == static.count("</MEMORY>") == 1
    section = static.partition("<MEMORY>")[2].partition("</MEMORY>")[0]
    assert OURS in section
    assert AGENTS_MD not in static and TWO_TIERS not in static
    sent = system_message(given.llm.sent[0])
    assert sent.count(block) == sent.count(section) == 1


def test_rest_of_the_prompt_is_the_stock_one(both_tiers):
    """Only the section and the block differ from the prompt without memory."""
    off = sdk.AgentContext(current_datetime=NOW)
    stock_static, stock_dynamic = start(
        converse_stock(agent(agent_context=off), both_tiers)
    )
    conversation = converse(agent(), both_tiers)
    static, dynamic = start(conversation)

    def around(prompt: str) -> tuple[str, str]:
        before, _, rest = prompt.partition("<MEMORY>")
        return before, rest.partition("</MEMORY>")[2]

    assert around(static) == around(stock_static)
    assert dynamic == f"{conversation.memory.block}\n\n{stock_dynamic}"


def test_instructions_are_in_our_own_words(both_tiers):
    """No run of seven words is the SDK's, of its two-tier or its AGENTS.md text."""

    def runs(text: str) -> set[tuple[str, ...]]:
        words = text.lower().split()
        return {tuple(words[at : at + 7]) for at in range(len(words) - 6)}

    def section(load_memory: bool) -> str:
        given = sdk.AgentContext(load_memory=load_memory, current_datetime=NOW)
        static, _ = start(converse_stock(agent(agent_context=given), both_tiers))
        return static.partition("<MEMORY>")[2].partition("</MEMORY>")[0]

    golden = Path(__file__).parents[1] / "golden"
    ours = [path.read_text() for path in golden.glob("instructions_*.md")]
    assert len(ours) == 4
    theirs = runs(section(True)) | runs(section(False))
    assert not [run for text in ours for run in runs(text) & theirs]


def test_two_sections_of_a_custom_prompt_become_one(both_tiers, tmp_path):
    given = with_prompt("two sections", tmp_path, agent_context=context())
    static, _ = start(converse(given, both_tiers))
    before, _, rest = static.partition("<MEMORY>")
    assert before == "You are careful.\n\n"
    assert rest.partition("</MEMORY>")[2] == "\n\n<ROLE>\nhelp\n</ROLE>"


def test_tag_named_in_a_sentence_is_no_section(both_tiers):
    prompt = "Obey the <MEMORY> section, and close </MEMORY> properly."
    static, _ = start(converse(agent(system_prompt=prompt), both_tiers))
    assert static.startswith(prompt)
    assert static.count("\n<MEMORY>\n") == 1


def test_no_files_means_no_block_but_instructions(workspace):
    conversation = converse(agent(), workspace)
    static, dynamic = start(conversation)
    assert conversation.memory.text is None and conversation.memory.block is None
    assert [tier.status for tier in conversation.memory.tiers] == ["absent", "absent"]
    assert "MEMORY_CONTEXT" not in dynamic
    assert OURS in static and AGENTS_MD not in static


def test_agent_edits_its_memory_with_the_real_editor(workspace):
    """The instructions' paths are the ones that the next conversation reads."""
    path = workspace / PROJECT_INDEX
    path.parent.mkdir(parents=True)
    given = agent(
        call("file_editor", command="create", path=str(path), file_text="* learned\n"),
        say(),
    )
    with converse(given, workspace) as first:
        static, _ = start(first)
        first.run()
    assert "`.openhands/memory/`" in static and "`~/.openhands/memory/`" in static
    assert first.state.execution_status == ConversationExecutionStatus.FINISHED
    with converse(agent(), workspace) as second:
        assert "* learned" in start(second)[1]


# --- When memory is read --------------------------------------------------------------


def test_prompt_is_byte_equal_on_later_turns(both_tiers, memory_home):
    given = agent(say("one"), say("two"), say("three"))
    with converse(given, both_tiers) as conversation:
        for number in range(3):
            conversation.send_message(f"message {number}")
            conversation.run()
            write(both_tiers / PROJECT_INDEX, f"* changed {number}\n")
            write(memory_home / USER_INDEX, f"* changed {number}\n")
    first, *later = [system_message(messages) for messages in given.llm.sent]
    assert len(later) == 2 and set(later) == {first}
    assert len(prompts_of(conversation)) == 1
    assert PROJECT_MARK in conversation.memory.text


def test_edit_between_construction_and_first_message_is_seen(both_tiers):
    conversation = converse(agent(), both_tiers)
    write(both_tiers / PROJECT_INDEX, "* fresh\n")
    _, dynamic = start(conversation)
    assert "* fresh" in conversation.memory.text
    assert conversation.memory.block in dynamic and PROJECT_MARK not in dynamic


def test_tiers_that_appear_before_the_first_message_are_in_the_instructions(workspace):
    """The project tier is linked to the user tier: the instructions name one."""
    conversation = converse(agent(), workspace)
    home_tier = write(Path.home() / USER_INDEX, "* shared\n").parent
    (workspace / ".openhands").mkdir()
    write(workspace / PROJECT_INDEX, "* own\n")
    static, dynamic = start(conversation)
    assert home_tier.is_dir() and "* own" in dynamic and "* shared" in dynamic
    assert static.count("<MEMORY>") == 1


@pytest.mark.parametrize(
    "use", ["run", "arun", "ask_agent", "execute_tool", "rerun_actions"]
)
def test_every_first_use_reads_memory_once(use, both_tiers):
    given = agent(say(), say())
    with converse(given, both_tiers) as conversation:
        write(both_tiers / PROJECT_INDEX, "* fresh\n")
        if use == "arun":
            asyncio.run(conversation.arun())
        elif use == "ask_agent":
            assert conversation.ask_agent("what do you know?") == "Done."
        elif use == "execute_tool":
            conversation.execute_tool("think", ThinkAction(thought="hm"))
        elif use == "rerun_actions":
            conversation.rerun_actions()
        else:
            conversation.run()
        [prompt] = prompts_of(conversation)
        block = conversation.memory.block
        assert "* fresh" in block and block in parts_of(prompt)[1]

        write(both_tiers / PROJECT_INDEX, "* too late\n")
        conversation.send_message("hello")
        assert [parts_of(prompt)] == [parts_of(p) for p in prompts_of(conversation)]
        assert conversation.memory.block == block


def test_first_messages_of_two_threads_make_one_prompt(both_tiers, caplog):
    (both_tiers / PROJECT_INDEX).write_bytes(b"* bad \xff\n")
    conversation = converse(agent(), both_tiers)
    write(both_tiers / PROJECT_INDEX, "* fresh\n")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(conversation.send_message, map(str, range(8))))
    [prompt] = prompts_of(conversation)
    assert conversation.memory.block in parts_of(prompt)[1]
    assert "* fresh" in conversation.memory.text
    assert len([r for r in caplog.records if r.name == "openhands_memory"]) == 1


def test_next_conversation_sees_the_new_text_and_the_first_stays(both_tiers):
    """Public report B15: no tier goes missing on the second load."""
    first = converse(agent(say(), say()), both_tiers)
    _, before = start(first)
    first.run()
    write(both_tiers / PROJECT_INDEX, "* new-marker\n")
    second = converse(agent(), both_tiers)
    _, after = start(second)
    assert USER_MARK in after and "* new-marker" in after
    first.send_message("again")
    first.run()
    assert system_message(first.agent.llm.sent[-1]).endswith(before)


def test_one_agent_object_in_two_workspaces_at_once(memory_home, tmp_path):
    """Public report B27, the reading half: no text crosses over."""
    write(memory_home / USER_INDEX, f"* {USER_MARK}\n")
    given = agent(*[say(str(number)) for number in range(4)])
    before = given.model_dump(context={"expose_secrets": True})
    context_before = copy.deepcopy(given.agent_context)
    places = [tmp_path / "a", tmp_path / "b"]
    for place in places:
        write(place / PROJECT_INDEX, f"* memory of {place.name}\n")
    a, b = (converse(given, place) for place in places)
    for turn in range(2):
        for conversation in (a, b):
            conversation.send_message(f"turn {turn}")
            conversation.run()
    for conversation, own, other in ((a, "a", "b"), (b, "b", "a")):
        [prompt] = prompts_of(conversation)
        assert f"memory of {own}" in parts_of(prompt)[1]
        assert f"memory of {other}" not in parts_of(prompt)[1]
    own = ["memory of a" in system_message(sent) for sent in given.llm.sent]
    assert own == [True, False, True, False]
    assert given.model_dump(context={"expose_secrets": True}) == before
    assert given.agent_context == context_before
    assert given.agent_context.memory_context is None and given.system_prompt is None


# --- Off: the SDK, byte for byte ------------------------------------------------------

EVERYTHING = MemoryConfig(
    layout=MemoryLayoutConfig(),
    read=MemoryReadConfig(live_update=False, char_budget=200),
    generate=MemoryGenerateConfig(),
)


@pytest.mark.parametrize("config", [MemoryConfig(), EVERYTHING], ids=["default", "all"])
@pytest.mark.parametrize("kind", PROMPTS)
def test_load_memory_off_changes_nothing(
    kind, config, both_tiers, memory_home, tmp_path, caplog
):
    write(both_tiers / "memories/memory_summary.md", "* sandbox\n")
    off = sdk.AgentContext(current_datetime=NOW)
    stock = with_prompt(kind, tmp_path, say(), agent_context=off)
    with closing(converse_stock(stock, both_tiers)) as conversation:
        expected = start(conversation)
        conversation.run()
    ours = context(load_memory=False, memory=config)
    given = with_prompt(kind, tmp_path, say(), agent_context=ours)
    before = files_below(both_tiers, memory_home)
    with converse(given, both_tiers) as conversation:
        assert start(conversation) == expected
        conversation.run()
        assert conversation.memory.text is None and conversation.memory.tiers == ()
    assert [system_message(m) for m in given.llm.sent] == [
        system_message(m) for m in stock.llm.sent
    ]
    assert files_below(both_tiers, memory_home) == before
    assert not [r for r in caplog.records if r.name.startswith("openhands_memory")]


# --- Settings -------------------------------------------------------------------------


def test_read_only_memory_is_read_and_left_alone(both_tiers):
    config = MemoryConfig(read=MemoryReadConfig(live_update=False))
    conversation = converse(agent(agent_context=context(memory=config)), both_tiers)
    static, dynamic = start(conversation)
    assert conversation.memory.block in dynamic
    assert "Leave these files alone" in static
    assert "When a task nears its end" not in static


def test_read_none_injects_nothing_and_there_is_nothing_to_say(both_tiers, caplog):
    off = sdk.AgentContext(current_datetime=NOW)
    expected = start(converse_stock(agent(agent_context=off), both_tiers))
    config = MemoryConfig(read=None, generate=MemoryGenerateConfig())
    given = agent(agent_context=context(memory=config))
    conversation = converse(given, both_tiers)
    assert start(conversation) == expected
    assert AGENTS_MD in expected[0]
    assert conversation.memory.text is None
    assert not [r for r in caplog.records if r.name == "openhands_memory"]


def test_sandbox_layout_names_its_own_file(both_tiers):
    write(both_tiers / "memories/memory_summary.md", "* sandbox-marker\n")
    write(both_tiers / "memories/MEMORY.md", "* on-demand-marker\n")
    config = MemoryConfig(layout=MemoryLayoutConfig())
    conversation = converse(agent(agent_context=context(memory=config)), both_tiers)
    static, dynamic = start(conversation)
    text = "# Project memory (memories/memory_summary.md)\n* sandbox-marker"
    assert conversation.memory.text == text
    assert "on-demand-marker" not in dynamic
    assert "`memories/`" in static and "`memory_summary.md` is the index" in static


def test_layouts_in_one_workspace_do_not_mix(both_tiers):
    write(both_tiers / "memories/memory_summary.md", "* sandbox-marker\n")
    write(both_tiers / "other/memory_summary.md", "* other-marker\n")
    layouts = {
        "sandbox": MemoryLayoutConfig(),
        "other": MemoryLayoutConfig(memories_dir="other"),
        "openhands": None,
    }
    texts = {}
    for name, layout in layouts.items():
        given = agent(agent_context=context(memory=MemoryConfig(layout=layout)))
        conversation = converse(given, both_tiers)
        start(conversation)
        texts[name] = conversation.memory.text
    assert "sandbox-marker" in texts["sandbox"] and "other-marker" in texts["other"]
    for name, text in texts.items():
        assert (PROJECT_MARK in text) == (USER_MARK in text) == (name == "openhands")
        assert ("sandbox-marker" in text) == (name == "sandbox")
        assert ("other-marker" in text) == (name == "other")


def test_char_budget_holds_and_is_told_to_the_agent(workspace):
    write(workspace / PROJECT_INDEX, "".join(f"* line {n:04}\n" for n in range(900)))
    config = MemoryConfig(read=MemoryReadConfig(char_budget=500))
    conversation = converse(agent(agent_context=context(memory=config)), workspace)
    static, _ = start(conversation)
    memory = conversation.memory
    assert memory.chars <= 500 == memory.char_budget
    assert memory.text.endswith("* line 0899")
    assert "[earlier memory truncated]" in memory.text
    assert "up to 500 characters" in static
    assert memory.tiers[1].dropped_lines == ((1, 900 - memory.tiers[1].kept_lines),)


@pytest.mark.parametrize("trust", ["ask", "never"])
def test_untrusted_project_memory_stays_out(trust, both_tiers):
    config = MemoryConfig(read=MemoryReadConfig(project_trust=trust))
    conversation = converse(agent(agent_context=context(memory=config)), both_tiers)
    static, dynamic = start(conversation)
    assert USER_MARK in dynamic and PROJECT_MARK not in static + dynamic
    assert conversation.memory.tiers[1].status == "untrusted"
    assert ("has not been approved]" in dynamic) == (trust == "ask")
    assert "No person has approved it: neither read nor change it." in static


def test_memory_of_a_parent_is_used_when_asked_for(both_tiers):
    (both_tiers / ".git").mkdir()
    inner = both_tiers / "packages/inner"
    inner.mkdir(parents=True)
    plain = converse(agent(), inner)
    assert PROJECT_MARK not in start(plain)[1]
    assert any("search_parents=True" in hint for hint in plain.memory.hints)
    config = MemoryConfig(read=MemoryReadConfig(search_parents=True))
    asked = converse(agent(agent_context=context(memory=config)), inner)
    static, dynamic = start(asked)
    assert PROJECT_MARK in dynamic and "`../../.openhands/memory/`" in static


@pytest.mark.parametrize(
    ("build", "nearest"),
    [
        (lambda: context(memry=MemoryConfig()), "memory"),
        (lambda: context(load_memories=True), "load_memory"),
        (lambda: context(memory={"layuot": None}), "layout"),
        (lambda: context(memory={"read": {"live_updates": True}}), "live_update"),
        (lambda: context(memory={"layout": {"memory_dir": "m"}}), "memories_dir"),
        (lambda: MemoryConfig(reed=None), "read"),
        (lambda: MemoryConfig(read={"char_buget": 500}), "char_budget"),
        (lambda: MemoryGenerateConfig(max_cots=1.0), "max_cost"),
        (lambda: openhands_memory.Conversation(agent(), worksapce="x"), "workspace"),
    ],
)
def test_misspelt_field_raises_and_names_the_nearest(build, nearest):
    with pytest.raises(ValueError, match=f"did you mean '{nearest}'"):
        build()


def test_wrong_value_raises_where_it_is_written():
    with pytest.raises(ValueError, match=r"MemoryReadConfig\.char_budget=199"):
        context(memory={"read": {"char_budget": 199}})
    with pytest.raises(ValueError, match="set one, or load_memory=False"):
        context(memory={"read": None})


def test_unknown_keyword_is_what_python_calls_it():
    with pytest.raises(UnknownFieldError) as caught:
        openhands_memory.Conversation(agent(), unheard_of=1)
    assert isinstance(caught.value, TypeError)


def test_factory_has_the_signature_of_the_sdk_and_one_keyword_more():
    ours = dict(inspect.signature(openhands_memory.Conversation).parameters)
    own = ours.pop("memory_conversation_id")
    assert (own.kind, own.default) == (inspect.Parameter.KEYWORD_ONLY, None)
    assert ours == dict(inspect.signature(sdk.Conversation).parameters)
    with pytest.raises(TypeError):
        openhands_memory.Conversation()


def test_context_survives_its_own_json():
    given = context(memory={"read": {"char_budget": 500}, "layout": {}})
    again = openhands_memory.AgentContext.model_validate_json(given.model_dump_json())
    assert again.memory == given.memory
    assert again.memory.read.char_budget == 500


def test_context_copies_like_the_sdk():
    given = context()
    assert given.model_copy() == given == given.model_copy(deep=True)
    assert type(given.model_copy(update={"skills": []})) is type(given)
    assert isinstance(given, sdk.AgentContext)


# --- The conversation is the SDK's ----------------------------------------------------


@pytest.mark.parametrize("form", ["path", "text", "tilde", "object", "tilde object"])
def test_workspace_in_every_form(form, memory_home):
    place = memory_home / "project"
    write(place / PROJECT_INDEX, f"* {PROJECT_MARK}\n")
    given = {
        "path": place,
        "text": str(place),
        "tilde": "~/project",
        "object": sdk.LocalWorkspace(working_dir=str(place)),
        "tilde object": sdk.LocalWorkspace(working_dir="~/project"),
    }[form]
    conversation = converse(agent(), given)
    assert isinstance(conversation, openhands_memory.LocalConversation)
    assert isinstance(conversation, sdk.LocalConversation)
    assert PROJECT_MARK in start(conversation)[1]
    assert Path(conversation.workspace.working_dir) == place
    if form == "object":
        assert conversation.workspace is given


def test_workspace_default_is_the_sdks(memory_home, monkeypatch):
    monkeypatch.chdir(memory_home)
    write(memory_home / "workspace/project" / PROJECT_INDEX, f"* {PROJECT_MARK}\n")
    conversation = openhands_memory.Conversation(agent(), visualizer=None)
    assert PROJECT_MARK in start(conversation)[1]


def test_with_statement_closes_and_close_may_be_called_twice(both_tiers, tmp_path):
    log = tmp_path / "closed.log"
    hook = {"type": "command", "command": f"echo closed >> {log}"}
    hooks = {"SessionEnd": [{"matcher": "*", "hooks": [hook]}]}
    given = HookConfig.from_dict({"hooks": hooks})
    with converse(agent(say()), both_tiers, hook_config=given) as conversation:
        conversation.send_message("hello")
        conversation.run()
        assert not log.exists()
    assert log.read_text() == "closed\n"
    conversation.close()
    assert log.read_text() == "closed\n"
    assert PROJECT_MARK in conversation.memory.text
    with pytest.raises(RuntimeError, match="mine"), converse(agent(), both_tiers):
        raise RuntimeError("mine")


def test_close_before_any_message(both_tiers):
    conversation = converse(agent(), both_tiers)
    conversation.close()
    assert PROJECT_MARK in conversation.memory.text


def test_reading_creates_nothing(memory_home, workspace):
    with converse(agent(say()), workspace) as conversation:
        conversation.send_message("hello")
        conversation.run()
    assert files_below(workspace) == set()
    assert not (memory_home / ".openhands/memory").exists()
