"""The tables of share/benchmarks/README.md, the README of the project and share/doc/jpet.md: a function each makes a table's
lines from the files of results. tools/benchmark_tables writes them."""
from benchmark_results import exponent, g, line, row_of, standing, table, triple

ORDERS = (("random", "random_ns_per_event"), ("sorted", "sorted_ns_per_event"))
KINDS = [(p, t) for p in ("joseph", "tor") for t in (True, False)]


def tof(flag):
    return "ToF" if flag else "non-ToF"


def cpu_peer(of):
    rows = []
    for name, file in (("W1", "cpu_w1"), ("W3", "cpu_w3")):
        results = of[file]["results"]
        peer = next(r for r in results if "peer" in r)
        ours = row_of(results, projector="joseph", tof=True, backend="cpu", threads=2)
        for order, key in ORDERS:
            a, b = peer[key]["fused"], ours[key]["fused"]
            rows.append([f"{name}, {order} order", peer["peer"], g(a, 4), g(b, 3), g(a / b)])
    return table(["", "peer", "its ns an event", "tofstream", "ratio"], rows)


def cpu_gpu(of):
    rows = []
    for projector, with_tof in KINDS:
        for order, key in ORDERS:
            cells = [triple(row_of(of["cpu_w1"]["results"], projector=projector, tof=with_tof, threads=n)[key], 0)
                     for n in (1, 2)]
            gpu = row_of(of["gpu_direct"]["results"], workload="W1", projector=projector, tof=with_tof)[key]
            rows.append([f"{projector} {tof(with_tof)}", order, *cells, triple(gpu, 2)])
    return table(["W1", "order", "CPU, 1 core", "CPU, 2 cores", "H200"], rows)


def cpu_gpu_w3(of):
    rows = []
    for projector, with_tof in KINDS:
        for order, key in ORDERS:
            cpu = of["cpu_w3" if projector == "joseph" else "tor_w3_2core"]["results"]
            cpu = row_of(cpu, projector=projector, tof=with_tof, backend="cpu", threads=2)[key]
            gpu = row_of(of["gpu_w3_direct"]["results"], projector=projector, tof=with_tof)[key]
            rows.append([f"{projector} {tof(with_tof)}", order, triple(cpu, 0), triple(gpu, 2)])
    return table(["W3", "order", "CPU, 2 cores", "H200, 1e7 events"], rows)


def tiles(of):
    rows = []
    for name, workload, projector, file, millions in (
            ("Joseph W1", "W1", "joseph", "gpu_direct", 1), ("Joseph W2 128^3", "W2-128", "joseph", "gpu_direct", 1),
            ("Joseph W2 256^3", "W2-256", "joseph", "gpu_direct", 1),
            ("Joseph W3, 1e7", "W3", "joseph", "gpu_w3_direct", 10), ("TOR T_w 3, W1", "W1", "tor", "gpu_direct", 1),
            ("TOR T_w 3, W2 128^3", "W2-128", "tor", "gpu_direct", 1),
            ("TOR T_w 3, W2 256^3", "W2-256", "tor", "gpu_direct", 1), ("TOR T_w 3, W3, 1e7", "W3", "tor", "gpu_w3_direct", 10)):
        def find(source, **more):
            found = [r for r in of[source]["results"]
                     if (r["workload"], r.get("projector"), r["tof"]) == (workload, projector, True)]
            return found[0] if found else None
        here, direct = find("gpu"), find(file)
        cells = ["", "", "", ""]
        if here:
            random, in_order = (here[key] for _, key in ORDERS)
            cells = [g(random["plan"] * millions, 2), g(random["planned"] * millions), g(in_order["planned"] * millions),
                     g(random["fused"] * millions, 3)]
        elif workload == "W3":
            short = "joseph_w3" if projector == "joseph" else "tor3_w3"
            own = line(of, short)
            cells[1:3] = [g(own["measured"]), g(own["parts"]["sorted_ms"])]
            if projector == "joseph":
                first = line(of, "joseph_w3_first")
                cells[0], cells[3] = g(first["parts"]["plan_ms"]), g(first["measured"])
        beside = " / ".join(g(direct[key]["fused"] * millions) for _, key in ORDERS) if direct else ""
        rows.append([name, *cells, beside])
    return table(["ToF", "plan", "pass", "pass, sorted events", "first", "direct, random / sorted"], rows)


