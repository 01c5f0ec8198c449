"""Plain values as JSON that anybody may have written."""

import hashlib
import json
from typing import Any

from mercer.errors import StoreError

DEEPEST = 100  # levels of nesting: a kernel inside a kernel takes a few
RESTORE = "Restore the folder from a copy, or build and save the index again."


def parsed(content: bytes, told: str) -> dict[str, Any]:
    """Parse the bytes of a file, which is `told` in errors."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{told} is damaged: {error}. {RESTORE}") from None
    if not isinstance(found, dict) or _depth(found) > DEEPEST:
        raise StoreError(f"{told} is not that of an index. {RESTORE}")
    return found


def _depth(tree: Any) -> int:
    """Return how deeply dicts and lists are nested, up to one more than is allowed."""
    level, depth = [tree], 0
    while level and depth <= DEEPEST:
        depth += 1
        inside = [one.values() if isinstance(one, dict) else one for one in level]
        level = [one for group in inside for one in group if isinstance(one, (dict, list))]
    return depth


def sealed(values: dict[str, Any]) -> dict[str, Any]:
    """Return values with their own sha256."""
    return values | {"sha256": seal(values)}


def seal(values: dict[str, Any]) -> str:
    """Return the sha256 of values, whatever their layout; one that is among them is left out."""
    kept = {name: value for name, value in values.items() if name != "sha256"}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def is_count(value: Any) -> bool:
    """Whether a value is a non-negative integer."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
