"""Arrays of NumPy, CuPy and PyTorch where they lie: pointers in, and outputs of the same library and device. Nothing is
copied or converted: what does not fit is a TypeError."""

import sys

import numpy as np


class Place:
    """Where an array lies, and who made it."""

    def __init__(self, library, device):
        self.library, self.device = library, device  # "numpy" | "cupy" | "torch"; "cpu" | "cuda" or a torch device

    @property
    def on_gpu(self):
        return self.device != "cpu"

    def empty(self, shape):
        """A new float32 array here."""
        if self.library == "numpy":
            return np.empty(shape, np.float32)
        if self.library == "cupy":
            return sys.modules["cupy"].empty(shape, np.float32)
        torch = sys.modules["torch"]
        return torch.empty(tuple(shape), dtype=torch.float32, device=self.device)

    def full(self, shape, value):
        made = self.empty(shape)
        made[...] = value
        return made

    def stream(self):
        """The stream on which the caller works now."""
        if self.library == "cupy":
            return sys.modules["cupy"].cuda.get_current_stream().ptr
        if self.library == "torch" and self.on_gpu:
            return sys.modules["torch"].cuda.current_stream().cuda_stream
        return None


HOST = Place("numpy", "cpu")


def place_of(array, name):
    """Raises TypeError for what is no array of a known library."""
    if isinstance(array, np.ndarray):
        return HOST
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return Place("torch", array.device if array.is_cuda else "cpu")
    if hasattr(array, "__cuda_array_interface__"):
        return Place("cupy", "cuda")
    raise TypeError(f"{name} is a {type(array).__name__}: give a NumPy, CuPy or PyTorch array")


def pointer(array, name, shape=None, dtype=np.float32):
    """The address of a contiguous array of this shape and type. Raises TypeError that names what is wrong."""
    place = place_of(array, name)
    dtype = np.dtype(dtype)
    found = str(array.dtype).removeprefix("torch.")
    if found != dtype.name:
        raise TypeError(f"{name} has the type {found}, and must be {dtype.name}: convert it before")
    if shape is not None and tuple(array.shape) != tuple(shape):
        raise TypeError(f"{name} has the shape {tuple(array.shape)}, and must have {tuple(shape)}")
    if place.library == "torch":
        if not array.is_contiguous():
            raise TypeError(f"{name} is not contiguous: give {name}.contiguous()")
        return array.data_ptr()
    if not array.flags.c_contiguous:
        raise TypeError(f"{name} is not C-contiguous: give np.ascontiguousarray({name})")
    return array.ctypes.data if place.library == "numpy" else array.data.ptr


def target(array, name, shape):
    """The same of a float32 array that is to be written."""
    address = pointer(array, name, shape)
    if isinstance(array, np.ndarray) and not array.flags.writeable:
        raise TypeError(f"{name} is read-only")
    return address
# SPDX-License-Identifier: Apache-2.0
