"""Pictures of images: run by examples.cpp. Ends with 'all passed', or at the first check that fails."""

import io
import sys

import numpy as np
from checks import refused
from matplotlib.image import imread

import tofstream as tof

grid = tof.Grid((20, 16, 12), (4, 5, 6))
image = np.zeros(grid.shape, np.float32)
image[9, 4, 15] = 7  # x 22, y -17.5, z 21 mm: right, above and upwards in the slices through it
point = tuple(o + n * edge for o, n, edge in zip(grid.origin_mm, (15, 4, 9), grid.voxel_mm))


def black_parts(picture):
    """Which thirds of the drawing have black voxels: the frames and letters are thinner than a voxel."""
    gray = imread(io.BytesIO(picture))[..., :3].mean(axis=2)
    black = gray[:, : int(0.9 * gray.shape[1])] < 0.05
    solid = np.lib.stride_tricks.sliding_window_view(black, (5, 5)).all(axis=(2, 3))
    return [bool(part.any()) for part in np.array_split(solid, 3, axis=1)]


shown = tof.picture(image, grid, at_mm=point)
assert shown.startswith(b"\x89PNG") and shown._repr_png_() == bytes(shown)
assert black_parts(shown) == [True] * 3, black_parts(shown)
assert black_parts(tof.picture(image, grid)) == [False] * 3  # the point is not in the middle
assert tof.picture(tof.Image(image, grid.voxel_mm), at_mm=point) == shown  # an image knows its grid
assert tof.picture(image, grid, at_mm=point, largest=700) != shown
assert tof.picture(np.zeros_like(image), grid).startswith(b"\x89PNG")
refused(TypeError, "give its tof.Grid", tof.picture, image)
refused(ValueError, "image has the shape (12, 16), and must have (12, 16, 20)", tof.picture, image[..., 0], grid)
refused(ValueError, "lies outside the image", tof.picture, image, grid, at_mm=(0, 0, 300))
blobs = tof.Grid((4, 4, 4), (8, 8, 8), blob_radius_mm=12, blob_alpha=10)
refused(ValueError, "blobs", tof.picture, np.zeros(blobs.shape), blobs)
sys.modules["matplotlib.figure"] = None
refused(ModuleNotFoundError, "install python3-matplotlib", tof.picture, image, grid)
print("all passed")
# SPDX-License-Identifier: Apache-2.0
