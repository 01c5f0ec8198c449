"""The compiled loops of sorted lists: sort permuted codes, and walk from a query's place.

An entry of a list is a 64-bit word: the key, which is the first 32 bits of the permuted code with
the first bit uppermost, above the row number. Bits behind the key are looked up in the codes, and
only where keys are equal. A directory tells where the entries with each of the first few bits
begin.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from mercer.jit import cached_njit
from mercer.machine import bits_of, borrow, float_of, prefetch

__all__ = ["answer", "gather", "locate", "sort_list"]

KEY_BITS = 32
DIGIT_BITS = 11  # sorted by at a time: three digits make a key
DIGITS = 1 << DIGIT_BITS
LINE = 8  # entries in a cache line
LINES = 2  # of them asked for before a place is looked for
AHEAD = 8  # lists or codes between prefetching and using one
ROW = np.uint64(0xFFFFFFFF)  # the half of an entry that is the row
SHIFT = np.uint64(32)
OPTIONS = {"nogil": True, "fastmath": {"reassoc", "contract"}}


# ---- building


@cached_njit(nogil=True)
def sort_list(codes, permutation, entries, spare, directory):  # type: ignore[no-untyped-def]
    """Fill the entries of one list, in the order of the permuted codes, and its directory.

    Rows of equal codes stand in the order of their numbers. `spare` is as long as `entries`.
    """
    counts = np.zeros((3, DIGITS), np.int64)
    _fill(codes, permutation, spare, counts)
    _sort_digit(spare, entries, counts, 0)
    _sort_digit(entries, spare, counts, 1)
    _sort_digit(spare, entries, counts, 2)
    _sort_equal_keys(codes, permutation, entries, spare)
    _fill_directory(entries, directory)


@njit(nogil=True)
def _fill(codes, permutation, entries, counts):  # type: ignore[no-untyped-def]
    """Write the entries in the order of rows, and count each digit of their keys."""
    n_bytes = codes.shape[1]
    keys = np.zeros((n_bytes, 256), np.uint32)  # what each value of a byte adds to the key
    for place in range(min(KEY_BITS, len(permutation))):
        byte, mask = permutation[place] >> 3, 128 >> (permutation[place] & 7)
        for value in range(256):
            if value & mask:
                keys[byte, value] |= np.uint32(1 << (KEY_BITS - 1 - place))
    used, n_used = np.empty(n_bytes, np.int64), 0
    for byte in range(n_bytes):
        used[n_used] = byte
        n_used += keys[byte, 255] != 0
    for row in range(codes.shape[0]):
        key = np.uint32(0)
        for i in range(n_used):
            key |= keys[used[i], codes[row, used[i]]]
        entries[row] = (np.uint64(key) << SHIFT) | np.uint64(row)
        for digit in range(3):
            counts[digit, (key >> (DIGIT_BITS * digit)) & (DIGITS - 1)] += 1


@njit(nogil=True)
def _sort_digit(entries, ordered, counts, digit):  # type: ignore[no-untyped-def]
    """Copy entries in the order of one digit of their keys; others stay in their order."""
    begin = 0
    for value in range(DIGITS):
        begin, counts[digit, value] = begin + counts[digit, value], begin
    shift = np.uint64(KEY_BITS + DIGIT_BITS * digit)
    for entry in entries:
        value = np.int64((entry >> shift) & np.uint64(DIGITS - 1))
        ordered[counts[digit, value]] = entry
        counts[digit, value] += 1


@njit(nogil=True)
def _sort_equal_keys(codes, permutation, entries, spare):  # type: ignore[no-untyped-def]
    """Order entries of equal keys by the bits behind the key, 32 at a time."""
    n = len(entries)
    if len(permutation) <= KEY_BITS:
        return
    same = np.zeros(n + 1, np.bool_)  # as the entry before, in all bits looked at so far
    for place in range(1, n):
        same[place] = entries[place] >> SHIFT == entries[place - 1] >> SHIFT
    for depth in range(KEY_BITS, len(permutation), KEY_BITS):
        n_runs, begin = 0, 0
        while begin < n:
            end = begin + 1
            while same[end]:
                end += 1
            if end > begin + 1:
                _sort_run(codes, permutation, depth, entries[begin:end], spare, same[begin:end])
                n_runs += 1
            begin = end
        if n_runs == 0:
            break


@njit(nogil=True)
def _sort_run(codes, permutation, depth, run, spare, same):  # type: ignore[no-untyped-def]
    """Order entries that agree in their first `depth` bits by the 32 bits that follow."""
    key = run[0] & ~ROW
    following = spare[: len(run)]
    for i in range(len(run)):
        row = run[i] & ROW
        bits = np.uint64(0)
        for place in range(depth, depth + KEY_BITS):
            bits <<= np.uint64(1)
            if place < len(permutation):
                bits |= np.uint64(_bit(codes, row, permutation[place]))
        following[i] = ~((bits << SHIFT) | row)
    _keep_largest(following, len(run))  # the smallest, since all bits are inverted
    for i in range(len(run)):
        run[i] = key | (~following[i] & ROW)
        same[i] = i > 0 and following[i] >> SHIFT == following[i - 1] >> SHIFT


@njit(nogil=True)
def _fill_directory(entries, directory):  # type: ignore[no-untyped-def]
    """Write where the entries with each prefix begin; the last number is where all end."""
    shift = _directory_shift(directory)
    prefix = 0
    for place in range(len(entries)):
        while prefix <= np.int64(entries[place] >> shift):
            directory[prefix] = place
            prefix += 1
    directory[prefix:] = len(entries)


@njit(nogil=True)
def _directory_shift(directory):  # type: ignore[no-untyped-def]
    """Return by how much to shift an entry to see the bits that its directory has, at least one."""
    n_bits = 1
    while (1 << n_bits) < len(directory) - 1:
        n_bits += 1
    return np.uint64(64 - n_bits)


@njit(nogil=True)
def _bit(codes, row, bit):  # type: ignore[no-untyped-def]
    return (codes[row, bit >> 3] >> (7 - (bit & 7))) & 1


@njit(nogil=True)
def _keep_largest(words, n):  # type: ignore[no-untyped-def]
    """Put the n largest words first, in decreasing order; the others are lost."""
    for place in range(n // 2 - 1, -1, -1):
        _sink(words, place, n)
    for i in range(n, len(words)):
        if words[i] > words[0]:
            words[0] = words[i]
            _sink(words, 0, n)
    for last in range(n - 1, 0, -1):
        words[0], words[last] = words[last], words[0]
        _sink(words, 0, last)


@njit(nogil=True)
def _sink(heap, place, n):  # type: ignore[no-untyped-def]
    """Let a word sink in a heap of n words, whose root is the smallest, to where it belongs."""
    word = heap[place]
    while 2 * place + 1 < n:
        child = 2 * place + 1
        if child + 1 < n and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= word:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = word


# ---- searching


@njit(nogil=True)
def _difference(codes, row, bits, permutation):  # type: ignore[no-untyped-def]
    """Return the first place behind the key where a row differs from the query's bits."""
    place = KEY_BITS
    while place < len(permutation) and (
        _bit(codes, row, permutation[place]) == bits[permutation[place]]
    ):
        place += 1
    return min(place, len(permutation))


