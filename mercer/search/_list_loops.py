"""The compiled loops that search sorted lists: walk from a query's place, and rank rows met.

`mercer.search._list_sorting` describes the entries of a list.
"""

import numpy as np
from numba import njit

from mercer.runtime.jit import cached_njit
from mercer.runtime.machine import bits_of, borrow, float_of, prefetch
from mercer.search._code_loops import fill_table
from mercer.search._list_sorting import (
    KEY_BITS,
    ROW,
    SHIFT,
    bit_of,
    directory_shift,
    keep_largest,
)

LINE = 8  # entries in a cache line
LINES = 2  # of them prefetched before a place is searched for
AHEAD = 8  # lists or codes between prefetching and using one
OPTIONS = {"nogil": True, "fastmath": {"reassoc", "contract"}}


@njit(nogil=True)
def _difference(codes, row, bits, permutation):  # type: ignore[no-untyped-def]
    """Return the first place behind the key where a row differs from the query's bits."""
    place = KEY_BITS
    while place < len(permutation) and (
        bit_of(codes, row, permutation[place]) == bits[permutation[place]]
    ):
        place += 1
    return min(place, len(permutation))


@cached_njit(nogil=True)
def locate(  # type: ignore[no-untyped-def]
    lists, directories, permutations, codes, bits, keys, ends, levels
):
    """Set two pointers in each list to the entries on either side of a query's place.

    ``ends[2 i]`` and ``ends[2 i + 1]`` get the entries before and after that place in list i,
    `levels` the lengths of the prefixes they share with the query, and `keys` its first bits as
    each list permutes them. Lists are prefetched some steps before they are searched, so that
    no step waits for memory.
    """
    n_lists, n = lists.shape
    shift = directory_shift(borrow(directories, 0)) - SHIFT
    parts, entries = directories.reshape(-1, 1), lists.reshape(-1, 1)
    for i in range(n_lists):
        keys[i] = _key(bits, borrow(permutations, i))
        prefetch(parts, i * directories.shape[1] + np.int64(keys[i] >> shift))
    for step in range(n_lists + AHEAD):
        if step < n_lists:
            ends[2 * step] = directories[step, keys[step] >> shift]
            ends[2 * step + 1] = directories[step, (keys[step] >> shift) + np.uint64(1)]
            for line in range(LINES):
                prefetch(entries, step * n + ends[2 * step] + LINE * line)
        i = step - AHEAD
        if i >= 0:
            permutation = borrow(permutations, i)
            place = _search(borrow(lists, i), ends[2 * i], ends[2 * i + 1], keys[i], codes, bits,
                            permutation)  # fmt: skip
            for pointer in range(2 * i, 2 * i + 2):
                ends[pointer] = place - 1 + (pointer & 1)
                levels[pointer] = _level(
                    borrow(lists, i), ends[pointer], keys[i], codes, bits, permutation
                )


@njit(nogil=True)
def _key(bits, permutation):  # type: ignore[no-untyped-def]
    """Return the first 32 bits of a query as a list permutes them, 0 where there are fewer."""
    key = np.uint64(0)
    n_bits = min(KEY_BITS, len(permutation))
    for place in range(n_bits):
        key = (key << np.uint64(1)) | np.uint64(bits[permutation[place]])
    return key << np.uint64(KEY_BITS - n_bits)


@njit(nogil=True)
def _search(entries, low, high, key, codes, bits, permutation):  # type: ignore[no-untyped-def]
    """Return the first place of a span whose entry is not before the query, or its end."""
    first, n = low, high - low
    while n > 0:  # written so that the compiler needs no branch
        half = (n + 1) >> 1
        first += half if entries[first + half - 1] < key << SHIFT else 0
        n -= half
    if first == high or entries[first] >> SHIFT != key:
        return first
    while first < high:
        middle = (first + high) // 2
        if _is_before(entries[middle], key, codes, bits, permutation):
            first = middle + 1
        else:
            high = middle
    return first


@njit(nogil=True)
def _is_before(entry, key, codes, bits, permutation):  # type: ignore[no-untyped-def]
    """Whether the permuted code of an entry is smaller than the query's."""
    if entry >> SHIFT != key:
        return entry >> SHIFT < key
    place = _difference(codes, entry & ROW, bits, permutation)
    return place < len(permutation) and bits[permutation[place]] == 1


@njit(nogil=True)
def _level(entries, end, key, codes, bits, permutation):  # type: ignore[no-untyped-def]
    """Return how many leading bits an entry shares with the query; -1 beyond the list."""
    if end < 0 or end >= len(entries):
        return -1
    unlike = (entries[end] >> SHIFT) ^ key
    if unlike == 0:
        return _difference(codes, entries[end] & ROW, bits, permutation)
    # the exponent of a float counts the bits up to the uppermost one that is set
    return KEY_BITS + 1022 - (bits_of(np.float64(np.int64(unlike))) >> 52)


