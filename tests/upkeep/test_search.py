"""How memory text is cut into entries and terms, and how entries are ranked."""

import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openhands_memory.upkeep.document import Entry, split_entries
from openhands_memory.upkeep.search import (
    MAX_QUERY_TERMS,
    Corpus,
    EmptyQueryError,
    SearchFile,
    entry_terms,
    file_terms,
    parse_query,
    score_entries,
)
from openhands_memory.upkeep.terms import terms


def found(words: str, text: str) -> bool:
    """Whether *words* find *text*, which is one entry."""
    query = parse_query(words)
    entries = {7: entry_terms(Entry(1, 1, text))}
    corpus = Corpus(10, 5.0, {q.term: 1 for q in query})
    return bool(score_entries(query, [7], entries, corpus))


def best(words: str, *texts: str) -> str:
    """The text that answers *words* best; the texts are no neighbours."""
    query = parse_query(words)
    entries = {9 * n: entry_terms(Entry(1, 1, text)) for n, text in enumerate(texts)}
    have = [{*entry.own} for entry in entries.values()]
    shares = {q.term: sum(q.term in own for own in have) for q in query}
    scores = score_entries(query, entries, entries, Corpus(len(texts), 5.0, shares))
    return texts[max(scores, key=lambda number: scores[number]) // 9]


def cut(text: str) -> list[tuple[int, int, str]]:
    return [(entry.line, entry.end_line, entry.text) for entry in split_entries(text)]


# --- Entries --------------------------------------------------------------------------


def test_an_entry_is_a_bullet_with_its_continuation() -> None:
    text = (
        "- one\n  goes on\n  - nested\n\n  after a gap\n- two\nlazy\n* three\n1. four\n"
    )

    assert cut(text) == [
        (1, 5, "- one\n  goes on\n  - nested\n\n  after a gap"),
        (6, 7, "- two\nlazy"),
        (8, 8, "* three"),
        (9, 9, "1. four"),
    ]


def test_a_heading_keeps_its_paragraph_and_is_told_to_what_follows() -> None:
    text = (
        "# Build\n\nUse make.\nAlways.\n\nNever ninja.\n\n## Traps\n- slow\n# Other\n"
    )
    entries = list(split_entries(text))

    assert [(e.line, e.end_line, e.headings) for e in entries] == [
        (1, 4, ()),
        (6, 6, ("Build",)),
        (8, 8, ("Build",)),
        (9, 9, ("Build", "Traps")),
        (10, 10, ()),
    ]


def test_fenced_code_is_not_cut() -> None:
    text = "- run\n  ```sh\n# no heading\n\n- no bullet\n  ```\n- next\n"

    assert cut(text) == [(1, 6, text[: text.index("\n- next")]), (7, 7, "- next")]


def test_a_fence_that_never_ends_is_one_entry_at_most_forty_lines_long() -> None:
    lengths = [last - first for first, last, _ in cut("```\n" + "x\n" * 100)]

    assert lengths == [39, 39, 20]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_an_editor_counts_them(end: str) -> None:
    text = end.join(["- one\x0b\x0c\x1c\x85\u2028still one", "", "- two"])

    assert [(e.line, e.end_line) for e in split_entries(text)] == [(1, 1), (3, 3)]


def test_marks_that_say_nothing_are_no_entries() -> None:
    text = "---\n\n-\n* * *\n<!-- openhands-memory: generated -->\n- fact\n"

    assert cut(text) == [(6, 6, "- fact")]


@given(st.text(alphabet="ab -*#`~\n\r\t1.:", max_size=200))
def test_entries_are_lines_of_the_text_in_order(text: str) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    covered = 0
    for entry in split_entries(text):
        assert covered < entry.line <= entry.end_line <= len(lines)
        assert entry.text == "\n".join(lines[entry.line - 1 : entry.end_line]).rstrip()
        covered = entry.end_line


@given(st.text(max_size=60).filter(lambda text: any(map(str.isalnum, text))))
def test_any_text_is_found_by_itself(text: str) -> None:
    assert found(text, text)


# --- Words ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("databases", "the database connection"),
        ("deploy", "deployed on Friday"),
        ("buy", "they bought a server"),
        ("went", "let it go"),
        ("child", "two children"),
        ("cafe", "im Café"),
        ("Café", "im cafe"),
        ("Zürich", "ZURICH office"),
        ("naïve", "a naive cache"),
        ("Strasse", "Straße gesperrt"),
        ("smorrebrod", "Smørrebrød"),
        ("елка", "Ёлка"),
        ("Αθηνα", "στην Αθήνα"),
        ("دفاع", "دِفَاع"),
        ("東京", "来週東京都に行く"),
        ("数据库", "修复了数据库连接"),
        ("猫", "吾輩は猫である"),
        ("ﾃﾞｰﾀ", "データベース"),
        ("서버", "서버를 재시작했다"),
        ("서버가", "서버를 재시작했다"),
        ("ฐานข้อมูล", "รีสตาร์ทฐานข้อมูลแล้ว"),
        ("ข้", "ฐานข้อมูล"),
        ("हिन्दी", "हिन्दी में लिखा"),
        ("Datenbank", "Die Datenbankverbindung bricht ab"),
        ("🚀", "shipped 🚀"),
        ("load", "calls load_memory() first"),
        ("memory", "class LoadMemory"),
        ("load_memory", "loadMemory is slow"),
        ("loadMemory", "load_memory is slow"),
        ("loadmemory", "load_memory is slow"),
        ("HTTPServer2", "start HTTPServer2"),
        ("server", "start HTTPServer2"),
        ("http", "start HTTPServer2"),
        ("baz", "set foo.bar-baz"),
        ("foo.bar-baz", "set foo.bar-baz"),
        ("email", "by e-mail"),
        ("agent.py", "see src/openhands/agent.py:12"),
        ("openhands", "see src/openhands/agent.py:12"),
        ("Caroline", "Caroline\u2019s talk"),
        ("soft\u00adware", "software"),
        ("\uff46ull", "full width"),
        ("what is it", "what it is"),
    ],
)  # fmt: skip
def test_words_of_any_kind_are_found(words: str, text: str) -> None:
    assert found(words, text)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("art", "a party"),
        ("the cat", "the dog"),
        ("東京", "京都と東北"),
        ("ship", "shop"),
    ],
)
def test_other_words_are_not(words: str, text: str) -> None:
    assert not found(words, text)


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        # from the examples in Porter's paper
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("agreed", "agre"),
        ("plastered", "plaster"),
        ("hopping", "hop"),
        ("falling", "fall"),
        ("filing", "file"),
        ("happy", "happi"),
        ("sky", "sky"),
        ("relational", "relat"),
        ("conditional", "condit"),
        ("digitizer", "digit"),
        ("formalize", "formal"),
        ("hopefulness", "hope"),
        ("replacement", "replac"),
        ("adoption", "adopt"),
        ("rate", "rate"),
        ("controll", "control"),
    ],
)
def test_english_is_stemmed_as_porter_describes(word: str, stem: str) -> None:
    assert terms(word) == [stem]


