"""The coincidences of a GATE simulation as events of a scanner: a source, `takes: nothing`, with `path` and `scanner`."""

import numpy as np
from tofstream import Events, gadget, gate


@gadget
def gate_source(info, more=(), tree="", keep=gate.TRUTH_NAMES, energy_keV=(0, 1e9), tof=True, blur_fwhm_ps=0.0, seed=1,
                tolerance_mm=1.0, rotate_deg=0.0, shift_mm=(0, 0, 0), scatter=(), batch_events=250_000):
    """keep: which of true, scattered, random and unknown coincidences; blur_fwhm_ps: a resolution of the time difference
    that is added; more: further files of the scan; the others as in tofstream.gate."""
    if not info.path or info.scanner is None:
        raise gate.GateError("name the simulation's file by `path`, and its scanner by `scanner`")
    if unknown := [name for name in keep if name not in gate.TRUTH_NAMES]:
        raise gate.GateError(f"keep: {unknown[0]} is none of {', '.join(gate.TRUTH_NAMES)}")
    source = gate.Source([info.path, *more], tree=tree, scatter=scatter)
    random, batches = np.random.default_rng(seed), Batches(info, source.times_s())
    truth = np.zeros(len(gate.TRUTH_NAMES), np.int64)
    wanted = np.isin(gate.TRUTH_NAMES, keep)
    for found in gate.coincidences(source, info.scanner, tolerance_mm=tolerance_mm, rotate_deg=rotate_deg,
                                   shift_mm=shift_mm, events=batch_events):
        truth += np.bincount(found.truth, minlength=len(truth))
        tof_mm = found.tof_mm
        if blur_fwhm_ps > 0:
            tof_mm += random.normal(0, 0.5e-12 * gate.LIGHT_MM_PER_S * blur_fwhm_ps / 2.354820, len(found))
        tof_mm, in_window = info.scanner.binned(tof_mm)
        lowest, highest = (limit(found.energy1_keV, found.energy2_keV) for limit in (np.minimum, np.maximum))
        chosen = np.ones(len(found), bool)
        for holds, why in ((wanted[found.truth], "not of the kinds that are kept"),
                           ((lowest >= energy_keV[0]) & (highest <= energy_keV[1]), "outside energy_keV"),
                           (info.scanner.in_coincidence(found.detector1, found.detector2), "modules not in coincidence"),
                           (in_window if has_tof(info) else np.True_, "beyond the scanner's time window")):
            if left_out := np.count_nonzero(chosen & ~holds):
                info.reject(left_out, why)
            chosen &= holds
        yield from batches.add(found[chosen], tof_mm[chosen] if tof and has_tof(info) else None)
    yield from batches.end()
    for name, count in zip(gate.TRUTH_NAMES, truth):
        info.report(name, int(count))


def has_tof(info):
    return info.scanner.tof_sigma_mm is not None


class Batches:
    """Batches of events, each of which covers the time until the next one begins."""

    def __init__(self, info, times_s):
        self.info, self.times_s, self.waiting, self.at_s = info, times_s, None, 0.0 if times_s is None else times_s[0]

    def add(self, found, tof_mm):
        if not len(found):
            return
        yield from self._give(float(found.time1_s.min()))
        arrays = {"detector1": found.detector1, "detector2": found.detector2}
        if tof_mm is not None:
            arrays["tof_mm"] = tof_mm.astype(np.float32)
        self.waiting, self.latest_s = arrays, float(found.time1_s.max())

    def end(self):
        yield from self._give(self.latest_s if self.waiting and self.times_s is None else (self.times_s or (0, 0))[1])

    def _give(self, until_s):
        if self.waiting:
            until_s = max(until_s, self.at_s)
            yield Events(start_s=self.at_s, duration_s=until_s - self.at_s, **self.waiting)
            self.at_s, self.waiting = until_s, None
# SPDX-License-Identifier: Apache-2.0
