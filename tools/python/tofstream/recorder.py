"""The scanner that recorded what a script gives: `info.scanner` of a source whose parameter `scanner` names one."""

from __future__ import annotations

from typing import Any, Optional, Tuple

import numpy as np


class Recorder:
    """Flat modules of detectors in rings: module m has the detectors m * elements to (m + 1) * elements - 1.

    name                    what the scanner's file calls it
    detector_positions      (detectors, 3) float32, mm, at the mean depth of interaction
    modules, elements       how many modules, and detectors of each
    size_mm                 of a detector: depth, across, along the axis; 0: not known
    tof_sigma_mm            ToF resolution (not FWHM) along the line; None: the scanner has no ToF
    tof_bin_mm              width of a ToF bin; 0: ToF is not binned
    tof_window_mm           what all ToF bins cover together
    """

    def __init__(self, name: str, detector_positions: Any, modules: int, size_mm: Tuple[float, float, float],
                 pairs: Any = None, tof: Optional[Tuple[float, float, float]] = None) -> None:
        self.name, self.detector_positions, self.modules = name, detector_positions, modules
        self.elements = len(detector_positions) // modules
        self.size_mm = tuple(size_mm)
        self._pairs = pairs
        self.tof_sigma_mm, self.tof_bin_mm, self.tof_window_mm = tof if tof else (None, 0.0, 0.0)

    @property
    def normals(self) -> Any:
        """Where each module faces, away from the axis: (modules, 3)."""
        middle = np.asarray(self.detector_positions, np.float64).reshape(self.modules, self.elements, 3).mean(axis=1)
        middle[:, 2] = 0
        return middle / np.maximum(np.linalg.norm(middle, axis=1, keepdims=True), 1e-9)

    def in_coincidence(self, detector1: Any, detector2: Any) -> Any:
        """True for the pairs of detectors that the scanner counts, and its sensitivity knows."""
        one, two = (np.asarray(d).astype(np.int64) // self.elements for d in (detector1, detector2))
        return one != two if self._pairs is None else self._pairs[one * self.modules + two] != 0

    def binned(self, tof_mm: Any) -> Tuple[Any, Any]:
        """The middle of the ToF bin of each value, and which values lie in one. Without bins the values themselves, and
        which of them lie in the window of coincidence."""
        half = 0.5 * self.tof_window_mm
        inside = np.abs(tof_mm) < half
        if self.tof_bin_mm <= 0:
            return tof_mm, inside
        return (np.floor((tof_mm + half) / self.tof_bin_mm) + 0.5) * self.tof_bin_mm - half, inside
# SPDX-License-Identifier: Apache-2.0
