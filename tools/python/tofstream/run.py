"""Whole pipelines beside this program, which may be their source and may take their images."""

from __future__ import annotations

import ctypes
import json
import os
import tempfile
import weakref
from typing import Any, Callable, Dict, Iterator, Optional, Union

import numpy as np

from . import library, progress as telling
from .data import Events, Image
from .progress import Progress
from .structs import events_struct, views_struct
from .views import Views

_MOMENT_S = 0.1  # a wait is cut in these, so that Ctrl-C is heard


PathLike = Union[str, "os.PathLike[str]"]
Told = Union[bool, Callable[[Progress], Any]]


def run(pipeline: PathLike, out: Optional[PathLike] = None, *, input: Optional[PathLike] = None,  # noqa: A002
        set: Optional[Dict[str, Any]] = None, feed: Optional[str] = None,  # noqa: A002 (as `tofstream run` has them)
        output: Optional[str] = None, progress: Told = False) -> Run:
    """Starts a pipeline, and gives it as a Run.

    pipeline   a name (`tofstream docs which-pipeline`), or a YAML file
    out        folder of its files, which must not hold another run; None: one that is removed with the Run
    input      the file that its source reads
    set        parameters, {"subsets.iterations": 5}
    feed       the gadget that takes a live stream, in whose place this program sends
    output     the gadget whose images it gives; None: the last one with images
    progress   True: drawn, as tqdm's bar where it is installed, else as a line on stderr. Or a callable that is given a
               Progress four times a second, on a thread of the run's own, never two at once, and once more at the end.
               The run does not wait for it; one that raises is logged, and not called again

    A pipeline that cannot be is a ValueError. What goes wrong later is a RuntimeError of wait(), images() and `with`.
    """
    return Run(pipeline, out, input, set or {}, feed, output, progress)


class Run:
    """A pipeline that runs on threads of its own.

        with tof.run("live_osem", feed="feed") as run:       # waits for the end; an exception in it aborts the run
            run.send(events, start_s=0.0, duration_s=1.0)
            image = run.newest()

    folder     where its files are
    report     run.json, as of now
    """

    def __init__(self, pipeline: PathLike, out: Optional[PathLike], input: Optional[PathLike],  # noqa: A002
                 set: Dict[str, Any], feed: Optional[str], output: Optional[str],  # noqa: A002
                 progress: Told = False) -> None:
        if not callable(progress) and not isinstance(progress, bool):
            raise TypeError(f"progress is a {type(progress).__name__}: give True, False or a callable")
        if out is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="tofstream-")
            out = self._temporary.name
        self.folder = os.fspath(out)
        settings = [f"{name}={_yaml(value)}".encode() for name, value in set.items()]
        setup = library.struct(
            library._Setup, pipeline=os.fspath(pipeline).encode(), settings=(ctypes.c_char_p * len(settings))(*settings),
            setting_count=len(settings), input=_bytes(input), folder=self.folder.encode(), feed=_bytes(feed),
            output=_bytes(output))
        self._is_fed, self._handle = feed is not None, ctypes.c_void_p()
        self._listener = None
        if progress is not False:
            self._listener = telling.Listener(telling.bar() if progress is True else progress)
            setup.progress, setup.progress_user = telling.tell, self._listener.key
        try:
            library.call("tof_pipeline_start", ctypes.byref(setup), ctypes.byref(self._handle))
        except BaseException:
            _forget(self._listener)
            raise
        self._drop = weakref.finalize(self, _drop, self._handle, self._listener)

    def send(self, data: Union[Events, Views], start_s: Optional[float] = None, duration_s: Optional[float] = None) -> None:
        """Sends events or views, whose arrays are copied; waits where the run has no room. Events were counted from
        `start_s` on for `duration_s` (those of the events, where they are left out), evenly; views by their plan."""
        if not isinstance(data, (Events, Views)):
            raise TypeError(f"data is a {type(data).__name__}: give tof.Events or tof.Views")
        self._wait_until("tof_pipeline_room")
        if isinstance(data, Views):
            counts, _keeps = views_struct(data)
            library.call("tof_pipeline_send_views", self._handle, ctypes.byref(counts))
            return
        begin = data.start_s if start_s is None else start_s
        lasts = data.duration_s if duration_s is None else duration_s
        library.call("tof_pipeline_send_events", self._handle, ctypes.byref(events_struct(data)), begin, lasts)

    def close(self) -> None:
        """No more data come: the run goes on to its end."""
        library.call("tof_pipeline_close_feed", self._handle)

    def newest(self, wait_s: Optional[float] = None) -> Optional[RunImage]:
        """The newest image that was not given yet; None where there is none within `wait_s`, or, without it, before the
        run's end."""
        found = ctypes.c_void_p()
        if wait_s is not None:
            library.call("tof_pipeline_image", self._handle, wait_s, ctypes.byref(found))
            return _image(found)
        while True:
            is_over = self.is_over
            library.call("tof_pipeline_image", self._handle, 0 if is_over else _MOMENT_S, ctypes.byref(found))
            if found.value or is_over:
                return _image(found)

    def images(self) -> Iterator[RunImage]:
        """The newest image, again and again until the last one; those that come while you look at one are passed over."""
        while (image := self.newest()) is not None:
            yield image
        self.wait()

    @property
    def is_over(self) -> bool:
        over = ctypes.c_int32()
        library.library().tof_pipeline_wait(self._handle, 0, ctypes.byref(over))  # how it ended is wait()'s to tell
        return bool(over.value)

    def wait(self) -> Dict[str, Any]:
        """Waits for the end, and gives run.json. A run that failed is a RuntimeError. The last call of `progress` is
        waited for too, but two seconds at most."""
        try:
            self._wait_until("tof_pipeline_wait")
        finally:
            if self._listener is not None and self.is_over:
                self._listener.wait(most_s=2)
        return self.report

    def stop(self) -> None:
        """Ends the sources; what has come is reconstructed."""
        library.call("tof_pipeline_stop", self._handle)

    def set(self, parameter: str, value: Any) -> None:
        """Sets a live parameter, "gadget.parameter", from that gadget's next message on."""
        library.call("tof_pipeline_set", self._handle, f"{parameter}={_yaml(value)}".encode())

    @property
    def report(self) -> Dict[str, Any]:
        text = ctypes.c_void_p()
        library.call("tof_pipeline_report", self._handle, ctypes.byref(text))
        try:
            return json.loads(ctypes.string_at(text).decode())
        finally:
            library.library().tof_free(text)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None:
            self._drop()
            return
        if self._is_fed:
            self.close()
        self.wait()

    def __repr__(self) -> str:
        return f"<run in {self.folder}>"

    def _wait_until(self, function):
        done = ctypes.c_int32()
        while not done.value:
            library.call(function, self._handle, _MOMENT_S, ctypes.byref(done))


