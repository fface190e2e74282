// Scatter as a user estimates it and corrects for it: in one run, live, and what is refused.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/phantom_yaml.hpp"
#include "gadgets/ring/io/scatter_nifti.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

/// One scan for the tests of this file: scattered pairs take long to simulate.
const std::string& scan_with_scatter() {
  static const TemporaryFolder folder;
  static const std::string file = (folder / "scan.petsird").string();
  if (!std::filesystem::exists(file)) {
    const auto made = run_command(
        "simulate --quiet --phantom uniform_cylinder --events 60000 --randoms-cps 20000 "
        "--delayeds --scatter -o " +
        file);
    REQUIRE_MESSAGE(made.code == 0, made.err);
  }
  return file;
}

struct Body {
  TemporaryFolder folder;
  std::string mu = (folder / "mu.nii.gz").string();

  Body() {
    const auto file = formats::read_phantom(find_shared("phantoms", "uniform_cylinder"));
    write_nifti(mu, file.phantom.mu_image(Grid::centred(40, 40, 24, {6, 6, 6})));
  }
};

struct ScatteredScan : Body {
  std::string scan = scan_with_scatter();

  CommandResult run(const std::string& pipeline, const std::string& out, const std::string& more) const {
    return run_command(fmt::format(
        "run {} --quiet --backend cpu --set image.size=[40,40,24] --set image.voxel_mm=[6,6,6] --set "
        "subsets.iterations=1 --set projected.sensitivity.cache=false --set projected.sensitivity.exact_pairs=0 --set "
        "projected.sensitivity.sampled_pairs=200000 --set projected.deterministic=true --set variables.mu_map={} "
        "--input {} --out {} {}",
        pipeline, mu, scan, (folder / out).string(), more));
  }
};

}  // namespace