REQUIREMENTS = (
    ("joseph_w1", "Joseph W1, ms a pass"), ("joseph_w1_first", "Joseph W1, first pass with plan, random order, ms"),
    ("joseph_w1_peer", "Joseph W1, times libparallelproj"),
    ("joseph_w1_first_peer", "Joseph W1, first pass with plan, times libparallelproj"),
    ("joseph_w1_yrt", "Joseph W1, times yrt-pet's Siddon"),
    ("+joseph_w1_yrt joseph_w1_first", "Joseph W1, first pass with plan, times yrt-pet's Siddon"),
    ("joseph_w1_deterministic", "deterministic, times the default, Joseph W1"),
    ("joseph_w1_adjoint", "adjointness, Joseph W1"),
    ("joseph_w1_forward", "Joseph W1, a planned forward projection alone, ms"),
    ("joseph_w1_back", "Joseph W1, a planned back projection alone, ms"), ("tor3_w1", "TOR T_w 3, W1, ms a pass"),
    ("tor_narrow_w1", "TOR T_w 1.42, normalised by slices, W1, ms a pass"),
    ("tor15_w1", "TOR T_w 15, W1, ms a pass"), ("tor3_w1_bins", "TOR T_w 3, W1, ToF bins of 1.58 sigma, ms a pass"),
    ("tor15_w1_bins", "TOR T_w 15, W1, ToF bins of 1.58 sigma, ms a pass"), ("tor3_w1_deterministic", "deterministic, TOR W1"),
    ("tor3_w1_adjoint", "adjointness, TOR W1"),
    ("tor3_w1_forward", "TOR T_w 3, W1, a planned forward projection alone, ms"),
    ("tor3_w1_back", "TOR T_w 3, W1, a planned back projection alone, ms"),
    ("joseph_w1_linear", "passes of 1e6, 3e6, 1e7, 3e7 and 1e8 events on W1, largest departure from the straight line that "
                         "fits best (with a constant), %, Joseph"),
    ("tor3_w1_linear", "the same, TOR"), ("joseph_w2_256", "Joseph W2 256^3, ms a pass"),
    ("joseph_w3", "Joseph W3 (1e7), ms a pass"), ("joseph_w3_first", "Joseph W3, first pass, ms"),
    ("joseph_w3_peer", "Joseph W3, times libparallelproj"),
    ("joseph_w3_first_peer", "Joseph W3, first pass with plan, times libparallelproj"),
    ("joseph_w3_yrt", "Joseph W3, times yrt-pet's Siddon"),
    ("+joseph_w3_yrt joseph_w3_first", "Joseph W3, first pass with plan, times yrt-pet's Siddon"),
    ("joseph_w3_deterministic", "deterministic, Joseph W3"), ("tor3_w3", "TOR T_w 3, W3 (1e7), ms a pass"),
    ("tor_narrow_w3", "TOR T_w 1.42, normalised by slices, W3 (1e7), ms a pass"),
    ("tor3_w3_bins", "TOR T_w 3, W3 (1e7), ToF bins of 1.58 sigma, ms a pass"),
    ("tor3_w3_deterministic", "deterministic, TOR W3"))


def listmode(of):
    rows = []
    for name, words in REQUIREMENTS:
        if name.startswith("+"):  # which no line bounds
            peer, first = (line(of, n) for n in name[1:].split())
            rows.append([words, g(peer["parts"]["peer_ms"] / first["measured"]), "", ""])
            continue
        r = line(of, name)
        bound = f"{'>=' if r['bound_is'] == 'least' else '<='} {r['bound']:g}"
        rows.append([words, exponent(r["measured"], 3) if "adjoint" in name else g(r["measured"]), bound,
                     "" if r["holds"] is None else "yes" if r["holds"] else "**no**"])
    return table(["what", "measured", "must be", "holds"], rows)


LINEAR = [f"ns_per_event_of_{n}" for n in (10**6, 3 * 10**6, 10**7, 3 * 10**7, 10**8)]


def linear(of):
    rows = []
    for name, words in (("joseph_w1_linear", "Joseph"), ("tor3_w1_linear", "TOR T_w 3")):
        parts = line(of, name)["parts"]
        rows.append([words, *(f"{parts[k]:.3f}" for k in LINEAR), f"{parts['line_without_events_ms']:.3f}",
                     f"{100 * (parts[LINEAR[0]] / parts[LINEAR[-1]] - 1):.0f} %"])
    return table(["W1, ns an event of", "1e6", "3e6", "1e7", "3e7", "1e8", "the line for no events, ms", "1e6 dearer than 1e8 by"],
                 rows)


