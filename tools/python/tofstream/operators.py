"""Operators: a projector with its data, as a linear map from images to data. Axes are [z, y, x] and [view, w, u]."""

from __future__ import annotations

import ctypes
import json
import os
import threading
import weakref
from typing import Any, Dict, List, Optional, Sequence, Tuple, TypeVar, Union

import numpy as np

from . import adapters, library
from .arrays import HOST, place_of, pointer, target
from .data import BESIDE, Events, Lors
from .library import call, struct
from .structs import events_struct, mu_arrays

ArrayT = TypeVar("ArrayT")  # of NumPy, CuPy or PyTorch: what comes out is of the library of what went in
_BACKENDS = {"cpu": 0, "cuda": 1}
_REFERENCE = 3
_forks = 0  # how often this process is a child's child: an operator belongs to the process that made it


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


def _drop(handle: Any, forks: int) -> None:
    """Drops a handle in the process that made it: in its child CUDA cannot be called, and memory goes with the child."""
    if forks == _forks:
        library.library().tof_operator_drop(handle)


class Grid:
    """An image's voxels: `size` and `voxel_mm` along (x, y, z). `origin_mm` is the centre of the first voxel; without it
    the middle of the image is the middle of the scanner. Arrays of an image have the shape (z, y, x).

    With `blob_radius_mm` and `blob_alpha` its values are those of blobs, for tof.blobs: two lattices of `size`, moved by
    minus and plus a quarter of an edge along each axis, so that arrays have the shape (2 z, y, x), first the even
    lattice, then the odd one. Raises ValueError for numbers that are not three, or voxels that are no whole number."""

    def __init__(self, size: Sequence[int], voxel_mm: Sequence[float], origin_mm: Optional[Sequence[float]] = None, *,
                 blob_radius_mm: float = 0, blob_alpha: float = 0) -> None:
        self.size, self.voxel_mm = _whole_numbers(size, "size"), tuple(float(edge) for edge in voxel_mm)
        if len(self.size) != 3 or len(self.voxel_mm) != 3:
            raise ValueError("a grid has three numbers of voxels and three edges: (x, y, z)")
        if origin_mm is None:
            origin_mm = [-0.5 * (n - 1) * edge for n, edge in zip(self.size, self.voxel_mm)]
        self.origin_mm = tuple(float(centre) for centre in origin_mm)
        self.blob_radius_mm, self.blob_alpha = float(blob_radius_mm), float(blob_alpha)

    @property
    def shape(self) -> Tuple[int, int, int]:
        """Of an image's array."""
        x, y, z = self.size
        return (2 * z if self.blob_radius_mm > 0 else z), y, x

    def __repr__(self) -> str:
        blobs = f", blob_radius_mm={self.blob_radius_mm}, blob_alpha={self.blob_alpha}" if self.blob_radius_mm else ""
        return f"Grid(size={self.size}, voxel_mm={self.voxel_mm}, origin_mm={self.origin_mm}{blobs})"

    def _struct(self) -> Any:
        return struct(library._Grid, voxels=self.size, voxel_mm=self.voxel_mm, origin_mm=self.origin_mm,
                      blob_radius_mm=self.blob_radius_mm, blob_alpha=self.blob_alpha)