TEST_CASE("quantitative_osem corrects for the scatter of its own image from the second iteration on") {
  const ScatteredScan scan;
  const std::string points = "--set scatter.point_mm=50 ";
  const auto image = [&](const char* out) { return read_nifti(scan.folder / out / "image.nii.gz"); };
  const auto figure = [&](const char* out) { return scan.folder / out / "scatter.nii.gz"; };
  const auto run = [&](const std::string& pipeline, const std::string& out, const std::string& more) {
    const CommandResult ran = scan.run(pipeline, out, more);
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    return ran;
  };
  const CommandResult both = run("quantitative_osem", "both", points + "--set subsets.iterations=2");
  CHECK(both.out.find("corrections made: attenuation, normalisation, randoms, scatter;") != std::string::npos);
  CHECK(both.err.find("its scatter is as wrong as it is") == std::string::npos);
  run("corrected_osem", "plain", "--set subsets.iterations=2");
  const std::int64_t middle = image("plain").grid.index(20, 20, 12);
  CHECK(image("both").voxels[middle] < 0.9f * image("plain").voxels[middle]);

  // The second iteration is that of a run which was given the first one's scatter, from the first one's image on.
  const std::string keeping = (scan.folder / "keeping.yaml").string();
  std::ofstream(keeping) << "include: " << find_shared("pipelines", "corrected_osem").string()
                         << "\ngadgets:\n  checkpoint: {use: checkpoint_writer, from: estimate, every_s: 0}\n";
  run(keeping, "first", "");
  const CommandResult second = run("corrected_osem", "second",
                                   fmt::format("--set corrected.scatter.file={} --set estimate.resume_from={}",
                                               figure("both").string(), (scan.folder / "first").string()));
  const auto same = image("second").voxels.to_vector(), in_one = image("both").voxels.to_vector();
  double apart = 0, largest = 0;
  for (std::size_t v = 0; v < same.size(); ++v) {
    apart = std::max(apart, std::abs(static_cast<double>(same[v]) - static_cast<double>(in_one[v])));
    largest = std::max(largest, static_cast<double>(same[v]));
  }
  CHECK(apart < 1e-4 * largest);

  // An image of the decays in two seconds has the scatter of one.
  run("quantitative_osem", "longer", points + "--set subsets.iterations=2 --set reference_s=2");
  const auto most = [&](const char* out) { return std::ranges::max(read_scatter(figure(out)).values); };
  CHECK(most("both") > 0);
  CHECK(most("longer") == approx(most("both")).epsilon(1e-4));
  CHECK(image("longer").voxels[middle] == approx(2 * image("both").voxels[middle]).epsilon(1e-3));

  // It is drawn, and the report shows it.
  CHECK(text_of(scan.folder / "both" / "scatter.png").starts_with("\x89PNG"));
  CHECK(text_of(scan.folder / "both" / "report.html").find("scatter.png: profiles") != std::string::npos);

  // How well it fits what lies beside the body is told for each time that it was made.
  const auto figures_of = [&](const char* out) {
    return nlohmann::json::parse(text_of(scan.folder / out / "run.json"))["gadgets"]["scatter"]["figures"];
  };
  const auto fitted = figures_of("both");
  REQUIRE(fitted["tail_chi2"].size() == 1);
  CHECK(fitted["tail_chi2"][0] > 0.3);
  CHECK(fitted["tail_chi2"][0] < 3);
  CHECK(fitted["tail_misfit"][0] < 0.5);

  // With the other orders by Monte Carlo there is more of it, wider, and the log says how much and how well known.
  const std::string as_made = points + "--set subsets.iterations=2 --set scatter.fit=none ";
  run("quantitative_osem", "single", as_made);
  run("quantitative_osem", "all", as_made + "--set scatter.multiple=monte_carlo --set scatter.multiple_error=0.5");
  const auto figures = figures_of("all");
  const double share = figures["multiple_share"][0], error = figures["multiple_error"];
  CHECK(share > 0.05);
  CHECK(share < 0.3);
  CHECK(error > 0);
  CHECK(error < 0.5);
  const ScatterEstimate single = read_scatter(figure("single")), all = read_scatter(figure("all"));
  const auto sum = [](const ScatterEstimate& of) { return std::accumulate(of.values.begin(), of.values.end(), 0.0); };
  CHECK(sum(single) / sum(all) == approx(1 - share).epsilon(1e-4));
  std::size_t below = 0;
  for (std::size_t v = 0; v < all.values.size(); ++v) below += all.values[v] < single.values[v] ? 1 : 0;
  CHECK(below == 0);
}