def peers(of):
    rows = []
    for workload in ("w1", "w3"):
        first = line(of, f"joseph_{workload}_first")["measured"]
        for kind in ("peer", "yrt"):
            p = line(of, f"joseph_{workload}_{kind}")["parts"]
            times_first = line(of, f"joseph_{workload}_first_peer")["measured"] if kind == "peer" else p["peer_ms"] / first
            rows.append([f"{workload.upper()}, {p['peer']}", g(p["peer_ms"]), g(p["ms"]), g(p["peer_ms"] / p["ms"]),
                         g(times_first), g(p["peer_sorted_ms"]), g(p["sorted_ms"]),
                         g(p["peer_sorted_ms"] / p["sorted_ms"])])
    return table(["Joseph, random order", "peer", "ours, a pass", "times", "times a first pass", "sorted: peer", "ours", "times"],
                 rows)


def longlist(of):
    rows = []
    for r in of["longlist"]["results"]:
        rows.append(["Joseph" if r["projector"] == "joseph" else "TOR T_w 3",
                     {"pinned": "pinned host memory", "gpu": "GPU"}.get(r["events_from"], r["events_from"]),
                     *(f"{r[k]:.3f}" for k in ("total_s", "plan_s", "em_step_s", "idle_s")), f"{100 * r['busy']:.1f} %",
                     f"{r['copy_gb_per_s']:.0f} GB/s" if "copy_gb_per_s" in r else ""])
    return table(["", "events", "total", "plan", "EM step", "GPU idle", "GPU busy", "copied at"], rows)


def sensitivity(of):
    rows = []
    for scanner, projector, words in (("explore_vista", "joseph", "explore_vista, Joseph, exact"),
                                      ("explore_vista", "tor", "explore_vista, TOR, exact"),
                                      ("long_axial", "joseph", "long_axial, Joseph, 16.8e6 drawn"),
                                      ("long_axial", "tor", "long_axial, TOR, 16.8e6 drawn")):
        cells = []
        cpu = "sensitivity_cpu_vista" if scanner == "explore_vista" else "sensitivity_cpu_long"
        for file, backend in (("sensitivity_gpu", "cuda"), (cpu, "cpu")):
            for attenuated in (False, True):
                found = [r for r in of[file]["results"] if (r["scanner"], r["projector"], r["backend"], r["attenuated"]) ==
                         (scanner, projector, backend, attenuated)]
                cells.append(g(found[0]["seconds"], 2 if found[0]["seconds"] < 1 else 3) if found else "")
        rows.append([words, *cells])
    return table(["", "H200", "attenuated", "16 cores", "attenuated"], rows)


def sensitivity_error(of):
    rows = []
    for words, file in (("200e6", "sensitivity_long_2e8"), ("1000e6", "sensitivity_long_1e9")):
        rows.append([words] + [", ".join(
            f"{g(r['seconds'], 2 if r['seconds'] < 1 else 3)} ({g(100 * r['relative_error'], 2)} %)"
            for a in (False, True)
            for r in [row_of(of[file]["results"], projector=p, attenuated=a, backend="cuda")]) for p in ("joseph", "tor")])
    return table(["long_axial, pairs drawn", "Joseph", "TOR"], rows)


def blobs(of):
    rows = []
    for r in of["gpu_blobs"]["results"]:
        for order, key in ORDERS:
            t = r[key]
            rows.append([tof(r["tof"]), order, f"{t['forward']:.2f} / {t['back']:.2f}", f"{t['plan']:.2f}",
                         f"{t['planned']:.2f}", f"{t['fused']:.2f}", exponent(r["nrms_to_reference"])])
    return table(["W1", "order", "forward (direct) / back (tiles)", "plan", "pass", "first", "nrms to reference"], rows)


def figure_5(of):
    rows = of["paper_figure_5"]["tables"]["figure_5"]["rows"]

    def cell(r):
        parts = [g(r[k]) for k in ("forward_ms", "back_ms") if r[k] is not None]
        return " / ".join([*parts, f"**{g(r['iteration_ms'])}**"])
    return table(["step", "ToF", "non-ToF", "the paper, of its GPU"],
                 [[r["step"], cell(r), cell(row_of(rows, step=r["step"], tof="non-ToF")), r["paper"]]
                  for r in rows if r["tof"] == "ToF"])