class Operator:
    """A linear map A from an image to data. Calls take and give float32 arrays of NumPy, or on a GPU of CuPy or PyTorch;
    results are of the library of what was given, or go into `out`.

    in_shape, out_shape    of the image (z, y, x), and of the data: (views, w, u), (views, z, s, t), or (events,)
    dtype                  of arrays: numpy.float32; float64 where the operator was made with precision="double", which
                           has A and its transpose alone
    indices                which data of the whole these are, where split() made the operator
    report                 what the projector chose itself, by name
    """

    _cil_labels: Optional[Tuple[str, ...]] = ("angle", "vertical", "horizontal")  # of data with three axes

    def __init__(self, handle: Any, keeps: Tuple[Any, ...] = ()) -> None:
        self._handle, self._keeps, self._forks = handle, keeps, _forks
        self._lock = threading.Lock()
        self._user = _OneUser(self._lock)
        self._drop = weakref.finalize(self, _drop, handle, _forks)
        image, data = (ctypes.c_int64 * 3)(), (ctypes.c_int64 * 4)()
        axes, backend = ctypes.c_int32(), ctypes.c_int()
        call("tof_operator_shape", handle, image, data, ctypes.byref(axes), ctypes.byref(backend))
        self.in_shape: Tuple[int, ...] = tuple(image)
        self.out_shape: Tuple[int, ...] = tuple(data)[: axes.value]
        self.device = "cuda" if backend.value == 1 else "cpu"
        self.dtype: Any = np.float64 if backend.value == _REFERENCE else np.float32
        self._ones: Any = None

    @property
    def report(self) -> Dict[str, str]:
        self._require_alive()
        lines = library.library().tof_operator_report(self._handle).decode().splitlines()
        return dict(line.split(": ", 1) for line in lines)

    @property
    def indices(self) -> np.ndarray:
        self._require_alive()
        found = np.empty(self.out_shape[0], np.int64)
        call("tof_operator_indices", self._handle, found.ctypes.data, len(found))
        return found

    def __repr__(self) -> str:
        return f"<operator from images of {self.in_shape} to data of {self.out_shape} on {self.device}>"

    def __call__(self, image: ArrayT, out: Optional[ArrayT] = None) -> ArrayT:
        """A image, of shape in_shape; the result has out_shape. Raises TypeError for arrays that do not fit."""
        return self._map("tof_forward", image, "image", self.in_shape, out, self.out_shape)

    forward = direct = __call__

    def adjoint(self, data: ArrayT, out: Optional[ArrayT] = None) -> ArrayT:
        """The transpose of A, applied to data of shape out_shape; the result has in_shape."""
        return self._map("tof_adjoint", data, "data", self.out_shape, out, self.in_shape)

    backward = adjoint

    @property
    def H(self) -> Adjoint:  # noqa: N802 (the name that users of other packages type)
        """The adjoint as an operator: A.H(y), A.H @ y."""
        return Adjoint(self)

    T = H

    def __matmul__(self, image: ArrayT) -> ArrayT:
        return self(image)

    def plan(self) -> Operator:
        """Prepares what forward, adjoint and em_step of these data would prepare at each call; gives the operator."""
        with self._used():
            call("tof_plan", self._handle, None)
        return self

    def em_step(self, image: ArrayT, counts: Optional[ArrayT] = None, *, multiplicative: Optional[ArrayT] = None,
                additive: Optional[ArrayT] = None, out: Optional[ArrayT] = None) -> ArrayT:
        """A^T(m y / (m A x + b)) in one pass: the sum by which EM multiplies. Of events y is 1, `counts` is left out, and
        `additive` is divided by m. Raises ValueError for counts, m or b that are negative or not finite."""
        return self._em_step(image, counts, multiplicative, additive, out)[0]

    def sensitivity(self, multiplicative: Any = None, *, like: Any = None) -> Any:
        """A^T m of views or of a sinogram (m: 1 where it is left out), in a new array: where `multiplicative` or `like`
        lies. A list of events gives the sensitivity of all lines that their scanner records, in events per second of
        1 Bq/mL, as a run computes it; it is kept in the user's cache folder."""
        self._require_single("sensitivity")
        place = self._place_like(like) if multiplicative is None else self._place_of(multiplicative, "multiplicative")
        weights = None if multiplicative is None else self._data(multiplicative, "multiplicative")
        image = place.empty(self.in_shape)
        with self._used():
            call("tof_sensitivity", self._handle, weights, pointer(image, "image"), place.stream())
        return image

    def gradient(self, image: ArrayT, counts: Optional[ArrayT] = None, *, multiplicative: Optional[ArrayT] = None,
                 additive: Optional[ArrayT] = None) -> ArrayT:
        """Of the log-likelihood of the counts at this image, in one pass: em_step less the sensitivity. Of views and
        sinograms."""
        step: Any = self.em_step(image, counts, multiplicative=multiplicative, additive=additive)
        if multiplicative is not None:
            return step - self.sensitivity(multiplicative)
        if self._ones is None or type(self._ones) is not type(image):
            self._ones = self.sensitivity(like=image)  # A^T 1, the same at each call
        return step - self._ones

    def split(self, parts: int) -> List[Operator]:
        """So many operators of parts of the data: views that each cover the circle, or events one after the other."""
        self._require_alive()
        made = []
        for part in range(parts):
            handle = ctypes.c_void_p()
            call("tof_operator_part", self._handle, part, parts, ctypes.byref(handle))
            made.append(Operator(handle, self._keeps))
        return made

    def norm(self, iterations: int = 20, *, like: Any = None) -> float:
        """The largest singular value, by so many power iterations; an estimate from below."""
        place = self._place_like(like)
        image, value = place.full(self.in_shape, 1, self.dtype), 0.0
        for _ in range(iterations):
            image = self.adjoint(self(image))
            value = float((image * image).sum()) ** 0.5
            if value == 0:
                return 0.0
            image = image / value
        return value**0.5

    def as_scipy(self) -> Any:
        """A scipy.sparse.linalg.LinearOperator on flat vectors, for lsqr, svds and their like: see adapters.py."""
        return adapters.scipy_operator(self)

    def as_torch(self) -> Any:
        """A torch.nn.Module on tensors of shape in_shape that autograd goes through: see adapters.py."""
        return adapters.torch_layer(self)

    def as_cil(self, image_geometry: Any, acquisition_geometry: Any) -> Any:
        """CIL's LinearOperator between these geometries, whose shapes are in_shape and out_shape: see adapters.py."""
        return adapters.cil_operator(self, image_geometry, acquisition_geometry)

    def _em_step(self, image: Any, counts: Any, multiplicative: Any, additive: Any, out: Any) -> Tuple[Any, int]:
        self._require_single("em_step")
        place = self._place_of(image, "image")
        result = place.empty(self.in_shape) if out is None else out
        optional = {"counts": counts, "multiplicative": multiplicative, "additive": additive}
        given = [None if a is None else self._data(a, name) for name, a in optional.items()]
        tally = struct(library._Tally)
        with self._used():
            call("tof_em_step", self._handle, pointer(image, "image", self.in_shape), *given,
                 self._target(result, self.in_shape), ctypes.byref(tally), place.stream())
        return result, tally.rejected

    def _map(self, function: str, given: Any, name: str, shape: Any, out: Any, out_shape: Any) -> Any:
        place = self._place_of(given, name)
        address = pointer(given, name, shape, self.dtype)
        result = place.empty(out_shape, self.dtype) if out is None else out
        with self._used():
            if self.dtype is np.float32:
                call(function, self._handle, address, self._target(result, out_shape), place.stream())
            else:
                call(f"{function}_double", self._handle, address, self._target(result, out_shape))
        return result

    def _place_of(self, array: Any, name: str) -> Any:
        if type(array) is np.ndarray and self.device == "cpu":
            return HOST
        place = place_of(array, name)
        if place.on_gpu != (self.device == "cuda"):
            where = "on a GPU" if place.on_gpu else "in host memory"
            raise TypeError(f"{name} lies {where}, and the operator works on {self.device}")
        return place

    def _place_like(self, like: Any) -> Any:
        """Of a new array."""
        if like is None and self.device == "cuda":
            raise TypeError("like is missing: the operator works on cuda, so name an array there, whose kind is taken")
        return HOST if like is None else self._place_of(like, "like")

    def _data(self, array: Any, name: str) -> int:
        """The pointer of an array of the data's shape."""
        self._place_of(array, name)
        return pointer(array, name, self.out_shape)

    def _target(self, array: Any, shape: Any) -> int:
        self._place_of(array, "out")
        return target(array, "out", shape, self.dtype)

    def _require_single(self, name: str) -> None:
        if self.dtype is not np.float32:
            raise TypeError(f"{name}: an operator in double precision has only A and its transpose")

    def _require_alive(self) -> None:
        if self._forks != _forks:
            raise RuntimeError("this operator was made before the process forked: make it anew in the child")
        if not self._drop.alive:
            raise RuntimeError("this operator was dropped, as all are when the process ends: make it anew")

    def _used(self) -> _OneUser:
        self._require_alive()
        return self._user