TEST_CASE("killed in any iteration, a run with scatter goes on to the image of a run that was not, to the last bit") {
  const ScatteredScan scan;
  const std::string pipeline = (scan.folder / "killed.yaml").string();
  std::ofstream(pipeline) << "include: " << find_shared("pipelines", "quantitative_osem").string()
                          << "\ngadgets:\n  checkpoint: {use: checkpoint_writer, from: estimate, every_s: 0}\n";
  const std::string settings = "--set scatter.point_mm=80 --set subsets.iterations=4 --set subsets.subsets=3 ";
  const auto run = [&](const std::string& out, const std::string& more) {
    return scan.run(pipeline, out, settings + more);
  };
  const auto voxels = [&](const std::string& out) {
    return read_nifti(scan.folder / out / "image.nii.gz").voxels.to_vector();
  };
  const CommandResult undisturbed = run("whole", "");
  REQUIRE_MESSAGE(undisturbed.code == 0, undisturbed.err);
  const auto going_on = [&](int killed_at, const std::string& out, bool in_its_folder) {
    CHECK(run(out, fmt::format("--set 'projected.fault={{kill_at: {}, delay_ms: 40}}'", killed_at)).code == 137);
    const auto from = (scan.folder / out).string();
    const std::string to = in_its_folder ? out : out + "_on";
    const CommandResult went_on = run(to, "--set resume_from=" + from);
    CHECK_MESSAGE(went_on.code == 0, went_on.err);
    CHECK(voxels(to) == voxels("whole"));
    CHECK(text_of(scan.folder / to / "scatter.tofs") == text_of(scan.folder / "whole" / "scatter.tofs"));
  };
  for (const int killed_at : {2, 4, 6, 9, 11}) {  // the first of 12 updates is message 1
    CAPTURE(killed_at);
    going_on(killed_at, fmt::format("killed{}", killed_at), killed_at % 2 == 0);
  }

  // Without the record the scatter is made anew, and said to be.
  CHECK(run("lost", "--set 'projected.fault={kill_at: 9, delay_ms: 40}'").code == 137);
  const auto record = scan.folder / "lost" / "scatter.tofs";
  const std::string whole_record = text_of(record);
  std::filesystem::remove(record);
  const CommandResult lost = run("lost_on", "--set resume_from=" + (scan.folder / "lost").string());
  CHECK(lost.code == 0);
  CHECK_MESSAGE(lost.err.find("scatter.tofs: the scatter is made anew") != std::string::npos, lost.err);
  std::string damaged = whole_record;
  damaged[damaged.size() / 3] ^= 1;
  std::ofstream(record, std::ios::binary) << damaged;
  const CommandResult refused = run("damaged", "--set resume_from=" + (scan.folder / "lost").string());
  CHECK(refused.code == 2);
  CHECK_MESSAGE(refused.err.find("delete it, and the scatter is estimated anew") != std::string::npos, refused.err);
}

TEST_CASE("without ToF all terms are those of whole lines, and a pipeline of which a part uses ToF is refused") {
  const ScatteredScan scan;
  const auto run = [&](const char* out, const std::string& sets) {
    return scan.run("quantitative_osem", out, "--set scatter.point_mm=50 --set subsets.iterations=2 " + sets);
  };
  const auto mean = [&](const char* out) {
    const auto voxels = read_nifti(scan.folder / out / "image.nii.gz").voxels.to_vector();
    return std::accumulate(voxels.begin(), voxels.end(), 0.0) / static_cast<double>(voxels.size());
  };
  REQUIRE(run("with", "").code == 0);
  const CommandResult whole = run("without", "--set tof=false");
  REQUIRE_MESSAGE(whole.code == 0, whole.err);
  CHECK(whole.err.find("events beside the body ask for") == std::string::npos);
  CHECK(mean("without") == approx(mean("with")).epsilon(0.05));
  CHECK(run("events", "--set corrected.tof=false").code == 0);  // they have no ToF any more
  CHECK(mean("events") == approx(mean("without")).epsilon(1e-3));
  const auto refused = [&](const char* part, const char* words) {
    const CommandResult ran = run(part, fmt::format("--set {}.tof=false", part));
    CHECK(ran.code == 1);
    CHECK_MESSAGE(ran.err.find(words) != std::string::npos, ran.err);
  };
  refused("projected", "and the projector has tof: false: write it at the pipeline's top");
  const CommandResult alone = run("alone", "--set projected.tof=false --set 'corrected.randoms={from: none}'");
  CHECK(alone.code == 1);
  CHECK_MESSAGE(alone.err.find("and the projector has tof: false") != std::string::npos, alone.err);
  refused("scatter", "the events have ToF, and this gadget has tof: false: write it at the pipeline's top");
}