class RunImage(Image):
    """An image that a run made. Its voxels lie where the library has them, and are read-only; it stays when the run has gone.

    update, iteration  after which it stands, from 1
    is_last            no update follows
    events             of the scan, from its first one on, up to those of this update
    label              what the values are: "Bq/mL, not quantitative: no attenuation correction"
    """

    def __init__(self, voxels: np.ndarray, info: Any) -> None:
        super().__init__(voxels, tuple(info.grid.voxel_mm), tuple(info.grid.origin_mm))
        self.update: int = info.update
        self.iteration: int = info.iteration
        self.is_last = bool(info.is_last)
        self.events: int = info.events
        self.label: str = info.label.decode()

    def _repr_png_(self) -> bytes:
        from .picture import picture

        return bytes(picture(self))


def _drop(handle, listener):
    library.library().tof_pipeline_drop(handle)
    _forget(listener)


def _forget(listener):
    if listener is not None:
        listener.forget()


def _bytes(path):
    return None if path is None else os.fspath(path).encode()


def _yaml(value):
    return value if isinstance(value, str) else json.dumps(value)


def _image(handle: ctypes.c_void_p) -> Optional[RunImage]:
    if not handle.value:
        return None
    info = library.struct(library._ImageInfo)
    library.call("tof_image_get", handle, ctypes.byref(info))
    shape = tuple(info.grid.voxels)[::-1]
    memory: Any = (ctypes.c_float * int(np.prod(shape))).from_address(ctypes.addressof(info.voxels.contents))
    weakref.finalize(memory, library.library().tof_image_drop, ctypes.c_void_p(handle.value))
    voxels = np.frombuffer(memory, np.float32).reshape(shape)
    voxels.flags.writeable = False
    return RunImage(voxels, info)
# SPDX-License-Identifier: Apache-2.0