class Sinogram(Operator):
    """The operator of tof.Lors: data have the shape of the lines, and an axis of their ToF bins."""

    _cil_labels = None  # axes are the caller's

    def __init__(self, projector: str, grid: Grid, lors: Lors, device: Optional[str], precision: str,
                 parameters: Dict[str, Any]) -> None:
        self._made_by = projector, grid, lors, device, precision, parameters
        lines, handle = lors.events(), ctypes.c_void_p()
        call("tof_operator_of_lines", projector.encode(), _yaml(parameters), ctypes.byref(grid._struct()),
             ctypes.byref(events_struct(lines)), lors.bins,
             _backend(_device_of(lines.arrays(), device), precision), ctypes.byref(handle))
        super().__init__(handle, tuple(lines.arrays().values()))
        self.out_shape = (*lors.shape, *self.out_shape[1:])
        self._first = np.arange(len(lors))

    @property
    def indices(self) -> np.ndarray:
        return self._first

    def split(self, parts: int) -> List[Operator]:
        """So many operators of interleaved parts of the first axis: `indices` says which."""
        projector, grid, lors, device, precision, parameters = self._made_by
        if not 1 <= parts <= len(lors):
            raise ValueError(f"parts is {parts}: it must be in [1, {len(lors)}], as the lines have along their first axis")
        made: List[Operator] = []
        for part in range(parts):
            operator = Sinogram(projector, grid, lors[part::parts], device, precision, parameters)
            operator._first = self._first[part::parts]
            made.append(operator)
        return made