TEST_CASE("an image that no scatter was made of, or not as its data need it, says so") {
  ScatteredScan scan;
  const CommandResult early = scan.run("quantitative_osem", "early", "");
  REQUIRE_MESSAGE(early.code == 0, early.err);
  CHECK(early.err.find("the image is not corrected for scatter: the run ended before iteration 2") !=
        std::string::npos);
  CHECK(early.out.find("no correction for scatter") != std::string::npos);
  CHECK(!std::filesystem::exists(scan.folder / "early" / "scatter.nii.gz"));

  const std::string two = "--set subsets.iterations=2 --set scatter.point_mm=50 ";
  const CommandResult low =
      scan.run("quantitative_osem", "low", two + "--set 'mu_map=\"\"' --set scatter.mu_map=" + scan.mu);
  REQUIRE_MESSAGE(low.code == 0, low.err);
  CHECK(low.err.find("not corrected for attenuation, and its scatter is as wrong as it is") != std::string::npos);
  const auto twice = scan.run("quantitative_osem", "both", two);
  REQUIRE_MESSAGE(twice.code == 0, twice.err);
  const CommandResult again =
      scan.run("quantitative_osem", "again",
               two + "--set corrected.scatter.file=" + (scan.folder / "both" / "scatter.nii.gz").string());
  CHECK(again.code == 1);
  CHECK(again.err.find("corrected for scatter already, by") != std::string::npos);
  const std::string of_blobs = (scan.folder / "blobs.yaml").string();
  std::ofstream(of_blobs) << "include: " << find_shared("pipelines", "quantitative_osem").string()
                          << "\nimage: {basis: blobs}\ngadgets:\n  projected: {use: blob_projector, from: "
                             "{events: subsets, image: estimate, additive: scatter}}\n"
                             "  sampled: {use: blob_to_voxels, from: estimate}\n  smoothed: {from: sampled}\n";
  const CommandResult blobs =
      run_command(fmt::format("run {} --quiet --backend cpu --set variables.mu_map={} --input {} --out {}", of_blobs,
                              scan.mu, scan.scan, (scan.folder / "blobs").string()));
  CHECK(blobs.code == 1);
  CHECK(blobs.err.find("of images of voxels, not of blobs") != std::string::npos);
  scan.scan = (scan.folder / "none.petsird").string();
  const auto none = run_command("simulate --quiet --phantom uniform_cylinder --events 20000 -o " + scan.scan);
  REQUIRE_MESSAGE(none.code == 0, none.err);
  const CommandResult clean = scan.run("quantitative_osem", "clean", two);
  REQUIRE_MESSAGE(clean.code == 0, clean.err);
  CHECK(!std::filesystem::exists(scan.folder / "clean" / "scatter.nii.gz"));
  CHECK(clean.out.find("corrections made: attenuation, normalisation;") != std::string::npos);
}

namespace {

/// A live run with scatter of five seconds of a scan, and others of its journal.
struct LiveScatter {
  Body scan;
  std::string endpoint = "ipc://" + in_folder("socket"), journal = in_folder("journal");
  std::string again = "use: journal_source, path: " + journal;

