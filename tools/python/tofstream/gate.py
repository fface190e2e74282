"""GATE's trees of coincidences and singles, versions 9 and 10, read by uproot: as events of a scanner's detectors, with
what the simulation knows of each.

    from tofstream import gate
    for found in gate.coincidences(["scan.root"], scanner):       # a Recorder: info.scanner of a source
        found.detector1, found.time1_s, found.truth == gate.SCATTERED

A crystal's number in the scanner is learned from where GATE says that its events were, and from then on its identifiers
say it. `tofstream docs files` has the names, units and signs, and what is refused.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np

from .recorder import Recorder

TRUE, SCATTERED, RANDOM, UNKNOWN = range(4)
TRUTH_NAMES = ("true", "scattered", "random", "unknown")
LIGHT_MM_PER_S = 2.99792458e11

_IDENTIFIERS = {"rsectorID": 14, "moduleID": 12, "submoduleID": 12, "crystalID": 16, "layerID": 8}  # and their bits
_MOST_DISPLACED = 0.01  # of a chunk's events may lie beside their crystal


class GateError(ValueError):
    """What a file or a scanner is not as it must be, in one line."""


class Layout:
    """What a tree's branches are called. `ends`: "1" and "2" of coincidences, "" of singles."""

    def __init__(self, names: Sequence[str], scatter: Sequence[str] = ()) -> None:
        self.names = set(names)
        self.is_gate10 = bool({"GlobalTime1", "GlobalTime"} & self.names)
        time = "GlobalTime" if self.is_gate10 else "time"
        self.ends = ("1", "2") if {time + "1", time + "2"} <= self.names else ("",) if time in self.names else ()
        self.time, self.energy = time, "TotalEnergyDeposit" if self.is_gate10 else "energy"
        self.volume = "PreStepUniqueVolumeID" if self.is_gate10 else ""
        event = ("RunID", "ThreadID", "EventID") if self.is_gate10 else ("runID", "eventID")
        # A run's number is that of both ends, so without "1" it says nothing here.
        self.event = [name for name in event if self.has(name)]
        told = ("comptonPhantom", "RayleighPhantom")
        self.scatter = list(scatter) or [name for name in told if self.has(name)]

    def has(self, name: str) -> bool:
        return bool(self.ends) and all(name + end in self.names for end in self.ends)

    def position(self, axis: str, end: str) -> str:
        if not self.is_gate10:
            return f"globalPos{axis}{end}"
        inner = f"PostPosition{end}_{axis}"  # as CoincidenceSorterActor writes it; CoincidenceSorter puts the end last
        return inner if inner in self.names else f"PostPosition_{axis}{end}"

    def identifiers(self) -> List[str]:
        return [self.volume] if self.is_gate10 else [name for name in _IDENTIFIERS if self.has(name)]

    def needed(self) -> List[str]:
        """Every branch to read."""
        alike = [self.time, self.energy, *self.identifiers(), *self.event, *self.scatter]
        return [name + end for end in self.ends for name in alike] + \
               [self.position(axis, end) for end in self.ends for axis in "XYZ"]

    def check(self, where: str) -> None:
        if not self.identifiers():
            raise GateError(f"{where}: no rsectorID and so on, which say in which crystal an event was: attach the volumes "
                            "to GATE's system cylindricalPET")
        if missing := [name for name in self.needed() if name not in self.names]:
            known = ", ".join(sorted(self.names)[:12])
            raise GateError(f"{where}: has no branch {missing[0]} (it has {known}, ...): let GATE write it")


class Coincidences:
    """A chunk of coincidences, an array a property. truth: TRUE, SCATTERED (a photon met the object), RANDOM (the photons
    are of two decays) or UNKNOWN (the file does not tell scatter)."""

    def __init__(self, **arrays: Any) -> None:
        self.detector1 = arrays["detector1"]
        self.detector2 = arrays["detector2"]
        self.time1_s = arrays["time1_s"]
        self.time2_s = arrays["time2_s"]
        self.energy1_keV = arrays["energy1_keV"]
        self.energy2_keV = arrays["energy2_keV"]
        self.truth = arrays["truth"]

    def __len__(self) -> int:
        return len(self.truth)

    def __getitem__(self, which: Any) -> Coincidences:
        return Coincidences(**{name: array[which] for name, array in vars(self).items()})

    @property
    def tof_mm(self) -> Any:
        """From the line's middle towards detector 2: c (t1 - t2) / 2, since who is met later is further away."""
        return 0.5 * LIGHT_MM_PER_S * (self.time1_s - self.time2_s)