class _OneUser:
    def __init__(self, lock):
        self._lock = lock

    def __enter__(self):
        if not self._lock.acquire(blocking=False):
            raise RuntimeError("another thread is using this operator: give each thread its own")

    def __exit__(self, *_):
        self._lock.release()


class Adjoint:
    """The transpose of an operator, as an operator."""

    def __init__(self, of: Operator) -> None:
        self._of, self.in_shape, self.out_shape, self.device = of, of.out_shape, of.in_shape, of.device
        self.dtype = of.dtype

    def __call__(self, data: ArrayT, out: Optional[ArrayT] = None) -> ArrayT:
        return self._of.adjoint(data, out)

    __matmul__ = forward = direct = __call__

    def adjoint(self, image: ArrayT, out: Optional[ArrayT] = None) -> ArrayT:
        return self._of.forward(image, out)

    backward = adjoint

    @property
    def H(self) -> Operator:  # noqa: N802
        return self._of

    T = H

    def norm(self, iterations: int = 20, *, like: Any = None) -> float:
        """That of the operator."""
        return self._of.norm(iterations, like=like)

    def as_scipy(self) -> Any:
        """As the operator's."""
        return adapters.scipy_operator(self)

    def as_torch(self) -> Any:
        """As the operator's."""
        return adapters.torch_layer(self)


def _whole_numbers(numbers: Sequence[Any], name: str) -> Tuple[int, ...]:
    whole = tuple(int(n) for n in numbers)
    if whole != tuple(numbers):
        raise ValueError(f"{name} is {tuple(numbers)}: it must be whole numbers")
    return whole


def _mu_arrays(mu: Any, grid: Grid, parameters: Dict[str, Any]) -> Any:
    if mu is not None and parameters.get("mu_map") is not None:
        raise ValueError("mu and mu_map are both given: the attenuation comes from one of them")
    return mu_arrays(mu, grid, parameters)


def _backend(device, precision):
    if device not in _BACKENDS:
        raise ValueError(f"device is {device!r}: it is 'cpu' or 'cuda'")
    if precision not in ("single", "double"):
        raise ValueError(f"precision is {precision!r}: it is 'single' or 'double'")
    if precision == "double" and device != "cpu":
        raise ValueError("precision is 'double', and an operator in double precision works on the CPU")
    return _REFERENCE if precision == "double" else _BACKENDS[device]


def _device_of(arrays, device):
    if device is not None:
        return device
    places = [place_of(array, name) for name, array in arrays.items()]
    return "cuda" if any(place.on_gpu for place in places) else "cpu"


def _yaml(parameters):
    return json.dumps({name: value for name, value in parameters.items() if value is not None}).encode()


def camera(projector: str, grid: Grid, *, angles_deg: Any, radius_mm: Any, detector: Sequence[int],
           pixel_mm: Sequence[float], mu: Any = None, mu_grid: Optional[Grid] = None, device: str = "cpu",
           precision: str = "single", **parameters: Any) -> Operator:
    """The projector of this name, with its parameters, for a gamma camera's views; tof.spect is one of them.

    angles_deg         of each view: 0 at the patient's back, 90 at the patient's left
    radius_mm          from the axis to the collimator's face: one for all, or one a view
    detector, pixel_mm pixels of a view and their edges along (u, w); data are [view, w, u]
    mu                 attenuation in 1/cm [z, y, x], on `mu_grid` (the image's where it is left out); NumPy
    precision          'double': by the definition in float64, slow, A and its transpose alone
    parameters         of the projector's gadget, by name; those that are None stay at their defaults

    All views count alike; where their times differ, `multiplicative` of em_step and sensitivity has them.
    """
    angles = np.ascontiguousarray(np.atleast_1d(angles_deg), np.float64)
    radii = np.asarray(radius_mm, np.float64)
    if angles.ndim != 1 or radii.shape not in ((), (1,), angles.shape):
        raise ValueError(f"radius_mm has the shape {radii.shape}: give one number, or one for each of {len(angles)} angles")
    radii = np.ascontiguousarray(np.broadcast_to(radii, angles.shape))
    pixels = _whole_numbers(detector, "detector")
    if len(pixels) != 2 or len(pixel_mm) != 2:
        raise ValueError("a detector has two numbers of pixels and two edges: (u, w)")
    views = struct(library._Views, views=len(angles), pixels=pixels, pixel_mm=tuple(map(float, pixel_mm)),
                   angle_deg=angles.ctypes.data, radius_mm=radii.ctypes.data)
    arrays, count = _mu_arrays(mu, mu_grid or grid, parameters)
    handle = ctypes.c_void_p()
    call("tof_operator_of_views", projector.encode(), _yaml(parameters), ctypes.byref(grid._struct()),
         ctypes.byref(views), arrays, count, _backend(device, precision), ctypes.byref(handle))
    return Operator(handle)


