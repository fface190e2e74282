"""How far runs are, told to Python: run by examples.cpp. Ends with 'all passed', or at the first check that fails."""

import gc
import io
import logging
import os
import signal
import sys
import tempfile
import threading
import time

from checks import refused

import tofstream as tof

SIMULATED = """
scanner: demo_ring
image: {size: [20, 20, 8], voxel_mm: 16}
backend: cpu
gadgets:
  photons:   {use: simulator, phantom: uniform_cylinder, events: 20000}
  subsets:   {use: subset_builder, from: photons, subsets: 2, iterations: 6}
  projected: {use: joseph_projector, from: {events: subsets, image: estimate}, sensitivity: {cache: false, exact_pairs: 0, sampled_pairs: 50000}}
  estimate:  {use: osem_update, from: projected}
  file:      {use: nifti_writer, from: estimate}
"""
WAITS = """
gadgets:
  feed: {use: zmq_source}
  end:  {use: null_sink, from: feed.events}
"""


def written(folder, text):
    path = os.path.join(folder, "pipeline.yaml")
    with open(path, "w") as file:
        file.write(text)
    return path


def on_stderr(run):
    kept, sys.stderr = sys.stderr, io.StringIO()
    try:
        run()
        return sys.stderr.getvalue()
    finally:
        sys.stderr = kept


def logged(run):
    heard, log = [], logging.getLogger("tofstream")
    handler = logging.Handler()
    handler.emit = heard.append
    log.addHandler(handler)
    try:
        run()
    finally:
        log.removeHandler(handler)
    return [record for record in heard if record.levelno >= logging.ERROR]


def callable_is_told(folder):
    told, threads = [], set()

    def listen(progress):
        threads.add(threading.get_ident())
        told.append(progress)

    with tof.run(written(folder, SIMULATED), progress=listen) as run:
        pass
    last = told[-1]
    assert isinstance(last, tof.Progress) and last.phase == "over" and last.is_over
    assert (last.update, last.updates, last.fraction, last.events) == (12, 12, 1.0, 20000), last
    assert last.scan_s > 0 and last.seconds > 0 and last.messages > 0
    assert str(last).startswith("photons: 20000 of 20000 events   projected: 12 of 12 updates"), last.text
    assert [progress.is_over for progress in told].count(True) == 1
    assert len(threads) == 1 and threading.get_ident() not in threads
    assert run.wait()["outcome"] == "done"


def what_is_no_callable(folder):
    refused(TypeError, "progress is a str", tof.run, written(folder, WAITS), feed="feed", progress="yes")
    refused(ValueError, "feed is 'end'", tof.run, written(folder, WAITS), feed="end", progress=print)
    assert not tof.progress._listeners


def one_that_raises(folder):
    calls = []

    def fail(progress):
        calls.append(progress)
        raise KeyError("mine")

    def run():
        with tof.run(written(folder, WAITS), feed="feed", progress=fail):
            time.sleep(0.8)

    errors = logged(run)
    assert len(calls) == 1 and len(errors) == 1, (len(calls), errors)
    assert "it is not made again" in errors[0].getMessage() and errors[0].exc_info[0] is KeyError


def a_long_one(folder):
    returned = threading.Event()
    run = tof.run(written(folder, SIMULATED), progress=lambda _: returned.wait(60))
    begun = time.monotonic()
    assert run.wait()["outcome"] == "done"
    assert time.monotonic() - begun < 50  # it waits two seconds for the last call, not for this one
    returned.set()


def interrupted(folder):
    """Ctrl-C is heard while the run tells, and the run can be stopped."""
    run = tof.run(written(folder, WAITS), feed="feed", progress=lambda _: time.sleep(0.1))
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        run.wait()
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("Ctrl-C was not heard")
    run.stop()
    assert run.wait()["outcome"] == "stopped"


def stopped_and_dropped_by_itself(folder):
    """A call may stop its run, wait for it, and hold the last reference to it."""
    runs, reports = [], []

    def stop(progress):
        if runs and progress.phase == "waiting":
            runs[0].stop()
            reports.append(runs[0].wait())
            runs.clear()
            gc.collect()

    runs.append(tof.run(written(folder, WAITS), feed="feed", progress=stop))
    end = time.monotonic() + 30
    while (not reports or tof.progress._listeners) and time.monotonic() < end:
        time.sleep(0.05)
    assert reports[0]["outcome"] == "stopped" and not tof.progress._listeners


def drawn(folder):
    try:
        import tqdm  # noqa: F401
    except ImportError:
        print("without tqdm")
    else:
        text = on_stderr(lambda: tof.run(written(folder, SIMULATED), progress=True).wait())
        assert "100%|" in text and "12 of 12 updates" in text, text
    sys.modules["tqdm.auto"] = None  # as where it is not installed
    text = on_stderr(lambda: tof.run(written(folder, SIMULATED), progress=True).wait())
    del sys.modules["tqdm.auto"]
    lines = [line for line in text.splitlines() if line.startswith("photons: ")]  # besides a warning
    assert len(lines) == 1 and "12 of 12 updates" in lines[0], text  # no terminal: the last line alone


for check in (callable_is_told, what_is_no_callable, one_that_raises, a_long_one, interrupted,
              stopped_and_dropped_by_itself, drawn):
    with tempfile.TemporaryDirectory() as folder:
        check(folder)
print("all passed")
# SPDX-License-Identifier: Apache-2.0
