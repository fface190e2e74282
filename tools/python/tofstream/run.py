"""Whole pipelines, in this process."""

import ctypes
import json
import os

from . import library


def run(pipeline, out, set=None):  # noqa: A002 (as `tofstream run --set`)
    """Runs a pipeline (a name, or a YAML file) to its end; files go to the folder `out`. `set` has parameters by
    "gadget.parameter". Gives run.json; a run that fails is a RuntimeError, a wrong pipeline a ValueError."""
    settings = [f"{key}={value if isinstance(value, str) else json.dumps(value)}".encode() for key, value in (set or {}).items()]
    report = ctypes.c_void_p()
    try:
        library.call("tof_run", os.fspath(pipeline).encode(), (ctypes.c_char_p * len(settings))(*settings), len(settings),
                     os.fspath(out).encode(), ctypes.byref(report))
        return json.loads(ctypes.string_at(report.value).decode())
    finally:
        if report.value:
            library.library().tof_free(report)
# SPDX-License-Identifier: Apache-2.0
