"""An image as a picture: three slices through one point, as PNG. It needs matplotlib."""

from __future__ import annotations

import io
from typing import Any, Optional, Tuple

import numpy as np

# An axis of the array for each picture: across, upwards, and the one that is looked along.
_SLICES = (("transverse", "x", "y"), ("coronal", "x", "z"), ("sagittal", "y", "z"))


class Picture(bytes):
    """The bytes of a PNG, which a notebook draws where a cell ends with it."""

    def _repr_png_(self) -> bytes:
        return bytes(self)


def picture(image: Any, grid: Any = None, *, at_mm: Optional[Tuple[float, float, float]] = None,
            largest: Optional[float] = None) -> Picture:
    """Transverse, coronal and sagittal slices through the point `at_mm` (x, y, z; the grid's middle where it is left out)
    as PNG, white for 0 or less and black from `largest` on (the image's maximum where it is left out).

    image    array [z, y, x] of NumPy, or what NumPy makes one of, such as a tensor on the CPU; or a tof.Image
    grid     the tof.Grid of its voxels; a tof.Image has its own

    Raises ModuleNotFoundError without matplotlib, ValueError for an image of another shape than the grid's, for blobs and
    for a point outside."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise ModuleNotFoundError("tof.picture needs matplotlib: install python3-matplotlib (Debian) or matplotlib (pip)") from None
    voxels, grid = _voxels_and_grid(image, grid)
    index = _index_of(grid, voxels.shape, at_mm)
    largest = float(voxels.max()) if largest is None else largest
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    drawn: Any = None
    for axes, (name, across, up) in zip(figure.subplots(1, 3), _SLICES):
        drawn = axes.imshow(_slice(voxels, index, across, up), cmap="gray_r", vmin=0, vmax=largest or 1, origin="lower",
                            extent=_edges_mm(grid, voxels.shape, across) + _edges_mm(grid, voxels.shape, up))
        axes.set(title=name, xlabel=f"{across} / mm", ylabel=f"{up} / mm")
        if up == "y":  # seen from the feet, the patient's back below
            axes.invert_yaxis()
    figure.colorbar(drawn, ax=figure.axes, shrink=0.8)
    written = io.BytesIO()
    figure.savefig(written, format="png", dpi=80)
    return Picture(written.getvalue())


def _voxels_and_grid(image: Any, grid: Any) -> Tuple[np.ndarray, Any]:
    grid = image if grid is None else grid
    if not hasattr(grid, "origin_mm"):
        raise TypeError("grid is left out, and the image is an array: give its tof.Grid too")
    if getattr(grid, "blob_radius_mm", 0) > 0:
        raise ValueError("the grid is one of blobs, whose values are not those of voxels")
    voxels = np.asarray(getattr(image, "voxels", image))
    wanted = tuple(grid.shape) if hasattr(grid, "shape") else voxels.shape
    if voxels.ndim != 3 or voxels.shape != wanted:
        raise ValueError(f"image has the shape {voxels.shape}, and must have {wanted}")
    return voxels, grid


def _index_of(grid: Any, shape: Tuple[int, ...], at_mm: Optional[Tuple[float, float, float]]) -> Tuple[int, ...]:
    """The voxel [z, y, x] in which the point lies."""
    if at_mm is None:
        return tuple(n // 2 for n in shape)
    found = [round((at - first) / edge) for at, first, edge in zip(at_mm, grid.origin_mm, grid.voxel_mm)][::-1]
    if not all(0 <= i < n for i, n in zip(found, shape)):
        raise ValueError(f"at_mm is {tuple(at_mm)}, which lies outside the image")
    return tuple(found)


def _slice(voxels: np.ndarray, index: Tuple[int, ...], across: str, up: str) -> np.ndarray:
    """[up, across]: the order of the array's axes, z before y before x."""
    chosen: Any = tuple(slice(None) if axis in (across, up) else index[i] for i, axis in enumerate("zyx"))
    return voxels[chosen]


def _edges_mm(grid: Any, shape: Tuple[int, ...], axis: str) -> Tuple[float, float]:
    k = "xyz".index(axis)
    first, edge, count = grid.origin_mm[k], grid.voxel_mm[k], shape[2 - k]
    return first - edge / 2, first + (count - 0.5) * edge
# SPDX-License-Identifier: Apache-2.0
