"""A rollout of fifty megabytes is extracted in little memory."""

import tracemalloc

import pytest
from generation.kit import Desk
from generation.scripted import (
    Scripted,
    answer,
    noting,
)

from openhands_memory.generation.report import Generation


def report_peak(desk: Desk, models: Scripted) -> tuple[Generation, float]:
    """What came of it, and the megabytes that it took at its peak."""
    tracemalloc.start()
    try:
        report = desk.run(models)
        return report, tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("letter", ["x", "é", "\N{SNAKE}"])
def test_fifty_megabytes_in_many_lines_take_little_memory(
    letter: str, desk: Desk
) -> None:
    output = f"{letter * 60}\n" * 60
    outputs = ({"type": "function_call_output", "output": output},) * 16
    desk.record("a", "the beginning", items=outputs)
    file = desk.sessions / "a.jsonl"
    line = file.read_bytes()
    with file.open("ab") as rollout:
        for _ in range(50_000_000 // len(line)):
            rollout.write(line)
    desk.record("a", "the end")
    models = Scripted([answer()], [noting])
    models.chars = 100_000
    report, megabytes = report_peak(desk, models)
    assert (report.extracted, report.damaged_lines) == (1, 0)
    assert "the beginning" in models.asked[0][1]
    assert "the end" in models.asked[0][1]
    assert len(models.asked[0][1]) < 110_000
    assert megabytes < 40


def test_one_line_of_fifty_megabytes_is_left_out_and_takes_little_memory(
    desk: Desk,
) -> None:
    desk.record("a", "the beginning")
    with (desk.sessions / "a.jsonl").open("ab") as rollout:
        rollout.write(b'{"updated_at":"')
        for _ in range(50):
            rollout.write(b"x" * 1_000_000)
        rollout.write(b'"}\n')
    desk.record("a", "the end")
    models = Scripted([answer()], [noting])
    report, megabytes = report_peak(desk, models)
    assert (report.extracted, report.damaged_lines) == (1, 1)
    assert "the end" in models.asked[0][1]
    assert megabytes < 40


def test_one_segment_of_the_largest_size_takes_little_memory(desk: Desk) -> None:
    """Of another writer, that knows no limit: one text of eight megabytes."""
    desk.record("a", "the beginning")
    line = (desk.sessions / "a.jsonl").read_bytes()
    text = f"\N{SNAKE}{'some words ' * 700_000}the end"
    with (desk.sessions / "a.jsonl").open("ab") as rollout:
        rollout.write(line.replace(b"the beginning", text.encode()))
    models = Scripted([answer()], [noting])
    models.chars = 100_000
    report, megabytes = report_peak(desk, models)
    assert (report.extracted, report.damaged_lines) == (1, 0)
    assert "the end" in models.asked[0][1]
    assert megabytes < 200
