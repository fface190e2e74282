"""tofstream in Python: its projectors as operators, its pipelines, and gadgets for them.

    import tofstream as tof

    A = tof.spect(grid, angles_deg=..., radius_mm=..., detector=..., pixel_mm=...)
    y, x = A(x), A.adjoint(y)

A gadget:

    from tofstream import gadget

    @gadget
    def gate(events, info):
        return events[events.tof_mm < 100]

A pipeline runs it by `{use: python, script: gate.py, from: ...}`; `tofstream docs python-gadgets` says all there is.
"""

try:
    import numpy  # noqa: F401  (only to say what is missing)
except ModuleNotFoundError:
    raise ImportError("tofstream needs NumPy: install python3-numpy (Debian) or numpy (pip)") from None

from .data import Events, Image, Lors
from .declare import gadget
from .histo import HistoImages, histo_images
from .memory import empty, empty_like
from .operators import Adjoint, Grid, Operator, camera, list_mode, osem, ratio
from .picture import picture
from .progress import Progress
from .projectors import blobs, direct, joseph, spect, strips, tor
from .run import Run, RunImage, run
from .scanners import detector_positions
from .views import Plan, Views

__version__ = "0.1.0"
__all__ = [
    "Adjoint",
    "Events",
    "Grid",
    "HistoImages",
    "Image",
    "Lors",
    "Operator",
    "Plan",
    "Progress",
    "Run",
    "RunImage",
    "Views",
    "blobs",
    "camera",
    "detector_positions",
    "direct",
    "empty",
    "empty_like",
    "gadget",
    "histo_images",
    "joseph",
    "list_mode",
    "osem",
    "picture",
    "ratio",
    "run",
    "spect",
    "strips",
    "tor",
]
# SPDX-License-Identifier: Apache-2.0
