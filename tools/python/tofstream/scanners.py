"""What a scanner of share/scanners, or of a YAML file, is."""

import ctypes
import os

import numpy as np

from . import library


def detector_positions(scanner):
    """Where a scanner's detectors are: float32 (detectors, 3), x, y and z in mm. A detector's number is its row."""
    name, count = os.fspath(scanner).encode(), ctypes.c_int64()
    library.call("tof_scanner_detectors", name, None, ctypes.byref(count))
    positions = np.empty((count.value, 3), np.float32)
    library.call("tof_scanner_detectors", name, positions.ctypes.data, ctypes.byref(count))
    return positions
# SPDX-License-Identifier: Apache-2.0