@cached_njit(nogil=True)
def gather(  # type: ignore[no-untyped-def]
    lists, permutations, codes, allowed, bits, keys, ends, levels, budget, n, seen, found
):
    """Meet entries of all lists, longest common prefix first; return how many rows were found.

    Pointers leave the query's place in both directions (see `locate`); a queue for every length
    of prefix holds those whose next entry shares that much. The walk ends when `budget` entries of
    allowed rows (of any rows, if `allowed` is empty) were met and n rows were found, or with -1
    when more entries were met than there are rows. `seen` holds one bit per row, all 0 before and
    after.
    """
    first = np.full(permutations.shape[1] + 1, -1, np.int64)  # pointer of each queue
    following = np.empty(len(ends), np.int64)
    for pointer in range(len(ends)):
        _enqueue(pointer, levels[pointer], first, following)
    n_rows, n_found, n_met, n_examined = lists.shape[1], 0, 0, 0
    current = permutations.shape[1]
    while current >= 0 and n_met <= n_rows and (n_examined < budget or n_found < n):
        pointer = first[current]
        if pointer < 0:
            current -= 1
            continue
        i = pointer >> 1
        row = np.int64(lists[i, ends[pointer]] & ROW)
        n_met += 1
        if len(allowed) == 0 or allowed[row]:
            n_examined += 1
            if _is_new(seen, row):
                found[n_found] = row
                n_found += 1
                prefetch(codes, row)
        ends[pointer] += 2 * (pointer & 1) - 1
        level = _level(
            borrow(lists, i), ends[pointer], keys[i], codes, bits, borrow(permutations, i)
        )
        if level != current:
            first[current] = following[pointer]
            _enqueue(pointer, level, first, following)
    for i in range(n_found):
        seen[found[i] >> 6] = 0
    return n_found if n_met <= n_rows else -1


@njit(nogil=True)
def _enqueue(pointer, level, first, following):  # type: ignore[no-untyped-def]
    """Put a pointer in front of the queue of its level, unless its list is at an end."""
    if level >= 0:
        following[pointer] = first[level]
        first[level] = pointer


@njit(nogil=True)
def _is_new(seen, row):  # type: ignore[no-untyped-def]
    """Whether a row is met for the first time; mark it as seen."""
    word, bit = row >> 6, np.uint64(1) << np.uint64(row & 63)
    new = seen[word] & bit == 0
    seen[word] |= bit
    return new


@njit(nogil=True)
def _all_rows(allowed, found):  # type: ignore[no-untyped-def]
    """Find every row that is allowed; return how many."""
    n_found = 0
    for row in range(len(found)):
        if len(allowed) == 0 or allowed[row]:
            found[n_found] = row
            n_found += 1
    return n_found


# ---- ranking


@njit(**OPTIONS)
def _rank(found, codes, table, offset, ranks):  # type: ignore[no-untyped-def]
    """Write one word for each row found, its score above its number; larger words are better."""
    for i in range(len(found)):
        if i + AHEAD < len(found):
            prefetch(codes, found[i + AHEAD])
        score = offset
        for byte in range(codes.shape[1]):
            score += table[byte, codes[found[i], byte]]
        ranks[i] = _sortable(score + np.float32(0)) | (ROW - np.uint64(found[i]))


@njit(nogil=True)
def _sortable(score):  # type: ignore[no-untyped-def]
    """Return a word whose upper half sorts like the score, which must not be -0."""
    bits = bits_of(score)
    ordered = ~bits if bits < 0 else bits | np.int32(-(2**31))
    return np.uint64(np.uint32(ordered)) << SHIFT


@njit(nogil=True)
def _score_of(rank):  # type: ignore[no-untyped-def]
    ordered = np.int32(np.uint32(rank >> SHIFT))
    return float_of(np.int32(~ordered if ordered >= 0 else ordered & np.int32(2**31 - 1)))


@cached_njit(nogil=True)
def answer(  # type: ignore[no-untyped-def]
    lists, directories, permutations, codes, allowed, everything, queries, weights, offset, budget,
    rows, values,
):  # fmt: skip
    """Fill in the best rows and their scores for each query, among those found in the lists.

    `queries`, of shape (n, n_bits), are bits; `weights`, of shape (n, 8 n_bytes), what each bit of
    a row adds to or takes from `offset`. With `everything`, all allowed rows
    are ranked and no list is used.
    """
    n_lists, n_rows = lists.shape
    keys = np.empty(n_lists, np.uint64)
    ends, levels = np.empty(2 * n_lists, np.int64), np.empty(2 * n_lists, np.int64)
    seen, found = np.zeros((n_rows >> 6) + 1, np.uint64), np.empty(n_rows, np.int64)
    ranks = np.empty(n_rows, np.uint64)
    table = np.empty((codes.shape[1], 256), np.float32)
    for i in range(len(queries)):
        bits, n_found = borrow(queries, i), -1
        if not everything:
            locate(lists, directories, permutations, codes, bits, keys, ends, levels)
            n_found = gather(lists, permutations, codes, allowed, bits, keys, ends, levels, budget,
                             rows.shape[1], seen, found)  # fmt: skip
        if n_found < 0:
            n_found = _all_rows(allowed, found)
        fill_table(borrow(weights, i), table)
        _rank(found[:n_found], codes, table, offset, ranks)
        n_kept = min(n_found, rows.shape[1])
        keep_largest(ranks[:n_found], n_kept)
        for j in range(n_kept):
            rows[i, j] = np.int64(ROW - (ranks[j] & ROW))
            values[i, j] = _score_of(ranks[j])
