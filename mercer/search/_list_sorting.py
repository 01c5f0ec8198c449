"""The compiled loops that sort codes after a permutation of their bits.

An entry of a list is a 64-bit word: the key, which is the first 32 bits of the permuted code with
the first bit uppermost, above the row number. Bits behind the key are looked up in the codes, and
only where keys are equal. A directory says where the entries with each prefix of a few bits
begin.
"""

import numpy as np
from numba import njit

from mercer.runtime.jit import cached_njit

KEY_BITS = 32
DIGIT_BITS = 11  # to sort by at a time: three digits make a key
DIGITS = 1 << DIGIT_BITS
ROW = np.uint64(0xFFFFFFFF)  # the half of an entry that is the row
SHIFT = np.uint64(32)


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
    """Copy entries in the order of one digit of their keys; the sort is stable."""
    begin = 0
    for value in range(DIGITS):
        begin, counts[digit, value] = begin + counts[digit, value], begin
    shift = np.uint64(KEY_BITS + DIGIT_BITS * digit)
    for entry in entries:
        found = np.int64((entry >> shift) & np.uint64(DIGITS - 1))
        ordered[counts[digit, found]] = entry
        counts[digit, found] += 1


@njit(nogil=True)
def _sort_equal_keys(codes, permutation, entries, spare):  # type: ignore[no-untyped-def]
    """Order entries of equal keys by the bits behind the key, 32 at a time."""
    n = len(entries)
    if len(permutation) <= KEY_BITS:
        return
    same = np.zeros(n + 1, np.bool_)  # equal to the entry before in all bits compared so far
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
                bits |= np.uint64(bit_of(codes, row, permutation[place]))
        following[i] = ~((bits << SHIFT) | row)
    keep_largest(following, len(run))  # the smallest, since all bits are inverted
    for i in range(len(run)):
        run[i] = key | (~following[i] & ROW)
        same[i] = i > 0 and following[i] >> SHIFT == following[i - 1] >> SHIFT


@njit(nogil=True)
def _fill_directory(entries, directory):  # type: ignore[no-untyped-def]
    """Write where the entries with each prefix begin; the last number is where all end."""
    shift = directory_shift(directory)
    prefix = 0
    for place in range(len(entries)):
        while prefix <= np.int64(entries[place] >> shift):
            directory[prefix] = place
            prefix += 1
    directory[prefix:] = len(entries)


@njit(nogil=True)
def directory_shift(directory):  # type: ignore[no-untyped-def]
    """Return the shift that leaves an entry with the bits of its directory, at least one."""
    n_bits = 1
    while (1 << n_bits) < len(directory) - 1:
        n_bits += 1
    return np.uint64(64 - n_bits)


@njit(nogil=True)
def bit_of(codes, row, bit):  # type: ignore[no-untyped-def]
    return (codes[row, bit >> 3] >> (7 - (bit & 7))) & 1


@njit(nogil=True)
def keep_largest(words, n):  # type: ignore[no-untyped-def]
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
    """Let a word sink to its place in a heap of n words whose root is the smallest."""
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
