"""Operators: a projector with its data, as a linear map from images to data. Axes are [z, y, x] and [view, w, u]."""

import ctypes
import json
import os
import threading
import weakref

import numpy as np

from . import library
from .arrays import HOST, place_of, pointer, target
from .data import Events, Lors
from .library import call, struct
from .structs import events_struct, mu_arrays

_BACKENDS = {"cpu": 0, "cuda": 1}


class Grid:
    """An image's voxels: `size` and `voxel_mm` along (x, y, z). `origin_mm` is the centre of the first voxel; without it
    the middle of the image is the middle of the scanner. Arrays of an image have the shape (z, y, x)."""

    def __init__(self, size, voxel_mm, origin_mm=None):
        self.size, self.voxel_mm = tuple(int(n) for n in size), tuple(float(edge) for edge in voxel_mm)
        if len(self.size) != 3 or len(self.voxel_mm) != 3:
            raise ValueError("a grid has three numbers of voxels and three edges: (x, y, z)")
        if origin_mm is None:
            origin_mm = [-0.5 * (n - 1) * edge for n, edge in zip(self.size, self.voxel_mm)]
        self.origin_mm = tuple(float(centre) for centre in origin_mm)

    @property
    def shape(self):
        return self.size[::-1]

    def __repr__(self):
        return f"Grid(size={self.size}, voxel_mm={self.voxel_mm}, origin_mm={self.origin_mm})"

    def _struct(self):
        return struct(library._Grid, voxels=self.size, voxel_mm=self.voxel_mm, origin_mm=self.origin_mm)


class Operator:
    """A linear map A from an image to data. Calls take and give float32 arrays of NumPy, or on a GPU of CuPy or PyTorch;
    results are of the library of what was given, or go into `out`.

    in_shape, out_shape    of the image (z, y, x), and of the data: (views, w, u), or (events,)
    indices                which data of the whole these are, where split() made the operator
    report                 what the projector chose itself, by name
    """

    def __init__(self, handle, keeps=()):
        self._handle, self._keeps, self._process = handle, keeps, os.getpid()
        self._lock = threading.Lock()
        self._drop = weakref.finalize(self, library.library().tof_operator_drop, handle)
        image, data = (ctypes.c_int64 * 3)(), (ctypes.c_int64 * 3)()
        axes, backend = ctypes.c_int32(), ctypes.c_int()
        call("tof_operator_shape", handle, image, data, ctypes.byref(axes), ctypes.byref(backend))
        self.in_shape, self.out_shape = tuple(image), tuple(data)[: axes.value]
        self.device = "cuda" if backend.value == 1 else "cpu"
        self._ones = None

    @property
    def report(self):
        lines = library.library().tof_operator_report(self._handle).decode().splitlines()
        return dict(line.split(": ", 1) for line in lines)

    @property
    def indices(self):
        found = np.empty(self.out_shape[0], np.int64)
        call("tof_operator_indices", self._handle, found.ctypes.data, len(found))
        return found

    def __repr__(self):
        return f"<operator from images of {self.in_shape} to data of {self.out_shape} on {self.device}>"

    def __call__(self, image, out=None):
        """A image."""
        return self._map("tof_forward", image, "image", self.in_shape, out, self.out_shape)

    forward = direct = __call__

    def adjoint(self, data, out=None):
        """The transpose of A, applied to data."""
        return self._map("tof_adjoint", data, "data", self.out_shape, out, self.in_shape)

    backward = adjoint

    @property
    def H(self):  # noqa: N802 (the name that users of other packages type)
        """The adjoint as an operator: A.H(y), A.H @ y."""
        return Adjoint(self)

    T = H

    def __matmul__(self, image):
        return self(image)

    def plan(self):
        """Prepares what forward, adjoint and em_step of these data would prepare at each call; gives the operator."""
        with self._used():
            call("tof_plan", self._handle, None)
        return self

    def em_step(self, image, counts=None, *, multiplicative=None, additive=None, out=None):
        """A^T(m y / (m A x + b)) in one pass: the sum by which EM multiplies. Of events y is 1, `counts` is left out, and
        `additive` is divided by m."""
        return self._em_step(image, counts, multiplicative, additive, out)[0]

    def sensitivity(self, multiplicative=None, *, like=None):
        """A^T m of views or of a sinogram (m: 1 where it is left out), in a new array: where `multiplicative` or `like`
        lies. Of events that of all lines that their scanner records, in events per second of 1 Bq/mL, which a run
        computes likewise; it is kept in the user's cache folder."""
        sample = multiplicative if multiplicative is not None else like
        place = HOST if sample is None else place_of(sample, "like")
        weights = None if multiplicative is None else pointer(multiplicative, "multiplicative", self.out_shape)
        image = place.empty(self.in_shape)
        with self._used():
            call("tof_sensitivity", self._handle, weights, pointer(image, "image"), place.stream())
        return image

    def gradient(self, image, counts=None, *, multiplicative=None, additive=None):
        """Of the log-likelihood of the counts at this image, in one pass: em_step less the sensitivity. Of views and
        sinograms."""
        step = self.em_step(image, counts, multiplicative=multiplicative, additive=additive)
        if multiplicative is not None:
            return step - self.sensitivity(multiplicative)
        if self._ones is None or type(self._ones) is not type(image):
            self._ones = self.sensitivity(like=image)  # A^T 1, the same at each call
        return step - self._ones

    def split(self, parts):
        """So many operators of parts of the data: views that each cover the circle, or events one after the other."""
        made = []
        for part in range(parts):
            handle = ctypes.c_void_p()
            call("tof_operator_part", self._handle, part, parts, ctypes.byref(handle))
            made.append(Operator(handle, self._keeps))
        return made

    def norm(self, iterations=20, *, like=None):
        """The largest singular value, by so many power iterations; an estimate from below."""
        place = HOST if like is None else place_of(like, "like")
        image, value = place.full(self.in_shape, 1), 0.0
        for _ in range(iterations):
            image = self.adjoint(self(image))
            value = float((image * image).sum()) ** 0.5
            if value == 0:
                return 0.0
            image = image / value
        return value**0.5

    def as_scipy(self):
        """A scipy.sparse.linalg.LinearOperator on flat vectors, for lsqr and its like."""
        from scipy.sparse.linalg import LinearOperator

        def flat(apply, shape):
            return lambda x: apply(np.ascontiguousarray(x, np.float32).reshape(shape)).ravel()

        shape = (int(np.prod(self.out_shape)), int(np.prod(self.in_shape)))
        return LinearOperator(
            shape, matvec=flat(self, self.in_shape), rmatvec=flat(self.adjoint, self.out_shape), dtype=np.float32
        )

    def as_torch(self):
        """A function of a PyTorch tensor that autograd can go through."""
        import torch

        class Forward(torch.autograd.Function):
            @staticmethod
            def forward(context, image):
                return self(image.detach().contiguous())

            @staticmethod
            def backward(context, gradient):
                return self.adjoint(gradient.contiguous())

        return Forward.apply

    def _em_step(self, image, counts, multiplicative, additive, out):
        place = place_of(image, "image")
        result = place.empty(self.in_shape) if out is None else out
        optional = {"counts": counts, "multiplicative": multiplicative, "additive": additive}
        given = [None if a is None else pointer(a, name, self.out_shape) for name, a in optional.items()]
        tally = struct(library._Tally)
        with self._used():
            call("tof_em_step", self._handle, pointer(image, "image", self.in_shape), *given,
                 target(result, "out", self.in_shape), ctypes.byref(tally), place.stream())
        return result, tally.rejected

    def _map(self, function, given, name, shape, out, out_shape):
        place = place_of(given, name)
        address = pointer(given, name, shape)
        result = place.empty(out_shape) if out is None else out
        with self._used():
            call(function, self._handle, address, target(result, "out", out_shape), place.stream())
        return result

    def _used(self):
        if os.getpid() != self._process:
            raise RuntimeError("this operator was made before the process forked: make it anew in the child")
        return _OneUser(self._lock)


