"""What a test of a gadget calls it with: an Info that remembers, random events, views of a turn, an even image.

    from tofstream.testing import Info, events, image
    info = Info()
    kept = gate(events(1000), info)
    assert info.rejected["far from the middle"] == 1000 - len(kept)

No tofstream runs beside it. PYTHONPATH=$(tofstream gadgets --python) lets Python find this package.
"""

from __future__ import annotations

from typing import Any, Dict, Sequence, Tuple

import numpy as np

from . import convert
from .data import Events, Image
from .views import Plan, Views

__all__ = ["Info", "events", "image", "views"]


class Info(convert.Info):
    """What a gadget gets as `info`, with the numbers that a test gives, as sequence=3.

    rejected    events by the reason that info.reject() named
    reported    what info.report() said, by its key
    """

    def __init__(self, payload: Any = None, **known: float) -> None:
        defaults = {"sequence": 0, "origin": 0, "first_event": 0, "end_event": 0, "ingress_s": 0.0}
        if unknown := sorted(set(known) - set(defaults) - {"start_s", "duration_s"}):
            raise TypeError(f"an info has no {unknown[0]}: use {', '.join(defaults)}, start_s, duration_s")
        super().__init__({"start_s": 0.0, "duration_s": 0.0, **defaults, **known}, payload)

    @property
    def rejected(self) -> Dict[str, int]:
        return dict(self._rejected)

    @property
    def reported(self) -> Dict[str, Any]:
        return dict(self._reported)


def events(count: int, *, seed: int = 1, detectors: int = 360, radius_mm: float = 300.0, tof_sigma_mm: float = 20.0,
           **arrays: Any) -> Events:
    """Random coincidences of one ring in the plane z = 0, with ToF inside it; `arrays` replaces or adds some."""
    random = np.random.default_rng(seed)
    first = random.integers(0, detectors, count, dtype=np.uint32)
    apart = random.integers(detectors // 4, 3 * detectors // 4, count, dtype=np.uint32)
    made = {
        "detector1": first,
        "detector2": (first + apart) % np.uint32(detectors),
        "tof_mm": random.uniform(-0.4 * radius_mm, 0.4 * radius_mm, count).astype(np.float32),
    }
    batch = Events(tof_sigma_mm=tof_sigma_mm, duration_s=1.0, **{**made, **arrays})
    angles = 2 * np.pi * np.arange(detectors) / detectors
    ring = [radius_mm * np.cos(angles), radius_mm * np.sin(angles), np.zeros(detectors)]
    batch.detector_positions = np.stack(ring, axis=1).astype(np.float32)
    return batch


def views(count: int = 8, *, size: Tuple[int, int] = (6, 4), pixel_mm: Tuple[float, float] = (4.0, 4.0),
          mean: float = 5.0, seed: int = 1) -> Views:
    """All views of a turn of one head, of so many pixels (u, w), with random counts about the mean."""
    angles = 360.0 * np.arange(count) / count
    plan = Plan(angles, size=size, pixel_mm=pixel_mm, radius_mm=150.0, duration_s=10.0, windows_keV=[(126.0, 154.0)])
    counts = np.random.default_rng(seed).poisson(mean, (count, *size[::-1])).astype(np.float32)
    return Views(plan, np.arange(count), counts)


def image(size: Sequence[int] = (8, 8, 8), voxel_mm: Sequence[float] = (4.0, 4.0, 4.0), value: float = 1.0) -> Image:
    """An even image of so many voxels along x, y and z."""
    return Image(np.full(tuple(size)[::-1], value, np.float32), voxel_mm)
# SPDX-License-Identifier: Apache-2.0
