"""What will the agent see? No SDK and no model: print the block, then a tight budget."""

from _world import sample_world

from openhands_memory import resolve_memory

with sample_world() as workspace:
    memory = resolve_memory(workspace)
    print(memory.block)

    tight = resolve_memory(workspace, char_budget=700)
    print(f"\nWith 700 characters instead of 6,000, {tight.chars} are used:")
    for tier in tight.tiers:
        print(f"{tier.name}: {tier.status}, dropped lines {tier.dropped_lines}")
        print(f"  lost headings: {[title for _, title in tier.lost_headings]}")