class Sinogram(Operator):
    """The operator of tof.Lors: data have the shape of the lines, and an axis of their ToF bins."""

    def __init__(self, projector, grid, lors, device, parameters):
        self._made_by = projector, grid, lors, device, parameters
        lines, handle = lors.events(), ctypes.c_void_p()
        call("tof_operator_of_lines", projector.encode(), _yaml(parameters), ctypes.byref(grid._struct()),
             ctypes.byref(events_struct(lines)), lors.bins, _backend(_device_of(lines.arrays(), device)),
             ctypes.byref(handle))
        super().__init__(handle, tuple(lines.arrays().values()))
        self.out_shape = (*lors.shape, *self.out_shape[1:])
        self._first = np.arange(len(lors))

    @property
    def indices(self):
        return self._first

    def split(self, parts):
        """So many operators of interleaved parts of the first axis: `indices` says which."""
        projector, grid, lors, device, parameters = self._made_by
        if not 1 <= parts <= len(lors):
            raise ValueError(f"parts is {parts}: it must be in [1, {len(lors)}], as the lines have along their first axis")
        made = []
        for part in range(parts):
            made.append(Sinogram(projector, grid, lors[part::parts], device, parameters))
            made[-1]._first = self._first[part::parts]
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

    def __init__(self, of):
        self._of, self.in_shape, self.out_shape = of, of.out_shape, of.in_shape

    def __call__(self, data, out=None):
        return self._of.adjoint(data, out)

    __matmul__ = __call__

    @property
    def H(self):  # noqa: N802
        return self._of

    T = H


def _backend(device):
    if device not in _BACKENDS:
        raise ValueError(f"device is {device!r}: it is 'cpu' or 'cuda'")
    return _BACKENDS[device]


def _device_of(arrays, device):
    if device is not None:
        return device
    places = [place_of(array, name) for name, array in arrays.items()]
    return "cuda" if any(place.on_gpu for place in places) else "cpu"


