"""Two layouts in one workspace: each has one injected file a tier, and they never mix."""

from _world import sample_world

from openhands_memory import MemoryConfig, MemoryLayoutConfig, resolve_memory

with sample_world() as workspace:
    memories = workspace / "memories"
    memories.mkdir()
    (memories / "memory_summary.md").write_text(
        "- tide tables: see MEMORY.md, keywords: tide, station, predict\n"
    )
    (memories / "MEMORY.md").write_text("# Task Group: tide tables\n")

    sandbox = MemoryConfig(layout=MemoryLayoutConfig(memories_dir="memories"))
    print(resolve_memory(workspace, config=sandbox).text)

    print("\nand the OpenHands layout beside it:")
    for tier in resolve_memory(workspace).tiers:
        print(f"{tier.name}: {tier.shown_as} ({tier.status})")