def table_2(of):
    return table(["T_w", "without", "fast math", "saved", "the paper saved", "nrms with to without", "the paper's"],
                 [[str(r["T_w"]), g(r["plain_ms"]), g(r["fast_ms"]), f"{r['saved_percent']:.0f} %",
                   f"{r['paper_saved_percent']:.0f} %", exponent(r["nrms"]), exponent(r["paper_nrms"])]
                  for r in of["paper_table_2_sort"]["tables"]["table_2"]["rows"]])


def cubes(of, name):
    rows = of[f"paper_{name}"]["tables"][name]["rows"]
    return table(["L", "T_w", "GTX 480", "scheme", "tiles"],
                 [[str(r["L"]), g(r["T_w"]), g(r["paper_gtx_480_ms"], 4), g(r["scheme_ms"]), g(r["tiles_ms"])]
                  for r in rows if r["tof"] == "ToF"])


def table_5(of):
    rows = of["paper_table_5"]["tables"]["table_5"]["rows"]
    both = [(r, row_of(rows, T_w=r["T_w"], tof="non-ToF")) for r in rows if r["tof"] == "ToF"]
    return table(["T_w", "GTX 480", "scheme", "tiles"],
                 [[g(a["T_w"]), *(f"{g(a[k], 4)} / {g(b[k], 4)}" if k.startswith("paper") else f"{g(a[k])} / {g(b[k])}"
                                  for k in ("paper_gtx_480_ms", "scheme_ms", "tiles_ms"))] for a, b in both])


def sort(of):
    rows = of["paper_table_2_sort"]["tables"]["sort"]["rows"]
    return table(["million events", "with the sort", "the paper's sort", "without", "the paper's partition", "plan of tiles"],
                 [[g(r["millions"]), f"{r['partition_sort_and_layout_ms']:.2f}", g(r["paper_sort_ms"]),
                   f"{r['partition_and_layout_ms']:.2f}", g(r["paper_partition_ms"]) if r["paper_partition_ms"] else "",
                   f"{r['tiles_plan_ms']:.2f}"] for r in rows])


def runtime(of):
    columns = [of[f"runtime_{name}"] for name in ("16core", "2core", "epyc_2core")]
    chains = [c["chain"] for c in columns]
    return table(["", "Xeon, 16 cores", "Xeon, 2 cores", "EPYC, 2 cores"], [
        [f"{chains[0]['gadgets']} gadgets", *(f"{c['ns_per_message']:.0f}" for c in chains)],
        ["oneTBB, numbers by value", *(f"{c['tbb_by_value_ns']:.0f} ({c['ratio_to_by_value']:.2f}x)" for c in chains)],
        ["oneTBB, numbers by shared pointer",
         *(f"{c['tbb_by_pointer_ns']:.0f} ({c['ratio_to_by_pointer']:.2f}x)" for c in chains)],
        ["64 MiB to 4 sinks: copies, us a message",
         *(f"{c['fan_out']['copies']}, {c['fan_out']['us_per_message']:.0f}" for c in columns)],
        ["decode and busy sink, to the longer of the two", *(f"{c['overlap']['ratio_to_longer']:.2f}x" for c in columns)]])


def live_h200(of):
    runs = {r["projector"]: r for r in of["live_h200"]["runs"]}
    def latency(run, words):
        subsets, page = run["subsets"], run["page"]
        return {"estimate": f"{subsets['latency_ms_p50']:.1f} / {subsets['latency_ms_p99']:.1f} ms",
                "page": f"{1e3 * page['shown_p50_s']:.1f} / {1e3 * page['shown_p99_s']:.1f} ms"}[words]
    return table(["from the last event of a subset to", "TOR, T_w 3, p50 / p99", "Joseph"], [
        ["the estimate with it", *(latency(runs[p], "estimate") for p in ("tor", "joseph"))],
        ["the image at the page's client, and its answer back (must be under 50 ms)",
         *(latency(runs[p], "page") for p in ("tor", "joseph"))]])


def ingest(of, cores):
    rows = []
    for payload, words in (("records", "records with ToF, 12 bytes"), ("petsird", "PETSIRD, 4.9 bytes")):
        cells = [exponent(row_of(of[f"ingest_{cores}core{tcp}"]["results"], payload=payload, journal=journal)["events_per_s"])
                 for tcp in ("", "_tcp") for journal in (False, True)]
        rows.append([words, *cells])
    return table(["events/s", "ipc", "ipc, journal", "tcp", "tcp, journal"], rows)


