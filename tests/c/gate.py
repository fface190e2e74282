"""GATE's trees: what is read of them, and what is refused; with `uproot`, or a `stand_in` for it. Ends with 'all passed'."""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
if sys.argv[1] == "stand_in":
    sys.path.insert(0, f"{HERE}/uproot_stand_in")
    os.environ["PYTHONPATH"] = os.pathsep.join([f"{HERE}/uproot_stand_in", os.environ["PYTHONPATH"]])
import uproot  # noqa: E402 (which one is only known now)
from checks import refused  # noqa: E402

import tofstream as tof  # noqa: E402
from tofstream import gate  # noqa: E402
from tofstream.recorder import Recorder  # noqa: E402

# demo_ring: 3 rings of 32 modules of 8 x 8 crystals of 5.8 mm, 20 mm deep. In GATE: rsector (around), module (along).
SECTORS, RINGS, ACROSS, ALONG = 32, 3, 8, 8
SOURCE = np.array([70.0, -35.0, 20.0])
positions = tof.detector_positions("demo_ring").astype(np.float64)
scanner = Recorder("demo_ring", positions.astype(np.float32), SECTORS * RINGS, (20.0, 5.8, 5.8), None, (20.0, 0.0, 1199.0))
random = np.random.default_rng(5)


def coincidences_of(source, count):
    """Pairs of detectors on lines through a point, where their photons stopped, and when, in s."""
    found = []
    while sum(map(len, found)) < count:
        away = random.normal(size=(4 * count, 3))
        away /= np.linalg.norm(away, axis=1, keepdims=True)
        met = []
        for sign in (1, -1):
            flat = (away * away)[:, :2].sum(axis=1)
            middle = sign * (away[:, :2] * source[:2]).sum(axis=1)
            far = (-middle + np.sqrt(middle**2 - flat * (source[:2] @ source[:2] - 257.0**2))) / flat
            met.append(source + sign * far[:, None] * away)
        inside = np.all([np.abs(place[:, 2]) < 70 for place in met], axis=0)
        found.append(np.stack([nearest(place[inside]) for place in met], axis=1))
    pairs = np.concatenate(found)[:count]
    module = pairs // 64 % SECTORS
    apart = np.abs(module[:, 0] - module[:, 1])
    return pairs[np.minimum(apart, SECTORS - apart) >= 7]


