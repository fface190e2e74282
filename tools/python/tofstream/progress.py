"""How far a run is: told to a callable of the user's, or drawn."""

from __future__ import annotations

import ctypes
import itertools
import logging
import shutil
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional

from . import library

_PHASES = ("preparing", "waiting", "running", "stopping", "ending", "over")


@dataclass(frozen=True)
class Progress:
    """How far a run is. `str()` of it is the line that the program shows at a terminal.

    phase      "preparing", "waiting" (for the first data), "running", "stopping", "ending" (aborted or failed), "over"
    seconds    since the run began
    scan_s     seconds of the scan that have been read; 0 where they are not known, as of views
    messages   that gadgets have taken: they grow as long as anything moves
    events     that came from sources
    update     the last subset that was projected, counted from 1 through all iterations; 0 before
    updates    how many there are; 0 where the end is not known, as of a live scan
    fraction   from 0 to 1, of the gadget that is the least far of those that have begun and know their end; it falls
               where another begins. None where none knows
    text       one line
    """

    phase: str
    seconds: float
    scan_s: float
    messages: int
    events: int
    update: int
    updates: int
    fraction: Optional[float]
    text: str

    @property
    def is_over(self) -> bool:
        return self.phase == "over"

    def __str__(self) -> str:
        return self.text


def bar() -> Callable[[Progress], None]:
    """What draws progress: tqdm's bar, in a notebook too; without tqdm a line of text on stderr."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line()
    return _Bar(tqdm)


class Listener:
    """A callable that a run tells its progress, on a thread of the library's. One that raises is logged, and not called
    again."""

    def __init__(self, call: Callable[[Progress], Any]) -> None:
        self._call: Optional[Callable[[Progress], Any]] = call
        self._ended = threading.Event()
        self._thread: Optional[int] = None
        self.key = next(_keys)
        _listeners[self.key] = self

    def tell(self, at: Any) -> None:
        self._thread = threading.get_ident()
        progress = _progress(at)
        try:
            if self._call is not None:
                self._call(progress)
        except BaseException:  # SystemExit too: the thread is the library's
            self._call = None
            logging.getLogger("tofstream").exception(
                "the call that is told the run's progress failed: it is not made again")
        finally:
            if progress.is_over:
                self._ended.set()

    def wait(self, most_s: float) -> None:
        """Waits for the end of the last call; not where it is the caller."""
        if threading.get_ident() != self._thread:
            self._ended.wait(most_s)

    def forget(self) -> None:
        """The library calls no more."""
        _listeners.pop(self.key, None)


_keys = itertools.count(1)
_listeners: Dict[int, Listener] = {}


# One for all runs, which is never freed: a run may be dropped in its own call.
@library.PROGRESS_CALL
def tell(key, at):
    listener = _listeners.get(key)
    if listener is not None:
        listener.tell(at.contents)


def _progress(at):
    return Progress(
        _PHASES[at.phase], at.seconds, at.scan_seconds, at.messages, at.events, at.update, at.updates,
        None if at.fraction < 0 else at.fraction, ctypes.string_at(at.text).decode(errors="replace"))


class _Bar:
    def __init__(self, tqdm):
        self._bar = tqdm(total=100, bar_format="{percentage:3.0f}%|{bar}| {desc}", mininterval=0)

    def __call__(self, progress: Progress) -> None:
        self._bar.n = 100 * (progress.fraction or 0)
        self._bar.set_description_str(progress.text)
        if progress.is_over:
            self._bar.close()


class _Line:
    """Written over itself; in a file a line each ten seconds, and the last one."""

    def __init__(self):
        self._is_rewritten = sys.stderr.isatty() or "ipykernel" in sys.modules
        self._shown_at = time.monotonic()
        self._width = 0

    def __call__(self, progress: Progress) -> None:
        if self._is_rewritten:
            text = progress.text[: shutil.get_terminal_size().columns - 1]
            sys.stderr.write("\r" + text.ljust(self._width) + ("\n" if progress.is_over else ""))
            self._width = len(text)
        elif progress.is_over or time.monotonic() - self._shown_at >= 10:
            sys.stderr.write(progress.text + "\n")
            self._shown_at = time.monotonic()
        sys.stderr.flush()
# SPDX-License-Identifier: Apache-2.0