def nema(of):
    rows = []
    for scanner, words, diameter, pairs in (
            ("demo_ring", "demo_ring, 300 ps", 10, (4, 5)), ("demo_ring", "demo_ring, 300 ps", 37, (10, 3)),
            ("gemini_tf", "gemini_tf, 636 ps", 10, (3, 4)), ("gemini_tf", "gemini_tf, 636 ps", 37, (4, 3))):
        studies = {s["label"]: s["images"] for s in of[f"nema_{scanner}"]["studies"]}
        cells = []
        for label, iteration in zip(("tof", next(k for k in studies if k != "tof")), pairs):
            s = row_of(studies[label][iteration - 1]["spheres"], diameter_mm=float(diameter))
            cells.append(f"{s['contrast_percent']:.0f} at {g(s['background_variability_percent'], 2)} % (iteration {iteration})")
        rows.append([words, f"{diameter} mm {'hot' if s['hot'] else 'cold'}", *cells])
    return table(["scanner", "sphere", "ToF, contrast % at variability", "without ToF"], rows)


def jpet(of):
    return jpet_paths(of["jpet"]["results"])


def spect_paper(of):
    return table(["size", "the paper, s", "its scheme, ms", "ours, ms"],
                 [[f"{r['size']}³", g(r["paper_s"]), g(r["paper_scheme_ms"], 4), g(r["ours_ms"])]
                  for r in of["spect_paper"]["table_1"]])


def direct_table_2(of):
    return table(["form", "forward, ms", "the paper, s", "back, ms", "the paper, s"],
                 [[r["form"], g(r["forward_ms"]), g(r["paper_forward_s"]) if r["paper_forward_s"] else "",
                   g(r["back_ms"]), g(r["paper_back_s"]) if r["paper_back_s"] else ""]
                  for r in of["direct_paper"]["paper"]["table_2"]])


def direct_table_3(of):
    def whole(r, key):
        return f"{r[key]:.2f}" if r.get(key) else ""
    return table(["kernel", "ours, ms", "ILP, ms", "the paper, s", "20 times forward, s", "the paper", "back, s", "the paper"],
                 [[r["kernel"], g(r["ours_ms"]), g(r["ilp_ms"]) if "ilp_ms" in r else "", g(r["paper_s"], 4),
                   *(whole(r, key) for key in ("forward_s", "paper_forward_s", "back_s", "paper_back_s"))]
                  for r in of["direct_paper"]["paper"]["table_3_and_4"]])


def direct_figure_4(of):
    return table(["ToF, ps", "radial x axial, mm", "voxels, mm", "one_stage, ms", "fft, ms"],
                 [[g(r["tof_ps"], 4), f"{r['radial_mm']:g} x {r['axial_mm']:g}", g(r["voxel_mm"]), g(r["one_stage_ms"]),
                   g(r["fft_ms"])] for r in of["direct_paper"]["paper"]["figure_4"]])


def jpet_2mm(of):
    """The same with pixels of 2 mm; until they are measured, that they are not."""
    return jpet_paths(of["jpet_2mm"]["results"]) if "jpet_2mm" in of else ["Not measured yet."]


def jpet_paths(results):
    rows = []
    for form in ("gaussian", "eq7", "full"):
        own = row_of(results, form=form, by="automatic")
        rows.append([f"`{form}`", g(own["ms"]), f"<= {own['bound_ms']:g}" if own["bound_ms"] else "",
                     exponent(own["nrms_to_reference"]),
                     *(g(row_of(results, form=form, by=p)["ms"]) for p in ("warp_per_event", "thread_per_event"))])
    return table(["form", "`automatic`", "must be", "nrms", "`warp_per_event`", "`thread_per_event`"], rows)


def jpet_cpu(of):
    """Two cores by instruction set, as far as they are measured."""
    files = [f for f in ("jpet_cpu", "jpet_cpu_avx2") if f in of]
    names = {"AVX3": "AVX-512"}
    head = [names.get(i, i) for i in (of[f].get("instructions", "AVX3") for f in files)]
    return table(["form", *(f"{name}, ms" for name in head), "must be", "nrms"],
                 [[f"`{form}`", *(f"{r['ms']:.0f}" for r in rows), f"<= {rows[0]['bound_ms']:g}",
                   exponent(max(r["nrms_to_reference"] for r in rows))]
                  for form in ("gaussian", "eq7", "full")
                  for rows in [[row_of(of[f]["results"], form=form) for f in files]]])


def jpet_figure(of):
    """Regions and profile of the paper's figure 3 (share/doc/jpet.md)."""
    figure = of["jpet_figure"]
    regions, profile = figure["regions"], figure["profile_rms"]
    names = list(regions["phantom"])
    return table(["Bq/mL", *names, "RMS error of the profile"],
                 [[label, *(f"{values[n]:.0f}" for n in names), f"{profile[label]:.0f}" if label != "phantom" else ""]
                  for label, values in regions.items()])


