"""Between tofstream's headers and what a gadget takes and returns, with every mistake said in one line."""

from types import SimpleNamespace
from typing import Any, Dict, Optional

import numpy as np

from . import memory
from .data import TYPES, Events, Image
from .recorder import Recorder
from .views import Plan, Views


class BadOutput(Exception):
    """A gadget returned what cannot go on."""


class Info:
    """What is known of a message: sequence, origin (the source's number of it), first_event, end_event, ingress_s (on
    time.monotonic()'s clock) and, of events, start_s and duration_s. Of a source: path and scanner, its parameters (""
    and None where they are not given)."""

    path: str = ""
    scanner: Optional[Recorder] = None

    def __init__(self, known, payload):
        for name, value in known.items():
            setattr(self, name, value)
        if isinstance(payload, Events):
            self.start_s, self.duration_s = payload.start_s, payload.duration_s
        self._rejected, self._reported = {}, {}

    def reject(self, events, reason):
        """Books so many of the events that the gadget does not return as rejected for this reason."""
        if int(events) < 0:
            raise ValueError(f"{events} events cannot be rejected")
        self._rejected[str(reason)] = self._rejected.get(str(reason), 0) + int(events)

    def report(self, key, value):
        """Puts a number, a text or a list of numbers into run.json, under the gadget's figures."""
        value = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
        self._reported[str(key)] = list(value) if isinstance(value, tuple) else value

    def take(self):
        """What was said since the last time."""
        said = {"rejected": self._rejected, "reported": self._reported}
        self._rejected, self._reported = {}, {}
        return said


def recorder_of(header, arena, lease):
    """The scanner of a source of events, as a request tells of it."""
    positions, pairs, tof = header["positions"], header["pairs"], header.get("tof")
    table = arena.lent(positions["offset"], 4 * positions["count"], np.float32, lease).reshape(-1, 4)[:, :3]
    counted = arena.lent(pairs["offset"], pairs["count"], np.uint32, lease)
    return Recorder(header["name"], table, header["modules"], header["size_mm"], counted,
                    (tof["sigma_mm"], tof["bin_mm"], tof["window_mm"]) if tof else None)


def from_header(kind, header, arena, lease):
    """The events, views or image that a request lends."""
    return {"events": _events, "views": _views, "image": _image}[kind](header, arena, lease)


def _events(header, arena, lease):
    count = header["count"]
    arrays: Dict[str, Any] = {name: arena.lent(at, count, TYPES[name], lease) for name, at in header["arrays"].items()}
    if count == 0:
        arrays = {name: np.empty(0, TYPES[name]) for name in ("detector1", "detector2", "tof_mm")}
    numbers: Dict[str, Any] = {name: header[name] for name in ("start_s", "duration_s", "tof_sigma_mm", "tof_bin_mm")}
    events = Events(**numbers, **arrays)
    events.scanner = header.get("scanner")
    if positions := header.get("positions"):
        table = arena.lent(positions["offset"], 4 * positions["count"], np.float32, lease)
        events.detector_positions = table.reshape(-1, 4)[:, :3]
    return events


_plan: Optional[Plan] = None  # of the views that were lent last


def _views(header, arena, lease):
    global _plan
    if plan := header.get("plan"):
        _plan = Plan._from_header(plan)
    assert _plan is not None  # the first views bring theirs
    shape = (len(header["index"]), *_plan.size[::-1])
    views = Views(_plan, header["index"], None, exposure=header["exposure"], window=header["window"])
    for name, at in header["arrays"].items():
        setattr(views, name, arena.lent(at, int(np.prod(shape)), np.float32, lease).reshape(shape))
    views._booked = np.asarray(header["booked"], np.uint64)
    return views


def _image(header, arena, lease):
    shape = header["size"][::-1]
    voxels = arena.lent(header["arrays"]["voxels"], int(np.prod(shape)), np.float32, lease).reshape(shape)
    image = Image(voxels, header["voxel_mm"], header["origin_mm"])
    image.step = SimpleNamespace(**header["step"])
    return image


