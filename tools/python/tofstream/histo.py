"""Histo-images of DIRECT: their operator, and events laid down into them. Axes are [view, z, s, t] or [view, z, y, x]."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Dict, Optional, Sequence, Union

import numpy as np

from . import library
from .data import BESIDE, Events
from .library import call, struct
from .operators import Grid, Operator, _backend, _whole_numbers, _yaml
from .structs import events_struct, mu_struct


class HistoImages(Operator):
    """The operator of tof.direct: data are [view, z, s, t], t along the view, or [view, z, y, x] on the image's voxels.

    Points differ in how many of a scanner's lines see them, and in attenuation: `multiplicative` of em_step,
    sensitivity and osem has that, and multiplicative() makes it. Without it an image is not uniform where the activity
    is. Beside it, additive() makes the randoms.

    deposited    what became of the events of the last deposit(): how many counted, and why others did not
    lines        of the last multiplicative(): all of the scanner's, those drawn, and those of these in a view
    """

    deposited: Dict[str, int] = {}
    lines: Dict[str, int] = {}
    _grid: Grid

    def multiplicative(self, scanner: Union[str, os.PathLike[str]], *, mu: Any = None, mu_grid: Optional[Grid] = None,
                       most_lines: int = 50_000_000, like: Any = None) -> Any:
        """The terms m_v of this scanner, of shape out_shape: of each point the back projection of the lines that belong
        to its view, efficiency times attenuation each, as a run computes it. With them an image is in Bq/mL times the
        scan's seconds. In a new array, where `like` lies.

        scanner        of share/scanners, or a YAML file
        mu, mu_grid    attenuation in 1/cm [z, y, x], NumPy, and its grid (None: the image's)
        most_lines     more are sampled, about so many

        Computed on the CPU. Raises ValueError where a view has no line. What split() makes has none: take its
        `indices` of the whole's."""
        self._require_single("multiplicative")
        place = self._place_like(like)
        data = place.empty(self.out_shape)
        array = None if mu is None else ctypes.byref(mu_struct(mu, mu_grid or self._grid))
        lines = struct(library._Lines)
        with self._used():
            call("tof_direction_terms", self._handle, os.fspath(scanner).encode(), array, most_lines,
                 self._target(data, self.out_shape), ctypes.byref(lines), place.stream())
        self.lines = {name: getattr(lines, name) for name in ("all", "drawn", "accepted")}
        return data

    def additive(self, scanner: Union[str, os.PathLike[str]], seconds: float, *, delayeds: Optional[Events] = None,
                 rate_cps: Optional[float] = None, window_mm: Optional[float] = None, most_lines: int = 50_000_000,
                 like: Any = None) -> Any:
        """The terms b_v, of shape out_shape: the randoms that are expected at each point in these seconds of the scan,
        in counts. Those of a line are spread evenly over its coincidence window. In a new array, where `like` lies.

        scanner        of share/scanners, or a YAML file
        delayeds       the scan's delayed coincidences, with detector1 and detector2 in host memory: a factor for each
                       detector is fitted to them
        rate_cps       instead: randoms per second of all the scanner's lines together, shared out by efficiency
        window_mm      all ToF that a coincidence may have, from end to end; None: the scanner's
        most_lines     more are sampled, about so many

        Computed on the CPU. What split() makes has none: take its `indices` of the whole's."""
        self._require_single("additive")
        if delayeds is not None and not isinstance(delayeds, Events):
            raise TypeError(f"delayeds is a {type(delayeds).__name__}: give tof.Events(...)")
        place = self._place_like(like)
        data = place.empty(self.out_shape)
        given = struct(library._Randoms, scanner=os.fspath(scanner).encode(), seconds=seconds, rate_cps=rate_cps or 0,
                       window_mm=window_mm or 0, most_lines=most_lines)
        if delayeds is not None:
            given.delayeds = ctypes.pointer(events_struct(delayeds))
        with self._used():
            call("tof_direction_randoms", self._handle, ctypes.byref(given), self._target(data, self.out_shape),
                 place.stream())
        return data

    def deposit(self, events: Events, out: Any = None, *, nearest: bool = False) -> Any:
        """The histo-images of these events, each at its most likely point: shared out to the eight points around it, or
        whole to the nearest one. In a new array, where the events' arrays lie, or in `out`. Their resolution is taken to
        be the operator's tof_fwhm_ps. What split() makes has no deposit: some events have no view in a part. Raises
        ValueError for events without tof_mm."""
        self._require_single("deposit")
        if not isinstance(events, Events):
            raise TypeError(f"events is a {type(events).__name__}: give tof.Events(...)")
        arrays = [array for name, array in events.arrays().items() if name not in BESIDE]
        place = self._place_of(arrays[0], "events")
        data = place.empty(self.out_shape) if out is None else out
        tally = struct(library._Deposited)
        with self._used():
            call("tof_deposit", self._handle, ctypes.byref(events_struct(events)), int(nearest),
                 self._target(data, self.out_shape), ctypes.byref(tally), place.stream())
        names = ("deposited", "beyond_acceptance", "outside", "no_line")
        self.deposited = {name: getattr(tally, name) for name in names}
        return data


def histo_images(projector: str, grid: Grid, *, views: Sequence[int] = (40, 3), acceptance_deg: float = 10,
                 lattice: str = "view", device: str = "cpu", precision: str = "single",
                 **parameters: Any) -> HistoImages:
    """The projector of this name, with its parameters, for the histo-images of DIRECT; tof.direct is one of them.

    views              intervals of azimuth in [0, 180) degrees, and of the co-polar angle within the acceptance
    acceptance_deg     the most oblique lines
    lattice            'view': points along each view; 'image': the image's voxels
    precision          'double': by the definition in float64, slow, A and its transpose alone
    parameters         of the projector's gadget, by name; those that are None stay at their defaults. tof_fwhm_ps is
                       needed, since no events tell it; lor_fwhm_mm may be [(radius_mm, fwhm_mm), ...]
    """
    counts = _whole_numbers(views, "views")
    if len(counts) != 2:
        raise ValueError(f"views is {tuple(views)}: it is two numbers, of azimuths and of tilts")
    if lattice not in ("view", "image"):
        raise ValueError(f"lattice is {lattice!r}: it is 'view' or 'image'")
    width = parameters.get("lor_fwhm_mm")
    if width is not None and np.ndim(width) > 0:
        if parameters.get("lor_fwhm_at_mm") is not None:
            raise ValueError("lor_fwhm_mm has widths by radius, and lor_fwhm_at_mm too: give one of them")
        parameters["lor_fwhm_mm"], parameters["lor_fwhm_at_mm"] = None, [list(map(float, pair)) for pair in width]
    directions = struct(library._Directions, azimuths=counts[0], tilts=counts[1], acceptance_deg=acceptance_deg,
                        on_image=int(lattice == "image"))
    handle = ctypes.c_void_p()
    call("tof_operator_of_directions", projector.encode(), _yaml(parameters), ctypes.byref(grid._struct()),
         ctypes.byref(directions), _backend(device, precision), ctypes.byref(handle))
    made = HistoImages(handle)
    made._grid = grid
    return made
# SPDX-License-Identifier: Apache-2.0