def list_mode(projector: str, grid: Grid, events: Union[Events, Lors], *, mu: Any = None, mu_grid: Optional[Grid] = None,
              device: Optional[str] = None, precision: str = "single", **parameters: Any) -> Operator:
    """The list-mode projector of this name, with its parameters, for these events, or for the tof.Lors of a sinogram;
    tof.joseph and others are it by name. The operator works where the events' arrays lie. `mu` [z, y, x] in 1/cm, on
    `mu_grid` (the image's where it is left out), attenuates the sensitivity of a list; NumPy. `precision` "double": by
    its definition in float64, slow, A and its transpose alone."""
    if isinstance(events, Lors):
        if mu is not None:
            raise ValueError("lines of a sinogram take no mu: multiply their data")
        return Sinogram(projector, grid, events, device, precision, parameters)
    if not isinstance(events, Events):
        raise TypeError(f"events is a {type(events).__name__}: give tof.Events(...), or tof.Lors(...) of a sinogram")
    if unknown := sorted({"multiplicative", "additive", "counts"} & events.arrays().keys()):
        raise TypeError(f"events have {unknown[0]}: give it to em_step, not to the operator")
    arrays = {name: array for name, array in events.arrays().items() if name not in BESIDE}
    given, count = _mu_arrays(mu, mu_grid or grid, parameters)
    handle = ctypes.c_void_p()
    call("tof_operator_of_events", projector.encode(), _yaml(parameters), ctypes.byref(grid._struct()),
         ctypes.byref(events_struct(events)), given, count, _backend(_device_of(arrays, device), precision),
         ctypes.byref(handle))
    return Operator(handle, tuple(arrays.values()))


def ratio(numerator: ArrayT, denominator: Any) -> ArrayT:
    """numerator / denominator, and 0 where that would divide by 0."""
    safe = denominator + (denominator == 0)
    return (numerator / safe) * (denominator != 0)


def osem(operators: Sequence[Operator], counts: Optional[ArrayT] = None, *, multiplicative: Optional[ArrayT] = None,
         additive: Optional[ArrayT] = None, updates: int, image: ArrayT) -> ArrayT:
    """So many updates of OSEM over the operators that split() made, subset after subset as far apart as can be:
    x <- x / s_k A_k^T(m y / (m A_k x + b)), s_k = A_k^T m. Gives the new image; voxels that a subset does not see stay
    as they are.

    Of events `counts` and `multiplicative` are left out, `additive` is divided by m, and a part has its share of their
    scanner's sensitivity: values are then those of the sensitivity's image times the scan's duration, such as Bq s/mL.
    """
    order = _far_apart(len(operators))
    total = sum(operator.out_shape[0] for operator in operators)
    parts: Dict[int, Any] = {}
    for update in range(updates):
        k = order[update % len(operators)]
        if k not in parts:
            where = operators[k].indices
            y, m, background = (None if array is None else _rows(array, where)
                                for array in (counts, multiplicative, additive))
            share = 1 if counts is not None else len(where) / total
            parts[k] = y, m, background, operators[k].sensitivity(m, like=image) * share
        y, m, background, sensitivity = parts[k]
        factor: Any = ratio(operators[k].em_step(image, y, multiplicative=m, additive=background), sensitivity)
        updated = image * (factor * (sensitivity > 0) + (sensitivity <= 0))
        image = updated if str(updated.dtype).endswith("float32") else updated.astype(np.float32)
    return image


def _rows(array, where):
    rows = array[where if isinstance(array, np.ndarray) else where.tolist()]
    return np.ascontiguousarray(rows) if isinstance(rows, np.ndarray) else rows


def _far_apart(count):
    """0 4 2 6 1 3 5 7: each number once, the next one as far from the earlier ones as can be."""
    order = [0] if count else []
    while len(order) < count:
        left = [k for k in range(count) if k not in order]
        distance = lambda k: min(min((k - o) % count, (o - k) % count) for o in order)  # noqa: E731
        order.append(max(left, key=lambda k: (distance(k), -k)))
    return order
# SPDX-License-Identifier: Apache-2.0
