"""Memory shared with tofstream: what it lends is seen without a copy, what is written here it reads without one."""

from __future__ import annotations

import bisect
import mmap
import weakref
from typing import Any, Optional

import numpy as np

_MAP_NORESERVE = 0x4000
_ALIGNMENT = 64
_arena: Optional[Arena] = None  # of this process, where tofstream runs it


def aligned(size):
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def empty(shape: Any, dtype: Any = np.float32) -> np.ndarray:
    """An uninitialised array like numpy.empty, in shared memory: returned from a gadget, it is not copied."""
    if _arena is None:
        return np.empty(shape, dtype)
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    return np.ndarray(shape, dtype, buffer=_arena.allocate(count * dtype.itemsize))


def empty_like(array: Any) -> np.ndarray:
    """An uninitialised array of the shape and type of `array` (or of an image's voxels), in shared memory."""
    array = np.asarray(array)
    return empty(array.shape, array.dtype)


class Lease:
    """Arrays of one message. Its number is passed on as released once the last view of them is gone."""

    def __init__(self, number, released):
        self.number, self._released = number, released

    def __del__(self):
        self._released.append(self.number)


class Arena:
    """The shared memory: mapped read-only for what is lent, and writable for the blocks that this process was given."""

    def __init__(self, descriptor, size, ask_for_block):
        flags = mmap.MAP_SHARED | _MAP_NORESERVE
        self._lent = mmap.mmap(descriptor, size, flags=flags, prot=mmap.PROT_READ)
        self._own = mmap.mmap(descriptor, size, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        self._size = size
        self._bases = [_address(np.frombuffer(memory, np.uint8, 1)) for memory in (self._lent, self._own)]
        self._ask_for_block = ask_for_block
        self._blocks = {}  # by offset: [size, seen here, held by tofstream]
        self._offsets = []  # of the blocks, sorted
        self._free = {}  # offsets by size
        self.released = []  # numbers of leases

    def lease(self, number):
        return Lease(number, self.released)

    def lent(self, offset, count, dtype, lease):
        """A read-only array of what tofstream lends; the lease lasts as long as the array or a view of it."""
        array = np.frombuffer(self._lent, dtype, count, offset)
        weakref.finalize(array, id, lease).atexit = False  # the finalizer keeps the lease, and does nothing else
        return array

    def allocate(self, size):
        """A block of this process as bytes, at least `size`. It is used again when no array here and no payload of
        tofstream lies in it any more."""
        size = max(4096, 1 << max(size - 1, 0).bit_length())
        free = self._free.setdefault(size, [])
        if not free:
            self._add_block(self._ask_for_block(size))
        offset = free.pop()
        block = self._blocks[offset]
        block[1] = True
        memory = np.frombuffer(self._own, np.uint8, size, offset)
        weakref.finalize(memory, self._let_go, offset, 1).atexit = False
        return memory

    def give(self, array):
        """The offset of a contiguous array that lies in shared memory, which tofstream holds from now on; else None."""
        if not array.flags.c_contiguous:
            return None
        address = _address(array)
        for which, base in enumerate(self._bases):
            if base <= address and address + array.nbytes <= base + self._size:
                offset = address - base
                if which == 1:
                    self._blocks[self._offsets[bisect.bisect_right(self._offsets, offset) - 1]][2] = True
                return offset
        return None

    def returned(self, offsets):
        """tofstream holds these blocks no longer."""
        for offset in offsets:
            self._let_go(offset, 2)

    def _add_block(self, answer):
        offset, size = answer["offset"], answer["bytes"]
        self._blocks[offset] = [size, False, False]
        bisect.insort(self._offsets, offset)
        self._free.setdefault(size, []).append(offset)

    def _let_go(self, offset, who):
        block = self._blocks[offset]
        block[who] = False
        if not block[1] and not block[2]:
            self._free[block[0]].append(offset)


def use(arena):
    """Makes `empty` allocate in this arena."""
    global _arena
    _arena = arena


def _address(array):
    return array.__array_interface__["data"][0]
# SPDX-License-Identifier: Apache-2.0