def figure_3(of):
    """Collisions of the scheme of 2011; until they are counted, that they are not."""
    if "paper_figure_3" not in of:
        return ["Not counted yet."]
    rows = of["paper_figure_3"]["tables"]["figure_3"]["rows"]
    return table(["", "blocks of 1024", "additions", "collisions, %", "the paper", "voxels with none / 1 / 2 / more"],
                 [[r["tof"], str(r["blocks"]), exponent(r["writes"], 3), g(r["percent_of_writes"], 2),
                   g(r["paper_percent"]) if r["paper_percent"] else "",
                   " / ".join(str(r[f"voxels_with_{k}"]) for k in ("none", "1", "2", "more"))] for r in rows])


def tor_bins(of):
    """The TOR before and after ToF bins were integrated; 'before' samples them, whatever their width."""
    now, before = of["tor_bins"]["requirements"], of["tor_bins_before"]["requirements"]
    rows = []
    for name, words in (("tor3_w1", "T_w 3, W1"), ("tor15_w1", "T_w 15, W1"), ("tor3_w3", "T_w 3, W3")):
        old = row_of(before, name=name)["measured"]
        narrow, wide = (row_of(now, name=name + bins)["measured"] for bins in ("", "_bins"))
        rows.append([words, g(old), f"{g(narrow)} ({100 * (narrow / old - 1):+.0f} %)",
                     f"{g(wide)} ({100 * (wide / old - 1):+.0f} %)"])
    return table(["TOR, ms a pass", "sampled", "integrated, bins of 1 mm", "integrated, bins of 1.58 sigma"], rows)


def commits(of):
    """Which results are evidence, and which are to be measured again."""
    again = {"of a changed tree": [], "names no commit": [], "names several commits": []}
    good = {}
    for name in dict.keys(of):
        commit, why = standing(dict.__getitem__(of, name))
        again[why].append(name) if why else good.setdefault(commit, []).append(name)
    files = lambda names: ", ".join(f"`{n}`" for n in names)
    rows = [[f"commit {commit}", files(names)] for commit, names in sorted(good.items())]
    rows += [[f"**to be measured again**: {why}", files(names)] for why, names in again.items() if names]
    return table(["", "files"], rows)


def whole_job(of):
    """What tools/bench_whole_job measured, by the program that it names last."""
    rows = []
    for case, programs in of["whole_job"]["cases"].items():
        r = list(programs.values())[-1]
        limit = [v["limit"] for v in of["whole_job"]["verdicts"] if v["case"] == case and v["what"] == "images_s"]
        rows.append([case, f"{r['images_s']:.2f}", f"{limit[-1]:g}" if limit else "", f"{min(r['images_runs_s']):.2f}",
                     f"{max(r['images_runs_s']):.2f}", f"{r['wall_s']:.2f}", f"{r['fills_the_cache_s']:.2f}",
                     f"{r['engine_s']:.2f}"])
    return table(["whole job, s", "images lie there after", "must be at most", "least", "most", "the command has ended",
                  "without the cache", "engine"], rows)


TABLES = {"cpu_peer": cpu_peer, "cpu_gpu": cpu_gpu, "cpu_gpu_w3": cpu_gpu_w3, "tiles": tiles, "listmode": listmode, "linear": linear, "peers": peers,
          "longlist": longlist, "sensitivity": sensitivity, "sensitivity_error": sensitivity_error, "blobs": blobs,
          "figure_5": figure_5, "table_2": table_2, "table_3": lambda of: cubes(of, "table_3"),
          "table_4": lambda of: cubes(of, "table_4"), "table_5": table_5, "sort": sort, "runtime": runtime, "live_h200": live_h200,
          "ingest_2core": lambda of: ingest(of, 2), "ingest_16core": lambda of: ingest(of, 16), "nema": nema, "jpet": jpet,
          "jpet_2mm": jpet_2mm, "spect_paper": spect_paper, "direct_table_2": direct_table_2,
          "direct_table_3": direct_table_3, "direct_figure_4": direct_figure_4, "jpet_cpu": jpet_cpu, "jpet_figure": jpet_figure, "figure_3": figure_3,
          "tor_bins": tor_bins, "whole_job": whole_job, "commits": commits}
# SPDX-License-Identifier: Apache-2.0
