"""Views of a camera as a gadget sees them: NumPy arrays, and the plan of the scan that they belong to."""

from __future__ import annotations

from typing import Any, Dict, Optional, Sequence, Tuple

import numpy as np

_OF_PLACE = {
    "angle_deg": np.float64,
    "tilt_deg": np.float64,
    "radius_mm": np.float64,
    "centre_u_mm": np.float64,
    "centre_w_mm": np.float64,
    "start_s": np.float64,
    "duration_s": np.float64,
    "head": np.int64,
}
_ARRAYS = ("counts", "multiplicative", "additive")


class Plan:
    """All views of a scan, as it was planned: one number a view in each array.

    angle_deg              0 at the patient's back, 90 at the patient's left
    radius_mm              from the axis to the collimator's face
    start_s, duration_s    when the view begins, and how long it lasts
    centre_u_mm, centre_w_mm, head, tilt_deg
    size, pixel_mm         (u, w): pixels of a view, and their edges
    windows_keV            (low, high) of each energy window; the first is reconstructed
    name, collimator
    """

    angle_deg: np.ndarray
    tilt_deg: np.ndarray
    radius_mm: np.ndarray
    centre_u_mm: np.ndarray
    centre_w_mm: np.ndarray
    start_s: np.ndarray
    duration_s: np.ndarray
    head: np.ndarray

    def __init__(self, angle_deg: Any, *, size: Sequence[int], pixel_mm: Sequence[float], radius_mm: Any,
                 duration_s: Any = 0.0, start_s: Any = None, windows_keV: Sequence[Tuple[float, float]] = (),  # noqa: N803
                 name: str = "", collimator: str = "", **others: Any) -> None:
        if unknown := sorted(set(others) - set(_OF_PLACE)):
            raise TypeError(f"a plan has no {unknown[0]}: use {', '.join(_OF_PLACE)}")
        angles = np.asarray(angle_deg, np.float64)
        numbers = {"angle_deg": angles, "radius_mm": radius_mm, "duration_s": duration_s, **others}
        for key, dtype in _OF_PLACE.items():
            setattr(self, key, np.broadcast_to(np.asarray(numbers.get(key, 0), dtype), angles.shape).copy())
        if start_s is None:  # one view after the other
            start_s = np.concatenate([[0.0], np.cumsum(self.duration_s)[:-1]])
        self.start_s = np.broadcast_to(np.asarray(start_s, np.float64), angles.shape).copy()
        self.size, self.pixel_mm = tuple(map(int, size)), tuple(map(float, pixel_mm))
        self.windows_keV = [tuple(map(float, window)) for window in windows_keV]
        self.name, self.collimator, self._is_histo_image, self._histo = name, collimator, False, None

    def __len__(self) -> int:
        return len(self.angle_deg)

    def __repr__(self) -> str:
        return f"<a plan of {len(self)} views of {' x '.join(map(str, self.size))} pixels>"

    @classmethod
    def _from_header(cls, header):
        flat = 3 if header["is_histo_image"] else 2
        plan = cls(
            size=header["size"][:flat],
            pixel_mm=header["pixel_mm"][:flat],
            windows_keV=header["windows_keV"],
            name=header["name"],
            collimator=header["collimator"],
            **{key: header[key] for key in _OF_PLACE},
        )
        plan._is_histo_image, plan._histo = header["is_histo_image"], header["histo"]
        return plan

    def _to_header(self):
        return {
            "name": self.name,
            "collimator": self.collimator,
            "size": [*self.size, 1][:3],
            "pixel_mm": [*self.pixel_mm, 0.0][:3],
            "is_histo_image": self._is_histo_image,
            "histo": self._histo,
            "windows_keV": self.windows_keV,
            **{key: getattr(self, key).tolist() for key in _OF_PLACE},
        }


class Views:
    """Some views of a scan, one a row. len(views) is how many.

    plan, index                  the scan's plan, and each view's number in it
    counts                       float32 [view, w, u]: what was counted
    multiplicative, additive     the same shape: y = multiplicative (A x) + additive, in counts; None where all are 1 or 0
    exposure                     float64, of each view: what its time counts for, such as the mean live fraction
    window                       energy window; 0 is reconstructed, others are for scatter
    """

    def __init__(self, plan: Plan, index: Any, counts: Optional[np.ndarray], *,
                 multiplicative: Optional[np.ndarray] = None, additive: Optional[np.ndarray] = None, exposure: Any = 1.0,
                 window: int = 0) -> None:
        self.plan, self.index = plan, np.atleast_1d(np.asarray(index, np.int64))
        self.counts, self.multiplicative, self.additive = counts, multiplicative, additive
        self.exposure = np.broadcast_to(np.asarray(exposure, np.float64), self.index.shape).copy()
        self.window = window
        self._booked: Optional[np.ndarray] = None  # counts of each view in the books; None where they are those of the pixels

    def arrays(self) -> Dict[str, np.ndarray]:
        """The arrays of pixels that there are, by name."""
        return {name: getattr(self, name) for name in _ARRAYS if getattr(self, name) is not None}

    @property
    def angle_deg(self) -> np.ndarray:
        return self.plan.angle_deg[self.index]

    def __len__(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        return f"<{len(self)} views of {len(self.plan)}: {', '.join(self.arrays())}>"

    def __getitem__(self, which: Any) -> Views:
        """The views of a mask, of a slice or at an array of positions; every array alike."""
        if not isinstance(which, slice):
            which = np.atleast_1d(np.asarray(which))
            if which.dtype == bool and which.shape != (len(self),):
                raise IndexError(f"the mask has the shape {which.shape}, but there are {len(self)} views")
        chosen = Views(self.plan, self.index[which], None, exposure=self.exposure[which], window=self.window)
        for name, array in self.arrays().items():
            setattr(chosen, name, array[which])
        chosen._booked = None if self._booked is None else self._booked[which]
        return chosen

    def replace(self, **arrays: Any) -> Views:
        """The same views with other arrays in place of some, or besides; None removes one. In the books they keep the
        counts with which they came."""
        if unknown := sorted(set(arrays) - set(_ARRAYS) - {"exposure"}):
            raise TypeError(f"views have no {unknown[0]}: use {', '.join(_ARRAYS)} or exposure")
        changed = self[:]
        for name, array in arrays.items():
            setattr(changed, name, array)
        return changed
# SPDX-License-Identifier: Apache-2.0
