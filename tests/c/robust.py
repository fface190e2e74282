"""What a user's program may do to operators by mistake: run by examples.cpp. Each is one clear error, and the process lives.
Ends with 'all passed', or at the first check that fails."""

import gc
import os
import signal
import threading
import time

import numpy as np
from checks import refused

import tofstream as tof

grid = tof.Grid((4, 4, 4), (8, 8, 8))
tiny = tof.Grid((2, 2, 2), (8, 8, 8))
ends = np.array([[-60, 0, 0], [0, -60, 0]], np.float32), np.array([[60, 0, 0], [0, 60, 0]], np.float32)
events = tof.Events.from_lors(*ends)


def turn(on=grid):
    return tof.spect(on, angles_deg=[0, 90], radius_mm=50, detector=(4, 4), pixel_mm=(8, 8),
                     psf=dict(slope=0.02, sigma0_mm=2))


def resident_mib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def operators_leave_nothing(count, make):
    """So many operators are made, now and then used, and dropped, and memory is as after the first of them."""
    def some(times):
        for number in range(times):
            op = make()
            if number % 10 == 0:
                op(np.ones(op.in_shape, np.float32))

    some(count // 10)  # what a process allocates once
    gc.collect()
    before = resident_mib()
    some(count - count // 10)
    gc.collect()
    grown = resident_mib() - before
    assert grown < 4, f"{count} operators left {grown:.1f} MiB"


def many_operators():
    operators_leave_nothing(100_000, lambda: tof.joseph(tiny, events))
    operators_leave_nothing(1_000, turn)
    whole = turn()
    operators_leave_nothing(1_000, lambda: whole.split(2)[1])


def wrong_strides_and_types():
    A = turn()
    x = np.ones(A.in_shape, np.float32)
    refused(TypeError, "image is not C-contiguous", A, x[::-1])
    refused(TypeError, "image is not C-contiguous", A, np.ones((4, 4, 8), np.float32)[:, :, ::2])
    refused(TypeError, "image is not C-contiguous", A, np.broadcast_to(np.float32(1), A.in_shape))
    refused(TypeError, "image has the type >f4, and must be float32", A, x.astype(">f4"))
    refused(TypeError, "image has the type object", A, x.astype(object))
    refused(TypeError, "image has the shape (), and must have (4, 4, 4)", A, np.ones((), np.float32))
    refused(TypeError, "image is a NoneType", A, None)
    refused(TypeError, "out has the shape", A, x, out=np.empty((1, 4, 4), np.float32))
    refused(TypeError, "out is a list", A, x, out=[1])
    refused(TypeError, "additive has the shape (3,), and must have (2,)", tof.joseph(grid, events).em_step, x,
            additive=np.ones(3, np.float32))
    square = tof.joseph(tof.Grid((1, 1, 2), (8, 8, 8)), events)  # an image of as many numbers as there are data
    refused(ValueError, "image and data are one array", square, (both := np.ones((2, 1, 1), np.float32)),
            out=both.reshape(2))


class Lent:
    """An array of a library that is not known here, by DLPack alone."""

    def __init__(self, array, device=1):
        self._array, self._device, self.shape, self.dtype = array, device, array.shape, array.dtype

    def __len__(self):
        return len(self._array)

    def __dlpack__(self, **_others):
        return self._array.__dlpack__()

    def __dlpack_device__(self):
        return self._device, 0


def other_libraries_by_dlpack():
    A = turn()
    x = np.random.default_rng(1).random(A.in_shape, np.float32)
    found = A(Lent(x))
    assert type(found) is np.ndarray and np.array_equal(found, A(x))
    J = tof.joseph(grid, tof.Events(**{name: Lent(array) for name, array in events.arrays().items()}))
    assert np.array_equal(J(x), tof.joseph(grid, events)(x))
    refused(TypeError, "image has the type float64", A, Lent(x.astype(np.float64)))
    refused(TypeError, "image is not C-contiguous", A, Lent(x.T))
    refused(TypeError, "image is a Lent on a device", A, Lent(x, device=2))
    refused(TypeError, "out is read-only", A, x, out=Lent(np.empty(A.out_shape, np.float32)))


def torch_tensors():
    try:
        import torch
    except ModuleNotFoundError:
        return
    A = turn()
    x = torch.rand(A.in_shape)
    found, out = A(x), torch.empty(A.out_shape)
    assert isinstance(found, torch.Tensor) and np.array_equal(found.numpy(), A(x.numpy()))
    assert A(x, out=out) is out and torch.equal(out, found)
    assert isinstance(A.sensitivity(like=x), torch.Tensor) and abs(A.norm(like=x) / A.norm() - 1) < 1e-5
    refused(TypeError, "image is not contiguous: give image.contiguous()", A, x.permute(2, 1, 0))
    refused(TypeError, "image has the type float16", A, x.half())
    refused(TypeError, "image lies on the device meta", A, torch.empty(A.in_shape, device="meta"))
    refused(TypeError, "image requires a gradient", A, x.clone().requires_grad_())
    with torch.no_grad():
        assert torch.equal(A(x.clone().requires_grad_()), found)


def other_device():
    A = turn()
    class OnGpu:  # what an array of CuPy shows
        __cuda_array_interface__ = {}
        shape, dtype = A.in_shape, np.dtype(np.float32)
        flags = type("Flags", (), {"c_contiguous": True})
        data = type("Memory", (), {"ptr": 4096})
    refused(TypeError, "image lies on a GPU, and the operator works on cpu", A, OnGpu())


def dropped_handles():
    A = turn()
    A._drop()  # as at the end of the process, before other code that runs there
    refused(RuntimeError, "this operator was dropped", A, np.ones(A.in_shape, np.float32))
    refused(RuntimeError, "this operator was dropped", A.split, 2)
    refused(RuntimeError, "this operator was dropped", lambda: A.report)
    refused(RuntimeError, "this operator was dropped", lambda: A.indices)


def forked_children():
    A = turn()
    x = np.ones(A.in_shape, np.float32)
    A(x)
    def in_child(check):
        child = os.fork()
        if child == 0:
            try:
                check()
                os._exit(0)
            except BaseException as error:
                print(f"in the child: {error!r}", flush=True)
                os._exit(1)
        for _ in range(600):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return status
            time.sleep(0.05)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise AssertionError("the child hangs")

    assert in_child(lambda: refused(RuntimeError, "made before the process forked", A, x)) == 0
    assert in_child(lambda: refused(RuntimeError, "made before the process forked", A.split, 2)) == 0
    assert in_child(A._drop) == 0  # as at a child's ordinary end
    assert in_child(lambda: turn()(x)) == 0


def two_threads():
    """While a call lasts, another thread is refused; the first one ends as if nothing had been."""
    A = big()
    x = np.ones(A.in_shape, np.float32)
    expected, said = A(x), []

    def other():
        while not A._lock.locked():
            time.sleep(0.0001)
        try:
            A(x)
        except RuntimeError as error:
            said.append(str(error))

    thread = threading.Thread(target=other)
    thread.start()
    assert np.array_equal(A(x), expected)
    thread.join()
    assert said == ["another thread is using this operator: give each thread its own"], said


def big():
    return tof.spect(tof.Grid((96, 96, 96), (4, 4, 4)), angles_deg=6 * np.arange(60), radius_mm=250, detector=(96, 96),
                     pixel_mm=(4, 4), psf=dict(slope=0.02, sigma0_mm=2))


def interrupts():
    """Ctrl-C in a long call: KeyboardInterrupt when the call is over, and the operator works on."""
    A = big()
    x = np.ones(A.in_shape, np.float32)
    began = time.monotonic()
    expected = A(x)
    lasts = time.monotonic() - began
    threading.Timer(0.3 * lasts, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        for _ in range(3):
            A(x)
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("the interrupt was lost")
    assert np.array_equal(A(x), expected)


def wrong_counts():
    A = turn()
    x = np.ones(A.in_shape, np.float32)
    for value in (np.nan, np.inf, -1):
        bad = A(x)
        bad[1, 2, 3] = value
        said = f"[1, 2, 3] is {value:g}: it must be finite and at least 0"
        refused(ValueError, "counts" + said, A.em_step, x, bad)
        refused(ValueError, "counts" + said, A.gradient, x, bad)
        refused(ValueError, "additive" + said, A.em_step, x, A(x), additive=bad)
        refused(ValueError, "multiplicative" + said, A.sensitivity, bad)
        refused(ValueError, "counts", tof.osem, A.split(2), bad, updates=2, image=x)
        refused(ValueError, f"additive[1] is {value:g}", tof.joseph(grid, events).em_step, x,
                additive=np.array([1, value], np.float32))


def another_release():
    """A library of another version of the interface is refused when it is loaded."""
    library = tof.operators.library
    older = type("Older", (), {"tof_api_version": staticmethod(lambda: 7)})
    older.tof_api_version.restype = None
    refused(ImportError, "has version 7 of the C interface, and this package wants 1: install one release",
            library._checked, older, "libtofstream.so.0")


def wrong_geometry():
    def with_(**changed):
        return tof.spect(**{**dict(grid=grid, angles_deg=[0, 90], radius_mm=50, detector=(4, 4), pixel_mm=(8, 8)), **changed})

    refused(ValueError, "size is (4.5, 4, 4): it must be whole numbers", tof.Grid, (4.5, 4, 4), (8, 8, 8))
    refused(ValueError, "two numbers of pixels and two edges", with_, detector=(4, 4, 4))
    refused(ValueError, "radius_mm has the shape (3,)", with_, radius_mm=[50, 50, 50])
    refused(ValueError, "angle_deg cannot be nan", with_, angles_deg=[0, np.nan])
    refused(ValueError, "mu and mu_map are both given", with_, mu=np.zeros(grid.shape, np.float32), mu_map="mu.nii")
    refused(ValueError, "did you mean 'edges'?", tof.joseph, grid, events, edge="full")
    refused(ValueError, "did you mean 'joseph_projector'?", tof.list_mode, "joseph", grid, events)
    refused(ValueError, "image.basis: blobs", tof.blobs, grid, events)
    refused(ValueError, "got one of blobs", tof.joseph, tof.Grid((4, 4, 4), (8, 8, 8), blob_radius_mm=12, blob_alpha=10), events)
    refused(ValueError, "blobs need a cubic lattice", tof.blobs,
            tof.Grid((4, 4, 4), (8, 8, 9), blob_radius_mm=12, blob_alpha=10), events)
    refused(MemoryError, "use a smaller image", tof.blobs,
            tof.Grid((4000, 4000, 4000), (1, 1, 1), blob_radius_mm=2, blob_alpha=10), events)


for check in (many_operators, wrong_strides_and_types, other_libraries_by_dlpack, torch_tensors, other_device, wrong_counts,
              another_release, wrong_geometry, dropped_handles, forked_children, two_threads, interrupts):
    began = time.monotonic()
    check()
    print(f"{check.__name__}: {time.monotonic() - began:.1f} s", flush=True)
print("all passed")
# SPDX-License-Identifier: Apache-2.0
