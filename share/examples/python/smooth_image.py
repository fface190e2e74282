"""Filters each image by a binomial kernel (1 2 1)/4 along every axis, which keeps its sum away from the edges."""

import numpy as np
import tofstream
from tofstream import gadget


@gadget
class Smooth:
    def __init__(self, passes=1):
        self.passes = passes

    def process(self, image):
        smooth = tofstream.empty_like(image)  # in shared memory: nothing is copied on the way back
        np.copyto(smooth, image.voxels)
        for axis in (0, 1, 2) * self.passes:
            lines = np.moveaxis(smooth, axis, 0)
            if len(lines) > 2:
                lines[1:-1] = (lines[:-2] + 2 * lines[1:-1] + lines[2:]) / 4
        return smooth
