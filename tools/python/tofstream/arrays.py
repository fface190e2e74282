"""Arrays of NumPy, CuPy and PyTorch where they lie: pointers in, and outputs of the same library and device; those of other
libraries in host memory by DLPack, with outputs of NumPy. Nothing is copied or converted: what does not fit is a TypeError.
"""

import sys
from typing import Any

import numpy as np


class Place:
    """Where an array lies, and who made it."""

    def __init__(self, library, device):
        self.library, self.device = library, device  # "numpy" | "cupy" | "torch"; "cpu" | "cuda" or a torch device

    @property
    def on_gpu(self):
        return self.device != "cpu"

    def empty(self, shape, dtype=np.float32):
        """A new array here, of this type of NumPy's."""
        if self.library == "numpy":
            return np.empty(shape, dtype)
        if self.library == "cupy":
            return sys.modules["cupy"].empty(shape, dtype)
        torch = sys.modules["torch"]
        return torch.empty(tuple(shape), dtype=getattr(torch, dtype.__name__), device=self.device)

    def full(self, shape, value, dtype=np.float32):
        made = self.empty(shape, dtype)
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
_TORCH_HOST = Place("torch", "cpu")
_DLPACK_CPU = 1  # kDLCPU


def place_of(array: Any, name: str) -> Place:
    """Raises TypeError for what is no array of a known library, or lies on a device that is not served."""
    if isinstance(array, np.ndarray):
        return HOST
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        if array.is_cuda:
            return Place("torch", array.device)
        if array.is_cpu:
            return _TORCH_HOST
        raise TypeError(f"{name} lies on the device {array.device}: give a tensor on cpu or cuda")
    if hasattr(array, "__cuda_array_interface__"):
        return Place("cupy", "cuda")
    if hasattr(array, "__dlpack__"):
        if array.__dlpack_device__()[0] != _DLPACK_CPU:
            raise TypeError(f"{name} is a {type(array).__name__} on a device: by DLPack only host memory is taken")
        return HOST
    raise TypeError(f"{name} is a {type(array).__name__}: give a NumPy, CuPy or PyTorch array")


def pointer(array: Any, name: str, shape: Any = None, dtype: Any = np.float32) -> int:
    """The address of a contiguous array of this shape (a tuple) and type. Raises TypeError that names what is wrong."""
    place = place_of(array, name)
    if place is HOST and not isinstance(array, np.ndarray):
        return pointer(np.from_dlpack(array), name, shape, dtype)  # the caller's array keeps the memory
    if array.dtype != dtype:  # PyTorch's types are compared by name, which NumPy takes long to say
        found, wanted = str(array.dtype).removeprefix("torch."), getattr(dtype, "__name__", str(dtype))
        if found != wanted:
            raise TypeError(f"{name} has the type {found}, and must be {wanted}: convert it before")
    if shape is not None and array.shape != shape:
        raise TypeError(f"{name} has the shape {tuple(array.shape)}, and must have {shape}")
    if place.library == "torch":
        return _torch_pointer(array, name)
    if not array.flags.c_contiguous:
        raise TypeError(f"{name} is not C-contiguous: give np.ascontiguousarray({name})")
    if place.library == "numpy":
        return array.__array_interface__["data"][0]
    return array.data.ptr  # pyright: ignore[reportAttributeAccessIssue]  (CuPy's)


def _torch_pointer(tensor, name):
    if not tensor.is_contiguous():
        raise TypeError(f"{name} is not contiguous: give {name}.contiguous()")
    if tensor.requires_grad and sys.modules["torch"].is_grad_enabled():
        raise TypeError(f"{name} requires a gradient, which would be lost here: call as_torch(), or give {name}.detach()")
    return tensor.data_ptr()


def target(array, name, shape, dtype=np.float32):
    """The same of an array that is to be written."""
    address = pointer(array, name, shape, dtype)
    if place_of(array, name) is HOST and not (isinstance(array, np.ndarray) and array.flags.writeable):
        raise TypeError(f"{name} is read-only: give a NumPy array that can be written")
    return address
# SPDX-License-Identifier: Apache-2.0
