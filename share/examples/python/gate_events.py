"""Keeps the events whose emission point, by time of flight, lies near the scanner's axis: a gate in eight lines."""

import numpy as np
from tofstream import gadget


@gadget
def gate(events, info, radius_mm=150.0):
    p1 = events.detector_positions[events.detector1, :2]
    p2 = events.detector_positions[events.detector2, :2]
    along = (p2 - p1) / np.maximum(np.linalg.norm(p2 - p1, axis=1, keepdims=True), np.float32(1e-3))
    centre = (p1 + p2) / 2 + along * events.tof_mm[:, None]  # of the ToF bin, seen along the axis
    near = np.linalg.norm(centre, axis=1) <= radius_mm
    info.reject(np.count_nonzero(~near), "far from the axis")
    return events[near]
# SPDX-License-Identifier: Apache-2.0
