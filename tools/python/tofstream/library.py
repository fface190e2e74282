"""The C library beside this package, loaded when it is first needed: a gadget's script does without.

What the library warns of goes to the logger "tofstream" of Python's logging."""

import ctypes
import logging
import os
import pathlib
import threading

_API = 1
_c = ctypes


class _Grid(_c.Structure):
    _fields_ = [
        ("size", _c.c_size_t),
        ("voxels", _c.c_int32 * 3),
        ("voxel_mm", _c.c_float * 3),
        ("origin_mm", _c.c_float * 3),
        ("blob_radius_mm", _c.c_float),
        ("blob_alpha", _c.c_float),
    ]


class _Events(_c.Structure):
    _fields_ = [
        ("size", _c.c_size_t),
        ("count", _c.c_int64),
        ("scanner", _c.c_char_p),
        *((name, _c.c_void_p) for name in ("detector1", "detector2", "x1", "y1", "z1", "x2", "y2", "z2")),
        ("tof_mm", _c.c_void_p),
        ("tof_width_mm", _c.c_void_p),
        ("tof_sigma_mm", _c.c_float),
        ("tof_bin_mm", _c.c_float),
        ("multiplicative", _c.c_void_p),
        ("additive", _c.c_void_p),
    ]


VIEW_NUMBERS = ("angle_deg", "radius_mm", "start_s", "duration_s", "centre_u_mm", "centre_w_mm")


class _Views(_c.Structure):
    _fields_ = [
        ("size", _c.c_size_t),
        ("views", _c.c_int32),
        ("pixels", _c.c_int32 * 2),
        ("pixel_mm", _c.c_float * 2),
        *((name, _c.c_void_p) for name in VIEW_NUMBERS),
        ("window_count", _c.c_size_t),
        ("window_keV", _c.c_void_p),
    ]


class _ViewCounts(_c.Structure):
    _fields_ = [
        ("size", _c.c_size_t),
        ("plan", _c.POINTER(_Views)),
        ("count", _c.c_int32),
        *((name, _c.c_void_p) for name in ("numbers", "counts", "multiplicative", "additive", "exposure")),
        ("window", _c.c_int32),
    ]


class _Directions(_c.Structure):
    _fields_ = [
        ("size", _c.c_size_t),
        ("azimuths", _c.c_int32),
        ("tilts", _c.c_int32),
        ("acceptance_deg", _c.c_float),
        ("on_image", _c.c_int32),
    ]


class _Deposited(_c.Structure):
    _fields_ = [
        ("size", _c.c_size_t),
        *((name, _c.c_int64) for name in ("deposited", "beyond_acceptance", "outside", "no_line")),
    ]


class _Lines(_c.Structure):
    _fields_ = [("size", _c.c_size_t), *((name, _c.c_int64) for name in ("all", "drawn", "accepted"))]


class _Randoms(_c.Structure):
    _fields_ = [
        ("size", _c.c_size_t),
        ("scanner", _c.c_char_p),
        ("seconds", _c.c_double),
        ("delayeds", _c.POINTER(_Events)),
        ("rate_cps", _c.c_double),
        ("window_mm", _c.c_float),
        ("most_lines", _c.c_int64),
    ]


class _Array(_c.Structure):
    _fields_ = [("size", _c.c_size_t), ("name", _c.c_char_p), ("grid", _Grid), ("voxels", _c.c_void_p)]


class _Progress(_c.Structure):
    _fields_ = [
        ("size", _c.c_size_t),
        ("phase", _c.c_int32),
        ("seconds", _c.c_double),
        ("scan_seconds", _c.c_double),
        ("messages", _c.c_uint64),
        ("events", _c.c_uint64),
        ("update", _c.c_int64),
        ("updates", _c.c_int64),
        ("fraction", _c.c_double),
        ("text", _c.c_void_p),
    ]


PROGRESS_CALL = _c.CFUNCTYPE(None, _c.c_void_p, _c.POINTER(_Progress))


class _Setup(_c.Structure):
    _fields_ = [
        ("size", _c.c_size_t),
        ("pipeline", _c.c_char_p),
        ("settings", _c.POINTER(_c.c_char_p)),
        ("setting_count", _c.c_size_t),
        *((name, _c.c_char_p) for name in ("input", "folder", "feed", "output")),
        ("progress", PROGRESS_CALL),
        ("progress_user", _c.c_void_p),
        ("progress_every_s", _c.c_double),
    ]


class _ImageInfo(_c.Structure):
    _fields_ = [
        ("size", _c.c_size_t),
        ("grid", _Grid),
        ("voxels", _c.POINTER(_c.c_float)),
        ("update", _c.c_int64),
        ("iteration", _c.c_int32),
        ("is_last", _c.c_int32),
        ("events", _c.c_uint64),
        ("label", _c.c_char_p),
    ]


class _Tally(_c.Structure):
    _fields_ = [("size", _c.c_size_t), ("rejected", _c.c_int64)]


