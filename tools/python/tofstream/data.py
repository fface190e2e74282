"""Events and images as a gadget sees them: NumPy arrays with a few numbers beside them."""

from __future__ import annotations

from typing import Any, Dict, Optional

import numpy as np

from . import memory

_ENDS = ("x1", "y1", "z1", "x2", "y2", "z2")
_FLOATS = _ENDS + ("tof_mm", "tof_width_mm", "multiplicative", "additive", "counts")
BESIDE = ("bin", "arrival")  # what says nothing of a line
TYPES: Dict[str, np.dtype[Any]] = {name: np.dtype(np.uint32) for name in ("detector1", "detector2", *BESIDE)}
TYPES.update({name: np.dtype(np.float32) for name in _FLOATS})


class Events:
    """A batch of events: one array a property, None where the batch has no such property.

    detector1, detector2        uint32, into detector_positions (or else x1 y1 z1 x2 y2 z2, float32, mm)
    tof_mm, tof_width_mm        float32: time of flight from the line's middle towards detector 2, width of its bin
    multiplicative, additive    float32: corrections
    counts                      float32: of the bins of a histogram, whose lines these are
    bin, arrival                uint32: numbers of a bin among its histogram's, and of an event in the stream
    start_s, duration_s         scanner time of the batch
    tof_sigma_mm, tof_bin_mm    the ToF resolution (not FWHM) and bin of the whole batch
    detector_positions          (detectors, 3) float32, mm
    scanner                     its name, or a YAML file
    """

    def __init__(self, *, scanner=None, start_s=0.0, duration_s=0.0, tof_sigma_mm=None, tof_bin_mm=0.0, **arrays):
        unknown = sorted(set(arrays) - set(TYPES))
        if unknown:
            raise TypeError(f"events have no {unknown[0]}: use {', '.join(TYPES)}")
        for name in TYPES:
            setattr(self, name, arrays.get(name))
        self.start_s, self.duration_s = start_s, duration_s
        self.tof_sigma_mm, self.tof_bin_mm = tof_sigma_mm, tof_bin_mm
        self.detector_positions: Optional[np.ndarray] = None
        self.scanner = scanner

    @classmethod
    def from_lors(cls, start_mm, end_mm, **others):
        """Events on lines between points, (n, 3) arrays each, which are copied; `others` as of Events, such as tof_mm."""
        for points in (start_mm, end_mm):
            if points.ndim != 2 or points.shape[1] != 3:
                raise TypeError(f"points have the shape {tuple(points.shape)}, and must have (events, 3)")
        return cls(**_ends_of(start_mm, end_mm), **others)

    def arrays(self):
        """The arrays that there are, by name."""
        return {name: getattr(self, name) for name in TYPES if getattr(self, name) is not None}

    def __len__(self):
        return next((len(array) for array in self.arrays().values()), 0)

    def __repr__(self):
        return f"<{len(self)} events: {', '.join(self.arrays())}>"

    __iter__ = None  # event by event is what NumPy is there to avoid

    def __getitem__(self, which):
        """The events of a mask, of a slice (without a copy) or at an array of positions; every array alike."""
        if isinstance(which, slice):
            return self._with({name: array[which] for name, array in self.arrays().items()})
        which = np.asarray(which)
        if which.dtype == bool:
            if which.shape != (len(self),):
                raise IndexError(f"the mask has the shape {which.shape}, but there are {len(self)} events")
            which = np.flatnonzero(which)
        elif which.ndim != 1 or which.dtype.kind not in "iu":
            raise TypeError("events are indexed by a mask, a slice or an array of positions")
        elif which.size and not -len(self) <= which.min() <= which.max() < len(self):
            raise IndexError(f"a position is beyond the {len(self)} events")
        return self._with(self._taken(which))

    def replace(self, **arrays):
        """The same events with other arrays in place of some, or besides; None removes one."""
        return self._with({**self.arrays(), **arrays})

    def _taken(self, where):
        # One block for all, and mode other than "raise": NumPy then writes straight into it.
        arrays = self.arrays()
        blocks = memory.empty((len(arrays), memory.aligned(4 * len(where)) // 4), np.uint32)
        taken = {}
        for row, (name, array) in zip(blocks, arrays.items()):
            taken[name] = row[: len(where)].view(array.dtype)
            np.take(array, where, out=taken[name], mode="wrap")
        return taken

    def _with(self, arrays):
        events = Events(
            scanner=self.scanner,
            start_s=self.start_s,
            duration_s=self.duration_s,
            tof_sigma_mm=self.tof_sigma_mm,
            tof_bin_mm=self.tof_bin_mm,
            **arrays,
        )
        events.detector_positions = self.detector_positions
        return events


class Lors:
    """Lines of a sinogram between points, (..., 3) arrays in mm each, which are copied: data of an operator have the
    shape of the lines.

    tof_bins   (bins, width_mm, sigma_mm): data have one axis more, whose bin b has its centre at
               (b - (bins - 1) / 2) width_mm from the line's middle towards `end_mm`; None: no time of flight
    """

    def __init__(self, start_mm, end_mm, tof_bins=None):
        if tuple(start_mm.shape) != tuple(end_mm.shape) or start_mm.ndim < 2 or start_mm.shape[-1] != 3:
            raise TypeError(f"points have the shapes {tuple(start_mm.shape)} and {tuple(end_mm.shape)}, and must have one: "
                            "(..., 3)")
        self.start_mm, self.end_mm, self.shape = start_mm, end_mm, tuple(start_mm.shape[:-1])
        self.bins, self.width_mm, self.sigma_mm = tof_bins or (0, 0.0, 0.0)

    def __getitem__(self, which):
        """Some of the lines, along the first axis."""
        bins = (self.bins, self.width_mm, self.sigma_mm) if self.bins else None
        return Lors(self.start_mm[which], self.end_mm[which], bins)

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"<lines of {self.shape}{f' with {self.bins} bins' if self.bins else ''}>"

    def events(self):
        """The lines one by one: what the C interface takes."""
        ends = _ends_of(self.start_mm.reshape(-1, 3), self.end_mm.reshape(-1, 3))
        return Events(tof_sigma_mm=self.sigma_mm, tof_bin_mm=self.width_mm, **ends)


def _ends_of(start_mm, end_mm):
    ends = {}
    for number, points in ((1, start_mm), (2, end_mm)):
        for axis, name in enumerate("xyz"):
            column = points[:, axis]
            ends[f"{name}{number}"] = column.contiguous() if hasattr(column, "contiguous") else column.copy()
    return ends


class Image:
    """voxels: float32 array [z, y, x]; voxel_mm, origin_mm: (x, y, z) edges of a voxel and centre of the first one.

    `step` says after which update the image stands: iteration, iterations, subset, subsets, ends_iteration, last.
    """

    def __init__(self, voxels, voxel_mm, origin_mm=None):
        self.voxels, self.voxel_mm = voxels, tuple(voxel_mm)
        if origin_mm is None:  # the middle of the image is the middle of the scanner
            origin_mm = [-0.5 * (n - 1) * edge for n, edge in zip(np.shape(voxels)[::-1], voxel_mm)]
        self.origin_mm = tuple(origin_mm)
        self.step: Any = None

    def replace(self, voxels):
        """The same grid with other voxels."""
        return Image(voxels, self.voxel_mm, self.origin_mm)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.voxels, dtype)

    def __repr__(self):
        return f"<image of {' x '.join(map(str, np.shape(self.voxels)[::-1]))} voxels of {self.voxel_mm} mm>"
# SPDX-License-Identifier: Apache-2.0