class Singles:
    """A chunk of singles. scattered: how often the photon met the object; None: the file does not tell."""

    def __init__(self, detector: Any, time_s: Any, energy_keV: Any, scattered: Any) -> None:
        self.detector, self.time_s, self.energy_keV, self.scattered = detector, time_s, energy_keV, scattered

    def __len__(self) -> int:
        return len(self.detector)


class Crystals:
    """Which detector of a scanner each of GATE's crystals is.

    A crystal that was not met before is the detector nearest to the mean place of its events. Refused in one line: a
    mean place beside that detector, by more than `tolerance_mm` across its face or half its depth along it; two crystals
    that would be one detector; and events of which more than 1 % lie beside their crystal.
    """

    def __init__(self, scanner: Recorder, tolerance_mm: float = 1.0, identifiers: Sequence[str] = ()) -> None:
        self._scanner, self._tolerance_mm, self._identifiers = scanner, tolerance_mm, identifiers
        self._at = np.asarray(scanner.detector_positions, np.float64)
        self._normal = np.repeat(scanner.normals, scanner.elements, axis=0)
        self._detector_of: Dict[Any, int] = {}  # by the crystal's name
        self._crystal_at: Dict[int, Any] = {}  # by its detector
        self.displaced = 0  # events beside their crystal so far

    def __len__(self) -> int:
        return len(self._detector_of)

    def detectors(self, crystals: Any, places_mm: Any) -> Any:
        """The detector of each event: `crystals` are the crystals' names, places_mm (n, 3) where GATE says events were."""
        names, index = np.unique(crystals, return_inverse=True)
        index = index.reshape(-1)
        known = np.array([self._detector_of.get(name, -1) for name in names.tolist()], np.int64)
        if len(new := np.flatnonzero(known < 0)):
            counts = np.bincount(index, minlength=len(names))
            means = np.stack([np.bincount(index, places_mm[:, axis], len(names)) for axis in range(3)], axis=1)
            means = means / counts[:, None]
            known[new] = self._nearest(means[new])
            self._take(names[new], known[new], means[new], counts[new])
        detectors = known[index]
        self._check_places(detectors, places_mm)
        return detectors.astype(np.uint32)

    def _nearest(self, points: Any) -> Any:
        """The detector nearest to each point: among those of the four modules whose middles are nearest."""
        elements, modules = self._scanner.elements, self._scanner.modules
        by_module = self._at.reshape(modules, elements, 3)
        middles = by_module.mean(axis=1)
        few, nearest = min(4, modules), []
        for block in np.array_split(points, -(-len(points) // 1024)):
            apart = ((block[:, None, :] - middles[None]) ** 2).sum(axis=2)
            chosen = np.argpartition(apart, few - 1, axis=1)[:, :few]
            near = by_module[chosen].reshape(len(block), few * elements, 3)
            best = ((block[:, None, :] - near) ** 2).sum(axis=2).argmin(axis=1)
            module = chosen[np.arange(len(block)), best // elements]
            nearest.append(module * elements + best % elements)
        return np.concatenate(nearest)

    def _beside(self, detectors: Any, places_mm: Any) -> Tuple[Any, Any]:
        """How far places lie from the detectors' points: along their depth, and how much further across their face than
        their own edges."""
        away = places_mm - self._at[detectors]
        normal = self._normal[detectors]
        depth = (away * normal).sum(axis=1)
        across = np.abs(away[:, 1] * normal[:, 0] - away[:, 0] * normal[:, 1])
        _, wide, tall = self._scanner.size_mm
        return depth, np.maximum(across - 0.5 * wide, np.abs(away[:, 2]) - 0.5 * tall)

    def _words(self, crystal: Any) -> str:
        if isinstance(crystal, str):
            return crystal
        words, rest = [], int(crystal)
        for name in reversed(self._identifiers):
            words.append(f"{name} {rest & ((1 << _IDENTIFIERS[name]) - 1)}")
            rest >>= _IDENTIFIERS[name]
        return ", ".join(reversed(words))

    def _take(self, names: Any, detectors: Any, means: Any, counts: Any) -> None:
        depth, beside = self._beside(detectors, means)
        bad = np.flatnonzero((beside > self._tolerance_mm) | (np.abs(depth) > 0.5 * self._scanner.size_mm[0] +
                                                              self._tolerance_mm))
        if len(bad):
            i = bad[np.argmax(counts[bad])]
            raise GateError(f"GATE's crystal {self._words(names[i])} is at {_point(means[i])} (mean of {counts[i]} events), and "
                            f"the nearest detector of '{self._scanner.name}' at {_point(self._at[detectors[i]])}: give the "
                            "scanner's file that the simulation is of, or rotate_deg and shift_mm")
        for name, detector in zip(names.tolist(), detectors.tolist()):
            if detector in self._crystal_at:
                raise GateError(f"GATE's crystals {self._words(self._crystal_at[detector])} and {self._words(name)} are both at "
                                f"detector {detector} of '{self._scanner.name}', {_point(self._at[detector])}: it has "
                                "fewer crystals or layers than the simulation")
            self._crystal_at[detector], self._detector_of[name] = name, detector

    def _check_places(self, detectors: Any, places_mm: Any) -> None:
        _, beside = self._beside(detectors, places_mm)
        out = np.flatnonzero(beside > self._tolerance_mm)
        self.displaced += len(out)
        if len(out) > max(_MOST_DISPLACED * len(detectors), 2):
            i = out[0]
            name = self._crystal_at[int(detectors[i])]
            raise GateError(f"{len(out)} of {len(detectors)} events lie more than {self._tolerance_mm:g} mm beside the crystal "
                            f"that their identifiers name, as one at {_point(places_mm[i])} of crystal {self._words(name)} at "
                            f"{_point(self._at[detectors[i]])}: scanners that turn are not read; raise tolerance_mm where "
                            "the simulation blurs places")


class Source:
    """One scan's files, their trees looked at. `tree` names one; else it is "Coincidences", or the only one with the
    branches of what is asked for."""

    def __init__(self, files: Sequence[str], singles: bool = False, tree: str = "", scatter: Sequence[str] = ()) -> None:
        try:
            import uproot
        except ImportError as error:
            raise GateError(f"GATE's files are read by uproot, which cannot be imported ({error}): pip install uproot") from None
        self._opened = [(str(file), uproot.open(str(file))) for file in files]
        self._singles, self._scatter = singles, scatter
        self._trees = [self._choose(name, opened, tree) for name, opened in self._opened]
        self.layout = self._trees[0][1]
        if any(layout.is_gate10 != self.layout.is_gate10 for _, layout in self._trees):
            raise GateError(f"{files[0]} and the others are of different versions of GATE")

    def _choose(self, name: str, opened: Any, wanted: str) -> Tuple[Any, Layout]:
        trees = [key for key, kind in opened.classnames(cycle=False).items() if kind == "TTree"]
        layouts = {key: Layout(opened[key].keys(), self._scatter) for key in trees}
        ends = ("",) if self._singles else ("1", "2")
        fit = [key for key in trees if layouts[key].ends == ends and wanted in ("", key)]
        what = "singles" if self._singles else "coincidences"
        if len(fit) > 1 and not wanted:
            fit = [key for key in fit if key.lower() == what] or fit
        if not fit and not wanted and any(layout.ends for layout in layouts.values()):
            raise GateError(f"{name}: has no tree of {what} (only {', '.join(trees)}): let GATE sort coincidences")
        if len(fit) != 1:
            found, called = "several trees" if fit else "no tree", f" called {wanted}" if wanted else ""
            raise GateError(f"{name}: {found} of {what} by GATE{called} (it has {', '.join(trees) or 'none'}): name one by `tree`")
        layouts[fit[0]].check(f"{name}: tree {fit[0]}")
        return opened[fit[0]], layouts[fit[0]]

    def __len__(self) -> int:
        return sum(tree.num_entries for tree, _ in self._trees)

    def times_s(self) -> Optional[Tuple[float, float]]:
        """When the simulation began and ended, where GATE 9 says so in the tree pet_data."""
        begins, ends = [], []
        for _, opened in self._opened:
            if "pet_data" not in opened.keys(cycle=False):
                return None
            told = opened["pet_data"].arrays(["start_time_sec", "stop_time_sec"], library="np")
            begins.append(float(np.min(told["start_time_sec"])))
            ends.append(float(np.max(told["stop_time_sec"])))
        return min(begins), max(ends)

    def chunks(self, events: int) -> Iterator[Dict[str, Any]]:
        """The arrays of so many entries at a time, by their branches' names."""
        for tree, layout in self._trees:
            yield from tree.iterate(layout.needed(), step_size=events, library="np")


class _Ends:
    """The ends of a chunk's entries, in our units."""

    def __init__(self, layout: Layout, chunk: Dict[str, Any], end: str, turn: Any, shift_mm: Any) -> None:
        self.time_s = np.asarray(chunk[layout.time + end], np.float64) * (1e-9 if layout.is_gate10 else 1.0)
        self.energy_keV = np.asarray(chunk[layout.energy + end], np.float64) * 1e3
        places = np.stack([np.asarray(chunk[layout.position(axis, end)], np.float64) for axis in "XYZ"], axis=1)
        self.places_mm = places @ turn.T + shift_mm
        self.event = [chunk[name + end] for name in layout.event]
        self.scatter = [np.asarray(chunk[name + end], np.int64) for name in layout.scatter]
        self.crystals = chunk[layout.volume + end].astype(str) if layout.is_gate10 else \
            _packed([(name, np.asarray(chunk[name + end], np.int64)) for name in layout.identifiers()])


def coincidences(source: Source, scanner: Recorder, *, tolerance_mm: float = 1.0, rotate_deg: float = 0.0,
                 shift_mm: Sequence[float] = (0.0, 0.0, 0.0), events: int = 250_000) -> Iterator[Coincidences]:
    """The coincidences of files, chunk by chunk. GATE's places are turned about z by rotate_deg and then moved by
    shift_mm, to where the scanner's file has its detectors. Throws GateError."""
    crystals, turn = Crystals(scanner, tolerance_mm, source.layout.identifiers()), _turn(rotate_deg)
    for chunk in source.chunks(events):
        one, two = (_Ends(source.layout, chunk, end, turn, np.asarray(shift_mm, np.float64)) for end in ("1", "2"))
        detectors = crystals.detectors(np.concatenate([one.crystals, two.crystals]),
                                       np.concatenate([one.places_mm, two.places_mm]))
        count = len(one.time_s)
        yield Coincidences(detector1=detectors[:count], detector2=detectors[count:], time1_s=one.time_s, time2_s=two.time_s,
                           energy1_keV=one.energy_keV, energy2_keV=two.energy_keV, truth=_truth(one, two))


def singles(source: Source, scanner: Recorder, *, tolerance_mm: float = 1.0, rotate_deg: float = 0.0,
            shift_mm: Sequence[float] = (0.0, 0.0, 0.0), events: int = 250_000) -> Iterator[Singles]:
    """The singles of files, chunk by chunk, as coincidences()."""
    crystals, turn = Crystals(scanner, tolerance_mm, source.layout.identifiers()), _turn(rotate_deg)
    for chunk in source.chunks(events):
        one = _Ends(source.layout, chunk, "", turn, np.asarray(shift_mm, np.float64))
        yield Singles(crystals.detectors(one.crystals, one.places_mm), one.time_s, one.energy_keV, _scatters(one))


def _scatters(end: _Ends) -> Any:
    """How often the photons met the object; None where that is not told: GATE 9 writes -1 without a phantomSD."""
    if not end.scatter or any((counts < 0).any() for counts in end.scatter):
        return None
    return np.sum(end.scatter, axis=0)


def _truth(one: _Ends, two: _Ends) -> Any:
    scatters = [_scatters(one), _scatters(two)]
    truth = np.full(len(one.time_s), UNKNOWN, np.uint8)
    if all(counts is not None for counts in scatters):
        truth = np.where(scatters[0] + scatters[1] > 0, SCATTERED, TRUE).astype(np.uint8)
    for mine, other in zip(one.event, two.event):
        truth[mine != other] = RANDOM
    return truth


def _packed(columns: List[Tuple[str, Any]]) -> Any:
    """One number for the identifiers of each event."""
    code = np.zeros(len(columns[0][1]), np.int64)
    for name, values in columns:
        bits = _IDENTIFIERS[name]
        if len(values) and not 0 <= values.min() <= values.max() < 1 << bits:
            raise GateError(f"{name} is {values.min() if values.min() < 0 else values.max()}: it must lie in 0 to "
                            f"{(1 << bits) - 1}, and -1 means a volume that is not attached to GATE's system")
        code = (code << bits) | values
    return code


def _turn(degrees: float) -> Any:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _point(place: Any) -> str:
    return "(" + ", ".join(f"{value:.1f}" for value in place) + ") mm"
# SPDX-License-Identifier: Apache-2.0
