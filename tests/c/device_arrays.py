"""Arrays of CuPy or PyTorch on a GPU, where they lie: run by examples.cpp with the library's name. Ends with 'all passed',
with 'skipped: no NAME' where the library or a GPU is missing, or at the first check that fails."""

import ctypes
import gc
import sys

import numpy as np
from checks import refused

import tofstream as tof

grid = tof.Grid((24, 20, 16), (8, 9, 10))
random = np.random.default_rng(1)


class CuPy:
    def __init__(self):
        import cupy
        self.module, self.array = cupy, cupy.ndarray

    def usable(self):
        return self.module.cuda.runtime.getDeviceCount() > 0

    def on_gpu(self, array):
        return self.module.asarray(array)

    def on_host(self, array):
        return self.module.asnumpy(array)

    def address(self, array):
        return array.data.ptr

    def synchronize(self):
        self.module.cuda.runtime.deviceSynchronize()

    def stream(self):
        return self.module.cuda.Stream(non_blocking=True)


class Torch:
    def __init__(self):
        import torch
        self.module, self.array = torch, torch.Tensor

    def usable(self):
        return self.module.cuda.is_available()

    def on_gpu(self, array):
        return self.module.from_numpy(np.ascontiguousarray(array)).cuda()

    def on_host(self, array):
        return array.cpu().numpy()

    def address(self, array):
        return array.data_ptr()

    def synchronize(self):
        self.module.cuda.synchronize()

    def stream(self):
        return self.module.cuda.stream(self.module.cuda.Stream())


def listed(count, on):
    """Lines across the image with time of flight, each array where `on` puts it."""
    angles = random.uniform(0, 2 * np.pi, (2, count))
    ends = [np.stack([200 * np.cos(a), 200 * np.sin(a), random.uniform(-60, 60, count)], 1).astype(np.float32) for a in angles]
    arrays = {f"{axis}{end + 1}": ends[end][:, k].copy() for end in range(2) for k, axis in enumerate("xyz")}
    arrays["tof_mm"] = random.uniform(-60, 60, count).astype(np.float32)
    return tof.Events(tof_sigma_mm=30.0, tof_bin_mm=20.0, **{name: on(array) for name, array in arrays.items()})


def pairs(library):
    """The same operator on a GPU, of arrays that lie there, and on the CPU."""
    mu = np.full(grid.shape, 0.1, np.float32)
    camera = dict(angles_deg=30 * np.arange(12), radius_mm=140, detector=(26, 17), pixel_mm=(7, 8),
                  psf=dict(slope=0.02, sigma0_mm=2))
    for more in ({}, dict(mu=mu)):
        yield tof.spect(grid, device="cuda", **camera, **more), tof.spect(grid, device="cpu", **camera, **more)
    directions = dict(views=(6, 2), acceptance_deg=20, tof_fwhm_ps=300, lor_fwhm_mm=13)
    yield tof.direct(grid, device="cuda", **directions), tof.direct(grid, **directions)
    here = listed(3000, np.asarray)
    there = here.replace(**{name: library.on_gpu(array) for name, array in here.arrays().items()})
    yield tof.joseph(grid, there), tof.joseph(grid, here)
    yield tof.joseph(grid, there).plan(), tof.joseph(grid, here)
    yield tof.tor(grid, there, tube_width_voxels=3, fwhm_mm=8), tof.tor(grid, here, tube_width_voxels=3, fwhm_mm=8)
    yield (tof.tor(grid, there, tube_width_voxels=3, fwhm_mm=8).plan(),
           tof.tor(grid, here, tube_width_voxels=3, fwhm_mm=8))


def near(found, expected):
    return np.abs(found - expected).max() < 2e-5 * np.abs(expected).max()


def results_are_those_of_the_cpu(library):
    for gpu, cpu in pairs(library):
        assert gpu.device == "cuda" and cpu.device == "cpu"
        x, y = random.random(cpu.in_shape, np.float32), random.random(cpu.out_shape, np.float32)
        on_gpu = gpu(library.on_gpu(x))
        assert type(on_gpu) is library.array and tuple(on_gpu.shape) == cpu.out_shape
        assert near(library.on_host(on_gpu), cpu(x)), gpu
        assert near(library.on_host(gpu.adjoint(library.on_gpu(y))), cpu.adjoint(y)), gpu
        counts = {} if len(cpu.out_shape) == 1 else {"counts": y}
        there = {name: library.on_gpu(array) for name, array in counts.items()}
        assert near(library.on_host(gpu.em_step(library.on_gpu(x), **there)), cpu.em_step(x, **counts)), gpu


