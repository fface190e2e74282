"""Keeps the events of any source of tofstream, such as a PETSIRD file, in a file of NumPy arrays.

    gadgets:
      feed:   {use: file_source, path: scan.petsird}
      events: {use: petsird_decoder, from: feed}
      kept:   {use: python, from: events, gives: nothing, script: examples/python/events_to_numpy.py, arguments: {file: scan.npz}}

numpy.load(file) then has detector1, detector2, tof_mm and what else the events have, detector_positions in mm, and their
tof_sigma_mm and tof_bin_mm: what tof.Events takes.
"""

import numpy as np
from tofstream import gadget


@gadget
class Keep:
    def __init__(self, file):
        self.file, self.batches, self.known = file, [], {}

    def process(self, events):
        self.batches.append({name: array.copy() for name, array in events.arrays().items()})
        known = {name: getattr(events, name) for name in ("detector_positions", "tof_sigma_mm", "tof_bin_mm")}
        self.known.update({name: np.copy(value) for name, value in known.items() if value is not None})

    def flush(self):
        names = self.batches[0] if self.batches else []
        np.savez(self.file, **self.known, **{name: np.concatenate([b[name] for b in self.batches]) for name in names})
# SPDX-License-Identifier: Apache-2.0