  std::string in_folder(const std::string& name) const { return (scan.folder / name).string(); }
  /// `follow`, `of_scatter`: parameters of live_subsets and single_scatter, each after a comma.
  CommandResult run(const std::string& out, const std::string& feed, const std::string& follow,
                    const std::string& of_scatter = "", const std::string& more = "") const {
    const std::string file = in_folder(out + ".yaml");
    std::ofstream(file) << fmt::format(R"(
backend: cpu
image: {{size: [20, 20, 8], voxel_mm: [16, 16, 18]}}
mu_map: {}
gadgets:
  feed: {{{}}}
  corrected: {{use: event_corrections, from: feed.events}}
  subsets: {{use: live_subsets, from: corrected, seconds: 0.5, least_events: 100, iterations: 2, final: converged{}}}
  scatter: {{use: single_scatter, from: {{events: subsets, image: estimate}}, every_s: 1, point_mm: 75{}}}
  projected: {{use: joseph_projector, from: {{events: subsets, image: estimate, additive: scatter}}, deterministic: true,
    sensitivity: {{exact_pairs: 0, sampled_pairs: 20000, cache: false}}, edge: {{events: {{messages: 1}}}}}}
  estimate: {{use: osem_update, from: projected}}
  checkpoint: {{use: checkpoint_writer, from: estimate, every_s: 0}}
  file: {{use: nifti_writer, from: estimate}}
)",
                                       scan.mu, feed, follow, of_scatter);
    return run_command(fmt::format("run {} --quiet --out {} {}", file, in_folder(out), more));
  }
  /// What it reports of its scatter.
  nlohmann::json figures(const std::string& out, const std::string& feed, const std::string& follow,
                         const std::string& of_scatter = "") const {
    const CommandResult ran = run(out, feed, follow, of_scatter);
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    const auto report = nlohmann::json::parse(text_of(scan.folder / out / "run.json"));
    CHECK(report["books"]["balanced"] == true);
    return report["gadgets"]["scatter"]["figures"];
  }
  /// Those of the live run in the folder "live", which makes the journal.
  nlohmann::json record() const {
    std::jthread scanner([&] {
      run_line("timeout 100 " + program().string() + " run simulate_live --quiet --out " + in_folder("scanner") +
               " --set endpoint=" + endpoint +
               " --set photons.phantom=uniform_cylinder --set photons.attenuation=true --set photons.scatter=true "
               "--set photons.seconds=5 --set photons.activity_scale=0.01 --set photons.batch_events=400");
    });
    return figures("live", fmt::format("use: zmq_source, endpoint: \"{}\", journal: {}", endpoint, journal), "");
  }
  std::vector<float> voxels(const std::string& out) const {
    return read_nifti(scan.folder / out / "image.nii.gz").voxels.to_vector();
  }
  std::string scatter(const std::string& out) const { return text_of(scan.folder / out / "scatter.nii.gz"); }
};

}  // namespace

TEST_CASE("live, scatter is made anew as the scan goes on, and a run that follows the order gives the same image") {
  const LiveScatter live;
  const nlohmann::json made = live.record();
  // Each is of an image of some updates before it took its place.
  REQUIRE(made["from_update"].size() >= 2);
  for (std::size_t n = 0; n < made["from_update"].size(); ++n) CHECK(made["of_update"][n] < made["from_update"][n]);
  const std::string follow = ", follow: " + live.in_folder("live");
  const nlohmann::json followed = live.figures("followed", live.again, follow);
  CHECK(followed["of_update"] == made["of_update"]);
  CHECK(followed["from_update"] == made["from_update"]);
  CHECK(live.voxels("followed") == live.voxels("live"));
  CHECK(live.scatter("followed") == live.scatter("live"));

  // Where updates wait for it, it is of the image that they meet.
  const nlohmann::json waited = live.figures("waited", live.again, follow, ", within_s: 0");
  CHECK(waited["of_update"] == waited["from_update"]);
  CHECK(waited["of_update"][0] == made["of_update"][0]);
  CHECK(live.voxels("waited") != live.voxels("live"));
}