def _yaml(parameters):
    return json.dumps({name: value for name, value in parameters.items() if value is not None}).encode()


def spect(grid, *, angles_deg, radius_mm, detector, pixel_mm, psf=None, mu=None, mu_grid=None, device="cpu",
          **parameters):
    """A gamma camera's views by the rotation projector.

    angles_deg         of each view: 0 at the patient's back, 90 at the patient's left
    radius_mm          from the axis to the collimator's face: one for all, or one a view
    detector, pixel_mm pixels of a view and their edges along (u, w); data are [view, w, u]
    psf                dict(slope=..., sigma0_mm=...) and what else rotation_projector's psf has; None: no point spread
    mu                 attenuation in 1/cm [z, y, x], on `mu_grid` (the image's where it is left out); NumPy
    parameters         of rotation_projector: psf_form, rotation, support, scanner, cps_per_MBq, ...

    All views count alike; where their times differ, `multiplicative` of em_step and sensitivity has them.
    """
    angles = np.atleast_1d(np.asarray(angles_deg, np.float64))
    radii = np.ascontiguousarray(np.broadcast_to(np.asarray(radius_mm, np.float64), angles.shape))
    angles = np.ascontiguousarray(angles)
    views = struct(library._Views, views=len(angles), pixels=tuple(map(int, detector)), pixel_mm=tuple(map(float, pixel_mm)),
                   angle_deg=angles.ctypes.data, radius_mm=radii.ctypes.data)
    arrays, count = mu_arrays(mu, mu_grid or grid, parameters)
    handle = ctypes.c_void_p()
    call("tof_operator_of_views", b"rotation_projector", _yaml({"psf": psf, **parameters}), ctypes.byref(grid._struct()),
         ctypes.byref(views), arrays, count, _backend(device), ctypes.byref(handle))
    return Operator(handle)


def list_mode(projector, grid, events, *, mu=None, mu_grid=None, device=None, **parameters):
    """The projector of this name, with its parameters, for these events, or for the tof.Lors of a sinogram; joseph, tor
    and strips are it by name. The operator works where the events' arrays lie. `mu` [z, y, x] in 1/cm, on `mu_grid` (the image's where it is left
    out), attenuates the sensitivity; NumPy."""
    if isinstance(events, Lors):
        return Sinogram(projector, grid, events, device, parameters)
    if not isinstance(events, Events):
        raise TypeError(f"events is a {type(events).__name__}: give tof.Events(...), or tof.Lors(...) of a sinogram")
    if unknown := sorted({"multiplicative", "additive"} & events.arrays().keys()):
        raise TypeError(f"events have {unknown[0]}: give it to em_step, not to the operator")
    arrays = {name: array for name, array in events.arrays().items() if name != "arrival"}
    given, count = mu_arrays(mu, mu_grid or grid, parameters)
    handle = ctypes.c_void_p()
    call("tof_operator_of_events", projector.encode(), _yaml(parameters), ctypes.byref(grid._struct()),
         ctypes.byref(events_struct(events)), given, count, _backend(_device_of(arrays, device)), ctypes.byref(handle))
    return Operator(handle, tuple(arrays.values()))


def joseph(grid, events, **parameters):
    """Line integrals by Joseph's method, with time of flight where the events have it: joseph_projector."""
    return list_mode("joseph_projector", grid, events, **parameters)


def tor(grid, events, **parameters):
    """Tubes of response: tor_projector, such as tube_width_voxels=3."""
    return list_mode("tor_projector", grid, events, **parameters)


def strips(grid, events, **parameters):
    """Two strips of a J-PET: strip_projector."""
    return list_mode("strip_projector", grid, events, **parameters)


def ratio(numerator, denominator):
    """numerator / denominator, and 0 where that would divide by 0."""
    safe = denominator + (denominator == 0)
    return (numerator / safe) * (denominator != 0)


def osem(operators, counts=None, *, additive=None, updates, image):
    """So many updates of OSEM over the operators that split() made, subset after subset as far apart as can be:
    x <- x / s_k A_k^T(y / (A_k x + b)). Gives the new image; voxels that a subset does not see stay as they are.

    Of events `counts` is left out, `additive` is divided by m, and a part has its share of their scanner's sensitivity:
    values are then those of the sensitivity's image times the scan's duration, such as Bq s/mL."""
    order = _far_apart(len(operators))
    total = sum(operator.out_shape[0] for operator in operators)
    parts = {}
    for update in range(updates):
        k = order[update % len(operators)]
        if k not in parts:
            where = operators[k].indices
            y, background = (None if array is None else _rows(array, where) for array in (counts, additive))
            share = 1 if counts is not None else len(where) / total
            parts[k] = y, background, operators[k].sensitivity(like=image) * share
        y, background, sensitivity = parts[k]
        factor = ratio(operators[k].em_step(image, y, additive=background), sensitivity)
        image = image * (factor * (sensitivity > 0) + (sensitivity <= 0))
        image = image if str(image.dtype).endswith("float32") else image.astype(np.float32)
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
