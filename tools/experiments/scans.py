"""Independent scans of a study: simulated several at once, reconstructed one after the other, and means over them."""

import math
import statistics
import time
from concurrent.futures import ThreadPoolExecutor


def measured_scans(study, kinds, seeds, at_once, most_seconds, began):
    """What `study` measured of each scan, by kind. `kinds`, one a seed: which scans are made, in this order.

    `study.simulate(kind, seed)` makes a scan, `study.measure(kind, scan)` gives what is kept of it; of the latter one
    runs at a time, since it has the GPU. No scan is begun that would end later than `most_seconds` after `began`."""
    longest = [0.0]

    def scan(kind, seed):
        started = time.monotonic()
        if started - began + 1.3 * longest[0] > most_seconds:
            return None
        made = study.simulate(kind, seed)
        longest[0] = max(longest[0], time.monotonic() - started)
        print(f"==> {kind} scan {seed} simulated, {time.monotonic() - began:.0f} s", flush=True)
        return reconstruction.submit(study.measure, kind, made)

    with ThreadPoolExecutor(1) as reconstruction, ThreadPoolExecutor(at_once) as simulation:
        scans = [(kind, simulation.submit(scan, kind, seed)) for seed, kind in zip(seeds, kinds)]
        begun = [(kind, made.result()) for kind, made in scans]
        return {kind: [made.result() for of, made in begun if of == kind and made] for kind in dict.fromkeys(kinds)}


def mean_and_error(values):
    """The mean and its standard error, infinite of one value."""
    return statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.inf


def ratio(one, other):
    """The ratio of two means with errors: how far it is from 1, and its error."""
    (a, da), (b, db) = one, other
    return a / b - 1, math.hypot(da / b, a * db / b**2)


def finite(value):
    """The value, or None, which JSON knows, where there is none."""
    return value if math.isfinite(value) else None
# SPDX-License-Identifier: Apache-2.0
