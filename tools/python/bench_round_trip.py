"""What `tofstream-bench python` runs: a batch goes back unchanged, with new arrays, or through a gate."""

import time

import numpy as np
import tofstream


@tofstream.gadget
class RoundTrip:
    def __init__(self, what):
        self.what = getattr(self, what)

    def process(self, events, info):
        began = time.perf_counter()
        result = self.what(events)
        info.report("own_ms", 1e3 * (time.perf_counter() - began))
        return result

    def unchanged(self, events):
        return events

    def scaled(self, events):
        """One new array, written straight into shared memory."""
        scaled = tofstream.empty_like(events.tof_mm)
        np.multiply(events.tof_mm, np.float32(0.5), out=scaled)
        return events.replace(tof_mm=scaled)

    def rewritten(self, events):
        """Every array new, written straight into shared memory."""
        return events.replace(**{name: self._copy(array) for name, array in events.arrays().items()})

    def copied(self, events):
        """Every array new, as NumPy makes them."""
        return events.replace(**{name: array.copy() for name, array in events.arrays().items()})

    def gated(self, events):
        return events[events.tof_mm < 0]

    @staticmethod
    def _copy(array):
        copy = tofstream.empty_like(array)
        np.copyto(copy, array)
        return copy
# SPDX-License-Identifier: Apache-2.0