def events_are_deposited_where_they_lie(library):
    here = listed(3000, np.asarray)
    there = here.replace(**{name: library.on_gpu(array) for name, array in here.arrays().items()})
    directions = dict(views=(6, 2), acceptance_deg=20, tof_fwhm_ps=300, lor_fwhm_mm=13)
    gpu, cpu = tof.direct(grid, device="cuda", **directions), tof.direct(grid, **directions)
    found, expected = gpu.deposit(there), cpu.deposit(here)
    assert type(found) is library.array
    assert np.abs(library.on_host(found) - expected).sum() < 1e-4 * expected.sum() + 8
    assert abs(gpu.deposited["deposited"] - cpu.deposited["deposited"]) <= 3
    refused(TypeError, "events lies in host memory, and the operator works on cuda", gpu.deposit, here)
    terms = gpu.multiplicative("demo_ring", most_lines=100_000, like=found)
    assert type(terms) is library.array
    assert np.array_equal(library.on_host(terms), cpu.multiplicative("demo_ring", most_lines=100_000))
    refused(TypeError, "like is missing: the operator works on cuda", gpu.multiplicative, "demo_ring")
    how = dict(seconds=10, rate_cps=5000, window_mm=900, most_lines=100_000)
    randoms = gpu.additive("demo_ring", **how, like=found)
    assert type(randoms) is library.array
    assert np.array_equal(library.on_host(randoms), cpu.additive("demo_ring", **how))
    refused(TypeError, "like is missing: the operator works on cuda", gpu.sensitivity)
    refused(TypeError, "like is missing: the operator works on cuda", gpu.norm)


def arrays_are_used_where_they_lie(library):
    for gpu, cpu in pairs(library):
        x, out = library.on_gpu(random.random(cpu.in_shape, np.float32)), library.on_gpu(np.zeros(cpu.out_shape, np.float32))
        before = library.address(x), library.address(out)
        assert gpu(x, out=out) is out and (library.address(x), library.address(out)) == before
        assert near(library.on_host(out), cpu(library.on_host(x)))
        refused(TypeError, "image lies in host memory, and the operator works on cuda", gpu, library.on_host(x))
        refused(TypeError, "image lies on a GPU, and the operator works on cpu", cpu, x)


def work_is_queued_on_the_callers_stream(library):
    """What the caller queues on a stream before and after a call is done in that order, also on one that waits for no other."""
    for gpu, cpu in pairs(library):
        values = random.random(cpu.in_shape, np.float32)
        expected = 2 * cpu(3 * values)
        library.synchronize()
        with library.stream():
            x = library.on_gpu(values)
            for _ in range(20):  # long enough that a call on another stream would read what is not there yet
                x = x * 1
            result = gpu(x * 3) * 2
            found = library.on_host(result)
        assert near(found, expected), gpu


def nothing_is_copied(library):
    """PyTorch's profiler sees every copy of this process."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    for gpu, cpu in pairs(library):
        x, out = library.on_gpu(random.random(cpu.in_shape, np.float32)), library.on_gpu(np.zeros(cpu.out_shape, np.float32))
        gpu(x, out=out)
        library.synchronize()
        with profile(activities=[ProfilerActivity.CUDA]) as seen:
            gpu(x, out=out)
            torch.cuda.synchronize()
            library.synchronize()
        copies = [event.key for event in seen.key_averages() if "Memcpy" in event.key]
        bytes_of = [event for event in seen.events() if "Memcpy" in event.name]
        assert not copies, (gpu, copies, bytes_of)


class PoolLooks:
    """Attributes of the device's default memory pool, which others in this process use too: cudaMemPoolAttr 1 to 4."""

    def __init__(self):
        names = "libcudart.so.13", "libcudart.so.12", "libcudart.so"
        self.runtime = next((found for found in map(self.opened, names) if found), None)

    @staticmethod
    def opened(name):
        try:
            return ctypes.CDLL(name)
        except OSError:
            return None

    def attributes(self):
        if self.runtime is None:
            return None
        pool = ctypes.c_void_p()
        assert self.runtime.cudaDeviceGetDefaultMemPool(ctypes.byref(pool), 0) == 0
        found = []
        for attribute in range(1, 5):
            value = ctypes.c_uint64()
            assert self.runtime.cudaMemPoolGetAttribute(pool, attribute, ctypes.byref(value)) == 0
            found.append(value.value if attribute == 4 else value.value & 0xFFFFFFFF)
        return found


def the_default_pool_stays_as_it_is(library):
    looks = PoolLooks()
    before = looks.attributes()
    results_are_those_of_the_cpu(library)
    events_are_deposited_where_they_lie(library)
    assert looks.attributes() == before, (before, looks.attributes())
    print("the device's default pool:", before or "not looked at, no libcudart")


def free_bytes():
    import torch
    return torch.cuda.mem_get_info()[0]


def operators_leave_nothing_on_the_device(library):
    there = listed(500, library.on_gpu)
    image = library.on_gpu(np.ones(grid.shape, np.float32))

    def some(count):
        for _ in range(count):
            tof.joseph(grid, there).plan()(image)
            tof.tor(grid, there, tube_width_voxels=3, fwhm_mm=8)(image)
        library.synchronize()
        gc.collect()

    some(200)
    before = free_bytes()
    some(5000)
    assert before - free_bytes() < 64 << 20, (before, free_bytes())


def main(name):
    try:
        library = {"cupy": CuPy, "torch": Torch}[name]()
    except ModuleNotFoundError:
        return print(f"skipped: no {name}")
    if not library.usable():
        return print("skipped: no CUDA device")
    results_are_those_of_the_cpu(library)
    events_are_deposited_where_they_lie(library)
    arrays_are_used_where_they_lie(library)
    work_is_queued_on_the_callers_stream(library)
    nothing_is_copied(library)
    the_default_pool_stays_as_it_is(library)
    operators_leave_nothing_on_the_device(library)
    print("all passed")


main(sys.argv[1])
# SPDX-License-Identifier: Apache-2.0