def to_header(kind, value, given, arena):
    """What a gadget of this kind returned, as tofstream is told of it. `given` is the input, None where there is none."""
    if kind == "nothing":
        raise BadOutput(f"returned {_what(value)}, but gives nothing: return None, or say `gives: events`, `views` or `image`")
    if value is given:
        return {"same": True}
    if kind == "events":
        return _give_events(value, arena)
    if kind == "views":
        return _give_views(value, given, arena)
    return _give_image(value, given, arena)


def _give_events(events, arena):
    if not isinstance(events, Events):
        raise BadOutput(f"returned {_what(events)}, not events: return events[mask], events.replace(...) or Events(...)")
    arrays = events.arrays()
    for name, array in arrays.items():
        _check(name, array, TYPES[name], (len(events),))
    ends = [name for name in ("x1", "y1", "z1", "x2", "y2", "z2") if name in arrays]
    if not ({"detector1", "detector2"} <= arrays.keys() or len(ends) == 6):
        raise BadOutput("returned events without lines: they need detector1 and detector2, or x1 y1 z1 x2 y2 z2")
    header = {"count": len(events), "start_s": float(events.start_s), "duration_s": float(events.duration_s)}
    if events.tof_sigma_mm is not None:
        header |= {"tof_sigma_mm": float(events.tof_sigma_mm), "tof_bin_mm": float(events.tof_bin_mm)}
    return header | {"arrays": _place(arrays, arena) if len(events) else {}}


def _give_views(value, given, arena):
    if isinstance(value, np.ndarray) and isinstance(given, Views):
        value = given.replace(counts=value)
    if not isinstance(value, Views):
        raise BadOutput(f"returned {_what(value)}, not views: return counts like views.counts, views[mask], "
                        "views.replace(...) or Views(...)")
    if value.counts is None:
        raise BadOutput("returned views without counts")
    arrays = value.arrays()
    for name, array in arrays.items():
        _check(name, array, np.dtype(np.float32), (len(value), *value.plan.size[::-1]))
    exposure = np.broadcast_to(np.asarray(value.exposure, np.float64), (len(value),))
    header = {"window": int(value.window), "index": value.index.tolist(), "exposure": exposure.tolist()}
    if value._booked is not None:
        header["booked"] = value._booked.tolist()
    if value.plan is not _plan:
        header["plan"] = value.plan._to_header()
    return header | {"arrays": _place(arrays, arena) if len(value) else {}}


def _give_image(value, given, arena):
    if isinstance(value, np.ndarray) and isinstance(given, Image):
        _check("image", value, np.dtype(np.float32), given.voxels.shape)
        value = given.replace(value)
    if not isinstance(value, Image):
        raise BadOutput(f"returned {_what(value)}, not an image: return voxels like image.voxels, or Image(...)")
    _check("image", value.voxels, np.dtype(np.float32), None)
    return {
        "size": value.voxels.shape[::-1],
        "voxel_mm": [float(edge) for edge in value.voxel_mm],
        "origin_mm": [float(centre) for centre in value.origin_mm],
        "arrays": _place({"voxels": value.voxels}, arena),
    }


def _check(name, array, dtype, shape):
    if not isinstance(array, np.ndarray):
        raise BadOutput(f"returned {_what(array)} as {name}, not a NumPy array")
    if array.dtype != dtype:
        raise BadOutput(f"returned {name} of type {array.dtype}, not {dtype}: use .astype(np.{dtype})")
    if shape is not None and array.shape != shape:
        raise BadOutput(f"returned {name} of shape {array.shape}, not {shape}")
    if shape is None and array.ndim != 3:
        raise BadOutput(f"returned {name} with {array.ndim} axes, not 3")


def _place(arrays, arena):
    """Where the arrays lie in shared memory; those that lie elsewhere are copied into one new block."""
    places = {name: arena.give(array) for name, array in arrays.items()}
    outside = [name for name, offset in places.items() if offset is None]
    if outside:
        block = arena.allocate(sum(memory.aligned(arrays[name].nbytes) for name in outside))
        at = 0
        for name in outside:
            copy = np.ndarray(arrays[name].shape, arrays[name].dtype, block, at)
            np.copyto(copy, arrays[name])
            places[name] = arena.give(copy)
            at += memory.aligned(copy.nbytes)
    return places


def _what(value):
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} and shape {value.shape}"
    return "None" if value is None else f"a {type(value).__name__}"
# SPDX-License-Identifier: Apache-2.0