TEST_CASE("killed at any time, a live run goes on with the scatter that it had, and gives the image of its order") {
  const LiveScatter live;
  live.record();
  const std::string journal_alone = "";
  const auto killed = [&](const std::string& out, int at, const std::string& of_scatter, const std::string& more = "") {
    CHECK(live.run(out, live.again, journal_alone, of_scatter,
                   more + fmt::format(" --set 'projected.fault={{kill_at: {}, delay_ms: 40}}'", at))
              .code == 137);
  };
  const auto resume = [&](const std::string& out) { return "--set resume_from=" + live.in_folder(out); };
  const auto goes_on = [&](const std::string& out, const std::string& of_scatter) {
    const CommandResult ran = live.run(out, live.again, journal_alone, of_scatter, resume(out));
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    CHECK_MESSAGE(ran.err.find("not quite that of a run that was not killed") == std::string::npos, ran.err);
    live.figures(out + "_replayed", live.again, ", follow: " + live.in_folder(out), of_scatter);
    CHECK(live.voxels(out) == live.voxels(out + "_replayed"));
    CHECK(live.scatter(out) == live.scatter(out + "_replayed"));
  };
  // Before the first is begun, while one is made, and when some have taken their places.
  for (const int at : {2, 3, 4, 6, 14}) {
    CAPTURE(at);
    const std::string out = fmt::format("killed{}", at);
    killed(out, at, "");
    goes_on(out, "");
  }
  // Twice, and where updates wait for it.
  killed("twice", 5, "");
  killed("twice", 4, "", resume("twice"));
  goes_on("twice", "");
  killed("waiting", 7, ", within_s: 0");
  goes_on("waiting", ", within_s: 0");

  // The record has what is needed from the update of the checkpoint on: for an older one the scatter nearest to it is taken.
  killed("older", 4, "");
  const auto checkpoint = live.scan.folder / "older" / "checkpoint.tofc", kept = live.scan.folder / "kept.tofc";
  std::filesystem::copy_file(checkpoint, kept);
  killed("older", 10, "", resume("older"));
  std::filesystem::copy_file(kept, checkpoint, std::filesystem::copy_options::overwrite_existing);
  const CommandResult older = live.run("older", live.again, journal_alone, "", resume("older"));
  REQUIRE_MESSAGE(older.code == 0, older.err);
  CHECK_MESSAGE(older.err.find("that is taken, so the image is not quite") != std::string::npos, older.err);

  // Without a record the first update has none, and the log says so.
  killed("lost", 9, "");
  std::filesystem::remove(live.scan.folder / "lost" / "scatter.tofs");
  const CommandResult lost = live.run("lost", live.again, journal_alone, "", resume("lost"));
  REQUIRE_MESSAGE(lost.code == 0, lost.err);
  CHECK_MESSAGE(lost.err.find("scatter.tofs: the scatter is made anew") != std::string::npos, lost.err);
}

TEST_CASE("single_scatter refuses what it cannot do, in one line and before data flow") {
  const ScatteredScan scan;
  const auto refusal = [&](const std::string& more) {
    const CommandResult ran = scan.run("quantitative_osem", "refused", "--overwrite " + more);
    CHECK(ran.code == 2);
    return ran.err;
  };
  CHECK(refusal("--set scatter.point_mm=0.5").find("must be in [2, 200] mm") != std::string::npos);
  CHECK(refusal("--set scatter.file=scatter.mat").find("must end in .nii or .nii.gz") != std::string::npos);
  CHECK(refusal("--set scatter.at_iterations=[1]").find("from 2 on") != std::string::npos);
  CHECK(refusal("--set scatter.every_s=10 --set scatter.within_s=20").find("must not be more than every_s, 10 s") !=
        std::string::npos);
  CHECK(refusal("--set scatter.at_iterations=[]").find("from 2 on") != std::string::npos);
  CHECK(refusal("--set scatter.mu_map=" + scan.scan).find("scan.petsird") != std::string::npos);
  // Without a mu map, with the place in the pipeline.
  const std::string without = (scan.folder / "without.yaml").string();
  std::ofstream(without) << R"(backend: cpu
image: {size: [20, 20, 8], voxel_mm: [16, 16, 18]}
gadgets:
  feed: {use: file_source, path: scan.petsird}
  events: {use: petsird_decoder, from: feed}
  subsets: {use: subset_builder, from: events}
  scatter: {use: single_scatter, from: {events: subsets, image: estimate}}
  projected: {use: joseph_projector, from: {events: subsets, image: estimate, additive: scatter}}
  estimate: {use: osem_update, from: projected}
  file: {use: nifti_writer, from: estimate}
)";
  const CommandResult no_map = run_command("check " + without);
  CHECK(no_map.code == 2);
  CHECK_MESSAGE(no_map.err.find("without.yaml:7:3: gadgets.scatter.mu_map is missing") != std::string::npos,
                no_map.err);
}
// SPDX-License-Identifier: Apache-2.0