_p, _text, _i32, _i64, _size = _c.c_void_p, _c.c_char_p, _c.c_int32, _c.c_int64, _c.c_size_t
_SIGNATURES = {
    "tof_scanner_detectors": [_text, _p, _p],
    "tof_operator_of_lines": [_text, _text, _p, _p, _i32, _c.c_int, _p],
    "tof_operator_of_events": [_text, _text, _p, _p, _p, _size, _c.c_int, _p],
    "tof_operator_of_views": [_text, _text, _p, _p, _p, _size, _c.c_int, _p],
    "tof_operator_of_directions": [_text, _text, _p, _p, _c.c_int, _p],
    "tof_operator_part": [_p, _i32, _i32, _p],
    "tof_operator_indices": [_p, _p, _i64],
    "tof_operator_shape": [_p, _p, _p, _p, _p],
    "tof_forward": [_p, _p, _p, _p],
    "tof_adjoint": [_p, _p, _p, _p],
    "tof_forward_double": [_p, _p, _p],
    "tof_adjoint_double": [_p, _p, _p],
    "tof_plan": [_p, _p],
    "tof_em_step": [_p, _p, _p, _p, _p, _p, _p, _p],
    "tof_sensitivity": [_p, _p, _p, _p],
    "tof_deposit": [_p, _p, _i32, _p, _p, _p],
    "tof_direction_terms": [_p, _text, _p, _i64, _p, _p, _p],
    "tof_direction_randoms": [_p, _p, _p, _p],
    "tof_pipeline_start": [_p, _p],
    "tof_pipeline_room": [_p, _c.c_double, _p],
    "tof_pipeline_send_events": [_p, _p, _c.c_double, _c.c_double],
    "tof_pipeline_send_views": [_p, _p],
    "tof_pipeline_close_feed": [_p],
    "tof_pipeline_image": [_p, _c.c_double, _p],
    "tof_image_get": [_p, _p],
    "tof_pipeline_set": [_p, _text],
    "tof_pipeline_report": [_p, _p],
    "tof_pipeline_stop": [_p],
    "tof_pipeline_wait": [_p, _c.c_double, _p],
}
_ERRORS = {1: ValueError, 2: RuntimeError, 3: MemoryError, 4: OSError, 5: RuntimeError, 6: RuntimeError}

_lock = threading.Lock()
_loaded = None


@ctypes.CFUNCTYPE(None, _p, _i32, _text)
def _log(_user, level, line):
    logging.getLogger("tofstream").log(10 * level, "%s", line.decode(errors="replace"))


def _candidates():
    if named := os.environ.get("TOFSTREAM_LIBRARY"):
        yield named
        return
    package = pathlib.Path(__file__).resolve().parent
    for parent in [package, *list(package.parents)[:5]]:
        for folder in ("lib", "lib/x86_64-linux-gnu", "lib64", "build/release/lib"):
            yield parent / folder / "libtofstream.so.0"
    yield "libtofstream.so.0"


def program():
    """The path of the program tofstream of the installation that the library is of, or None."""
    for path in map(pathlib.Path, _candidates()):
        if path.exists():
            folders = [parent / "bin" / "tofstream" for parent in list(path.parents)[1:3]]
            return next((str(file) for file in folders if file.is_file()), None)
    return None


def library():
    """The loaded library. Raises ImportError that says where it was looked for."""
    global _loaded
    with _lock:
        if _loaded is None:
            _loaded = _load()
        return _loaded


def _load():
    tried = []
    for path in _candidates():
        if "/" in str(path) and not os.path.exists(path):
            continue
        try:
            found = ctypes.CDLL(str(path))
        except OSError as error:
            tried.append(str(error))
            continue
        return _checked(found, path)
    raise ImportError(
        "libtofstream.so.0 was not found beside this package or where the system looks: install tofstream, or name the "
        "file in TOFSTREAM_LIBRARY" + "".join(f"; {why}" for why in tried)
    )


def _checked(found, path):
    found.tof_api_version.restype = _i32
    if (version := found.tof_api_version()) != _API:
        raise ImportError(f"{path} has version {version} of the C interface, and this package wants {_API}: install one release")
    for name, arguments in _SIGNATURES.items():
        getattr(found, name).argtypes, getattr(found, name).restype = arguments, _c.c_int
    for name in ("tof_error", "tof_version", "tof_why_no_cuda", "tof_operator_report"):
        getattr(found, name).restype = _text
    found.tof_operator_report.argtypes = [_p]
    for name in ("tof_operator_drop", "tof_pipeline_drop", "tof_image_drop", "tof_free"):
        getattr(found, name).argtypes, getattr(found, name).restype = [_p], None
    found.tof_log(_log, None, b"warning")
    return found


def call(name, *arguments):
    """Calls a function of the library; what it says went wrong becomes an exception."""
    loaded = library()
    if status := getattr(loaded, name)(*arguments):
        raise _ERRORS.get(status, RuntimeError)(loaded.tof_error().decode(errors="replace"))


def struct(kind, **members):
    """A struct of the interface with its size and these members."""
    return kind(size=ctypes.sizeof(kind), **members)
# SPDX-License-Identifier: Apache-2.0
