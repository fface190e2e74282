"""Events and views as the structs of the C interface, which point to their arrays."""

import ctypes
import os

import numpy as np

from . import library
from .arrays import pointer
from .data import BESIDE, TYPES


def events_struct(events):
    """The struct of tof.Events. Raises TypeError for counts, and for arrays of another type, length or order."""
    arrays = {name: array for name, array in events.arrays().items() if name not in BESIDE}
    if "counts" in arrays:
        raise TypeError("events have counts, which are data: give them to em_step")
    given = {name: pointer(array, f"events.{name}", (len(events),), TYPES[name]) for name, array in arrays.items()}
    scanner = None if events.scanner is None else os.fspath(events.scanner).encode()
    return library.struct(library._Events, count=len(events), scanner=scanner, tof_sigma_mm=events.tof_sigma_mm or 0,
                          tof_bin_mm=events.tof_bin_mm or 0, **given)


def mu_arrays(mu, grid, parameters):
    """The arrays for a projector's parameter mu_map, which is added to `parameters`, and how many."""
    if mu is None:
        return None, 0
    parameters["mu_map"] = "memory:mu"
    return ctypes.byref(mu_struct(mu, grid)), 1


def mu_struct(mu, grid):
    """The struct of a map of attenuation on this grid. Raises TypeError for another shape, type or order."""
    return library.struct(library._Array, name=b"mu", grid=grid._struct(), voxels=pointer(mu, "mu", grid.shape))


def views_struct(views):
    """The struct of tof.Views, and what it points to."""
    plan, shape = views.plan, (len(views), *views.plan.size[::-1])
    numbers = {name: np.ascontiguousarray(getattr(plan, name), np.float64) for name in library.VIEW_NUMBERS}
    windows = np.ascontiguousarray(plan.windows_keV, np.float64)
    index = np.ascontiguousarray(views.index, np.int32)
    exposure = np.ascontiguousarray(views.exposure, np.float64)
    of_plan = library.struct(
        library._Views, views=len(plan), pixels=plan.size, pixel_mm=plan.pixel_mm, window_count=len(windows),
        window_keV=windows.ctypes.data, **{name: array.ctypes.data for name, array in numbers.items()})
    pixels = {name: pointer(array, f"views.{name}", shape) for name, array in views.arrays().items()}
    counts = library.struct(
        library._ViewCounts, plan=ctypes.pointer(of_plan), count=len(views), numbers=index.ctypes.data,
        exposure=exposure.ctypes.data, window=views.window, **pixels)
    return counts, (numbers, windows, index, exposure, of_plan)
# SPDX-License-Identifier: Apache-2.0