def test_stop_words_count_only_when_there_is_nothing_else() -> None:
    assert [q.term for q in parse_query("what is the budget")] == ["budget"]
    assert [q.term for q in parse_query("The Who")] == ["the", "who"]


@pytest.mark.parametrize("words", ["", " ", "\"'()", "\0", "...", "\u200b", "\udc80"])
def test_a_query_of_nothing_is_an_error_that_quotes_it(words: str) -> None:
    with pytest.raises(EmptyQueryError) as caught:
        parse_query(words)

    assert repr(words) in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_a_pasted_text_is_looked_for_by_its_first_terms() -> None:
    query = parse_query(" ".join(f"word{number}x" for number in range(5_000)))

    assert len(query) == MAX_QUERY_TERMS


@pytest.mark.parametrize(
    "words",
    ["2026-05-08", "8 May 2026", "May 8th, 2026", "may 2026", "Friday", "2026-05"],
)
def test_a_daily_log_is_found_by_its_date(words: str) -> None:
    log = SearchFile("/m/2026-05-08.md", "2026-05-08.md", "project", date(2026, 5, 8))
    other = SearchFile("/m/2025-11-02.md", "2025-11-02.md", "user", date(2025, 11, 2))
    asked = {q.term for q in parse_query(words)}

    assert asked & {*file_terms(log)}
    assert not asked & {*file_terms(other)}


def test_a_summary_is_found_by_its_slug_and_an_index_not_by_its_name() -> None:
    summary = SearchFile("/m/r/7f3a_fix-login.md", "r/7f3a_fix-login.md", "project")
    index = SearchFile("/m/MEMORY.md", "MEMORY.md", "project")

    assert {"fix", "login"} <= {*file_terms(summary)}
    assert file_terms(index) == []


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        " " * 1_000_000 + "x",
        "- " * 500_000,
        "-" * 1_000_000 + "x",
        ": " * 500_000,
        "a_" * 500_000,
        "aB" * 500_000,
        "漢" * 300_000,
        "`" * 1_000_000,
    ],
    ids=lambda text: repr(text[:4]),
)
def test_time_grows_no_faster_than_the_text(text: str) -> None:
    start = time.perf_counter()
    for entry in split_entries(text):
        entry_terms(entry)

    assert time.perf_counter() - start < 10  # a quadratic way would take an hour


# --- Order ----------------------------------------------------------------------------


def test_rare_words_weigh_more_than_common_ones() -> None:
    texts = ["the build is slow", "the build is green", "cached build", "ninja is fast"]

    assert best("ninja build", *texts) == "ninja is fast"


def test_all_words_beat_one_word_twice() -> None:
    texts = ["deploy deploy deploy", "deploy with helm", "helm charts", "other"]

    assert best("helm deploy", *texts) == "deploy with helm"


def test_the_whole_word_beats_its_beginning() -> None:
    texts = ["Datenbankverbindung offen", "Datenbank offen", "nichts", "sonst"]

    assert best("Datenbank", *texts) == "Datenbank offen"


def test_the_whole_name_beats_its_parts() -> None:
    texts = ["load the memory", "call load_memory now", "memory load", "other"]

    assert best("load_memory", *texts) == "call load_memory now"


def test_a_label_weighs_more_than_a_mention() -> None:
    texts = ["- Ana: likes the sea", "- Ben: met Ana at the sea", "- x: y", "- z: w"]

    assert best("what does Ana say of the sea", *texts) == texts[0]


def test_neighbours_lift_an_entry_but_are_no_answer_by_themselves() -> None:
    lines = ["- which pet did you get", "- a parrot", "- other", "- a parrot"]
    query = parse_query("pet parrot")
    entries = {n: entry_terms(Entry(1, 1, line)) for n, line in enumerate(lines)}
    corpus = Corpus(9, 3.0, {"pet": 1, "parrot": 2})
    scores = score_entries(query, [0, 1, 3], entries, corpus)

    assert scores[1] > scores[3]
    assert set(scores) == {0, 1, 3}