def nearest(places):
    return np.concatenate([((block[:, None] - positions[None]) ** 2).sum(axis=2).argmin(axis=1)
                           for block in np.array_split(places, max(1, len(places) // 200))])


def place_in(detectors):
    """A place in the crystal of each detector, away from its edges."""
    sector = detectors // 64 % SECTORS
    angle = 2 * np.pi * sector / SECTORS
    depth, across, along = (random.uniform(-1, 1, (3, len(detectors))) * [[5.0], [2.8], [2.8]])
    return positions[detectors] + np.stack([depth * np.cos(angle) - across * np.sin(angle),
                                            depth * np.sin(angle) + across * np.cos(angle), along], axis=1)


def gate9(pairs, source=SOURCE, first_s=3.0):
    """The branches of GATE 9's tree of coincidences. Every fifth is random, every tenth one scattered."""
    count = len(pairs)
    number = np.arange(count, dtype=np.int32)
    start = first_s + 1e-3 * np.sort(random.uniform(0, 1000, count))
    branches = {}
    for end, detectors in (("1", pairs[:, 0]), ("2", pairs[:, 1])):
        place = place_in(detectors)
        module, crystal = detectors // 64, detectors % 64
        branches.update({
            f"eventID{end}": number + (number % 5 == 0) * (end == "2"),
            f"time{end}": start + np.linalg.norm(place - source, axis=1) / gate.LIGHT_MM_PER_S,
            f"energy{end}": np.full(count, 0.5, np.float32),
            f"comptonPhantom{end}": (number % 10 == 1).astype(np.int32) * (end == "1"),
            f"RayleighPhantom{end}": np.zeros(count, np.int32),
            f"gantryID{end}": np.zeros(count, np.int32),
            f"rsectorID{end}": (module % SECTORS).astype(np.int32),
            f"moduleID{end}": (module // SECTORS).astype(np.int32),
            f"submoduleID{end}": np.zeros(count, np.int32),
            f"crystalID{end}": crystal.astype(np.int32),
            f"layerID{end}": np.zeros(count, np.int32),
            **{f"globalPos{axis}{end}": place[:, i].astype(np.float32) for i, axis in enumerate("XYZ")},
        })
    return branches


def write(path, trees):
    with uproot.recreate(path) as file:
        for name, branches in trees.items():
            file.mktree(name, {branch: array.dtype for branch, array in branches.items()})
            file[name].extend(branches)
    return path


def singles_of(branches):
    return {name[:-1]: array for name, array in branches.items() if name.endswith("1")}


def read(path, where=scanner, **more):
    source = gate.Source([path], **{name: more.pop(name) for name in ("tree", "scatter") if name in more})
    return list(gate.coincidences(source, where, **more))


with tempfile.TemporaryDirectory() as folder:
    pairs = coincidences_of(SOURCE, 12000)
    branches = gate9(pairs)
    times = {"start_time_sec": np.array([3.0]), "stop_time_sec": np.array([4.5])}
    path = write(f"{folder}/scan.root", {"Coincidences": branches, "Singles": singles_of(branches), "pet_data": times})

    # Detectors, energies, truth; time of flight puts events at the source and not at its mirror image.
    found = read(path, events=7000)
    assert len(found) > 1 and sum(map(len, found)) == len(pairs)
    whole = {name: np.concatenate([getattr(chunk, name) for chunk in found]) for name in vars(found[0])}
    assert (whole["detector1"] == pairs[:, 0]).all() and (whole["detector2"] == pairs[:, 1]).all()
    assert np.allclose(whole["energy1_keV"], 500) and whole["time1_s"][0] == branches["time1"][0]
    assert np.bincount(whole["truth"]).tolist() == [np.count_nonzero(whole["truth"] == kind) for kind in range(3)]
    number = np.arange(len(pairs))
    assert (whole["truth"] == np.where(number % 5 == 0, gate.RANDOM, np.where(number % 10 == 1, gate.SCATTERED, gate.TRUE))).all()
    tof_mm = np.concatenate([chunk.tof_mm for chunk in found])
    first, second = positions[pairs[:, 0]], positions[pairs[:, 1]]
    along = (second - first) / np.linalg.norm(second - first, axis=1, keepdims=True)
    for sign, holds in ((1, True), (-1, False)):
        emitted = 0.5 * (first + second) + sign * tof_mm[:, None] * along
        assert (np.abs(emitted.mean(axis=0) - SOURCE).max() < 2) == holds, (sign, emitted.mean(axis=0))

    # Singles; a choice of trees; the scan's time.
    source = gate.Source([path], singles=True)
    single = list(gate.singles(source, scanner))[0]
    assert (single.detector == pairs[: len(single), 0]).all() and (single.scattered == (number % 10 == 1)[: len(single)]).all()
    assert source.times_s() == (3.0, 4.5) and len(source) == len(pairs)
    refused(gate.GateError, "no tree of coincidences by GATE called delay (it has Coincidences, Singles, pet_data)", read, path,
            tree="delay")
    only = write(f"{folder}/singles.root", {"Singles": singles_of(branches)})
    refused(gate.GateError, "has no tree of coincidences (only Singles): let GATE sort coincidences", read, only)
    refused(gate.GateError, "no tree of coincidences by GATE (it has pet_data)", read, write(f"{folder}/t.root", {"pet_data": times}))

    # A simulation whose first sector lies elsewhere is turned, and refused where it is not.
    angle = np.radians(3.0)
    turned = dict(branches)
    for end in "12":
        x, y = branches[f"globalPosX{end}"], branches[f"globalPosY{end}"]
        turned[f"globalPosX{end}"] = (np.cos(angle) * x - np.sin(angle) * y).astype(np.float32)
        turned[f"globalPosY{end}"] = (np.sin(angle) * x + np.cos(angle) * y).astype(np.float32)
        turned[f"globalPosZ{end}"] = branches[f"globalPosZ{end}"] + np.float32(10)
    path3 = write(f"{folder}/turned.root", {"Coincidences": turned})
    again = read(path3, rotate_deg=-3.0, shift_mm=(0, 0, -10))
    assert (again[0].detector1 == pairs[:, 0]).all() and gate.Source([path3]).times_s() is None
    refused(gate.GateError, "GATE's crystal rsectorID", read, path3)

    # Another scanner, fewer layers, identifiers that do not fit the places, places that do not fit the identifiers.
    wider = Recorder("wider", (positions * [1.1, 1.1, 1]).astype(np.float32), SECTORS * RINGS, (20.0, 5.8, 5.8))
    refused(gate.GateError, "and the nearest detector of 'wider' at", read, path, where=wider)
    layers = {**branches, "layerID1": (number % 2).astype(np.int32)}
    refused(gate.GateError, "fewer crystals or layers than the simulation", read,
            write(f"{folder}/layers.root", {"Coincidences": layers}))
    mixed = {**branches, "crystalID2": (branches["crystalID2"] // 8 * 8).astype(np.int32)}
    refused(gate.GateError, "GATE's crystal", read, write(f"{folder}/mixed.root", {"Coincidences": mixed}))
    late = {name: np.concatenate([array[:9000], array[:3000]]) for name, array in branches.items()}  # the same crystals
    late["globalPosZ1"][9000:] += np.float32(12)
    refused(gate.GateError, "mm beside the crystal that their identifiers name", read,
            write(f"{folder}/late.root", {"Coincidences": late}), events=9000)
    unset = {**branches, "rsectorID1": np.full(len(pairs), -1, np.int32)}
    refused(gate.GateError, "rsectorID is -1", read, write(f"{folder}/unset.root", {"Coincidences": unset}))
    bare = {name: array for name, array in branches.items() if not name.startswith("energy")}
    refused(gate.GateError, "has no branch energy1", read, write(f"{folder}/bare.root", {"Coincidences": bare}))
    no_ids = {name: array for name, array in branches.items() if "ID" not in name}
    refused(gate.GateError, "attach the volumes to GATE's system", read, write(f"{folder}/ids.root", {"Coincidences": no_ids}))

    # Without a phantomSD GATE 9 counts scatter as -1: randoms are still told, scatter is not.
    untold = {**branches, "comptonPhantom1": np.full(len(pairs), -1, np.int32)}
    unknown = read(write(f"{folder}/untold.root", {"Coincidences": untold}))[0].truth
    assert set(unknown.tolist()) == {gate.UNKNOWN, gate.RANDOM}

    # GATE 10: times in ns, names of volumes as text (which uproot alone does not write), either way of naming places.
    if hasattr(uproot, "is_stand_in"):
        for inner in (True, False):
            ten = {}
            for end in "12":
                module = branches[f"moduleID{end}"] * SECTORS + branches[f"rsectorID{end}"]
                ten.update({f"EventID{end}": branches[f"eventID{end}"], f"GlobalTime{end}": branches[f"time{end}"] * 1e9,
                            f"TotalEnergyDeposit{end}": branches[f"energy{end}"],
                            f"compt_water{end}": branches[f"comptonPhantom{end}"],
                            f"PreStepUniqueVolumeID{end}": np.array([f"crystal-0_{m}_{c}" for m, c in
                                                                     zip(module, branches[f"crystalID{end}"])], object)})
                for axis in "XYZ":
                    name = f"PostPosition{end}_{axis}" if inner else f"PostPosition_{axis}{end}"
                    ten[name] = branches[f"globalPos{axis}{end}"]
            path10 = write(f"{folder}/ten.root", {"coincidences": ten})
            chunk = read(path10, scatter=["compt_water"])[0]
            assert (chunk.detector2 == pairs[:, 1]).all() and (chunk.truth == whole["truth"]).all()
            assert np.allclose(chunk.tof_mm, tof_mm, atol=0.1)
            assert set(read(path10)[0].truth.tolist()) == {gate.UNKNOWN, gate.RANDOM}

    # The pipeline makes an image whose activity is at the source, and its books know the kinds.
    def image_of(out, **arguments):
        settings = {"feed.arguments": arguments, "feed.python": sys.executable, "image": {"size": [40, 40, 24], "voxel_mm": 6},
                    "subsets.iterations": 1, "projected.sensitivity.cache": False, "projected.sensitivity.exact_pairs": 0,
                    "projected.sensitivity.sampled_pairs": 200000, "backend": "cpu"}
        with tof.run("gate_osem", f"{folder}/{out}", input=path, set=settings) as run:
            *_, last = run.images()
        return last, run.report

    last, report = image_of("all", batch_events=6000)
    z, y, x = np.indices(last.voxels.shape)
    centre = [6 * ((at * last.voxels).sum() / last.voxels.sum() - (n - 1) / 2) for at, n in zip((x, y, z), last.voxels.shape[::-1])]
    assert np.abs(np.array(centre) - SOURCE).max() < 4, centre
    figures = report["gadgets"]["feed"]["figures"]
    assert [figures[name] for name in gate.TRUTH_NAMES] == np.bincount(whole["truth"], minlength=4).tolist(), figures
    _, report = image_of("trues", keep=["true"])
    assert report["books"]["rejected"]["not of the kinds that are kept"] == np.count_nonzero(whole["truth"] != gate.TRUE)
    assert report["books"]["balanced"]
    refused(RuntimeError, "gate_source.py", image_of, "bad", keep=["trues"])

    # `convert` makes PETSIRD of the tree, and says what it leaves out.
    made = subprocess.run([tof.library.program(), "convert", "--quiet", "--scanner", "demo_ring", "--set", f"feed.python={sys.executable}",
                           path, f"{folder}/scan.petsird"], capture_output=True, text=True, check=False)
    assert made.returncode == 0 and "the kinds of coincidences" in made.stderr, made.stderr
    held = subprocess.run([tof.library.program(), "inspect", "--json", f"{folder}/scan.petsird"], capture_output=True, check=True)
    assert json.loads(held.stdout)["prompts"] == report["books"]["received"], held.stdout
print("all passed")
# SPDX-License-Identifier: Apache-2.0
