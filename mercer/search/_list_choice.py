"""The compiled loop that chooses which lists a query looks into."""

from __future__ import annotations

from mercer.runtime.jit import cached_njit
from mercer.runtime.machine import borrow


@cached_njit(nogil=True, fastmath={"reassoc", "nsz"})
def choose_lists(distances, reach, chosen):  # type: ignore[no-untyped-def]
    """Write the lists that are at most `reach` farther than the nearest into rows of `chosen`.

    Both have one column for each list. Rows are filled from the left, and the rest is -1.
    """
    for i in range(distances.shape[0]):
        row, lists = borrow(distances, i), borrow(chosen, i)
        least = row[0]
        for j in range(len(row)):
            least = min(least, row[j])
        n_chosen = 0
        for j in range(len(row)):
            lists[j] = -1  # in the loop, for its place is in the cache now
            if row[j] <= least + reach:
                lists[n_chosen] = j
                n_chosen += 1