@cached_njit(nogil=True)
def locate(  # type: ignore[no-untyped-def]
    lists, directories, permutations, codes, bits, keys, ends, levels
):
    """Put two pointers beside the place of a query in each list: at the entries next to it.

    ``ends[2 i]`` and ``ends[2 i + 1]`` get the entries before and after that place in list i,
    `levels` the lengths of the prefixes they share with the query, and `keys` its first bits as
    each list permutes them. Lists are asked for some steps before they are searched, so that the
    memory is never waited for.
    """
    n_lists, n = lists.shape
    shift = _directory_shift(borrow(directories, 0)) - SHIFT
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
    of prefix holds those whose next entry shares that much. It ends when `budget` entries of
    allowed rows (an empty `allowed`: of any) were met, and n rows were found; or with -1, when
    more entries were met than there are rows. `seen` holds one bit a row, all 0 before and after.
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
    """Whether a row is met for the first time; from now on it is not."""
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
def _fill_table(weights, table):  # type: ignore[no-untyped-def]
    """Fill table[b, v] with the sum of the weights of byte b, signed by the bits of v."""
    for byte in range(table.shape[0]):
        table[byte, 0] = 0
        for bit in range(8):  # from the lowest one, so that what is known doubles
            weight, known = weights[8 * byte + 7 - bit], 1 << bit
            for value in range(known):
                table[byte, known + value] = table[byte, value] + weight
                table[byte, value] -= weight


@njit(**OPTIONS)
def _rank(found, codes, table, offset, ranks):  # type: ignore[no-untyped-def]
    """Write the score of each row found above its number, both so that larger is better."""
    for i in range(len(found)):
        if i + AHEAD < len(found):
            prefetch(codes, found[i + AHEAD])
        score = offset
        for byte in range(codes.shape[1]):
            score += table[byte, codes[found[i], byte]]
        ranks[i] = _sortable(score + np.float32(0)) | (ROW - np.uint64(found[i]))


@njit(nogil=True)
def _sortable(score):  # type: ignore[no-untyped-def]
    """Return a word whose upper half is ordered as floats are, without -0."""
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
    """Fill the best rows and their scores for each query, of those found in the lists.

    `queries`, of shape (n, n_bits), are bits; `weights`, of shape (n, 8 n_bytes), what each bit of
    a row adds to or takes from `offset`. With `everything` no list is looked at.
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
        _fill_table(borrow(weights, i), table)
        _rank(found[:n_found], codes, table, offset, ranks)
        n_kept = min(n_found, rows.shape[1])
        _keep_largest(ranks[:n_found], n_kept)
        for j in range(n_kept):
            rows[i, j] = np.int64(ROW - (ranks[j] & ROW))
            values[i, j] = _score_of(ranks[j])
