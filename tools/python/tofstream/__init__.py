"""Gadgets for tofstream in Python.

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

from .data import Events, Image
from .declare import gadget
from .memory import empty, empty_like
from .views import Plan, Views

__version__ = "0.1.0"
__all__ = ["Events", "Image", "Plan", "Views", "empty", "empty_like", "gadget"]
# SPDX-License-Identifier: Apache-2.0
