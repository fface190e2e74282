// `tofstream check`: the pipelines that come with the program, memory before a run, warnings.
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>
#include <tbb/task_arena.h>

#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

const std::filesystem::path pipelines = "pipelines";  // tests run in the source folder

// What a gadget holds on the host according to `check --memory --json`, or elsewhere; none if it does not say.
std::optional<std::size_t> held(const nlohmann::json& check, const std::string& gadget,
                                const char* where = "host_bytes") {
  for (const auto& entry : check["memory"]["gadgets"])
    if (entry["name"] == gadget && entry.contains(where)) return entry[where].get<std::size_t>();
  return {};
}

}  // namespace

TEST_CASE("every pipeline that comes with the program is good, or says which file is to be given and how") {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(pipelines)) {
    if (entry.path().extension() != ".yaml") continue;
    CHECK_MESSAGE(names.insert(entry.path().stem().string()).second,
                  "two pipelines of one name: ", entry.path().string());
    const auto result = run_command("check " + entry.path().string());
    CHECK_MESSAGE(result.code == 0, result.err);
    CHECK_MESSAGE(result.err.empty(), result.err);  // no warning either
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("to be given: "))
        CHECK_MESSAGE((line.find("; --input FILE") != std::string::npos || line.find("; --set ") != std::string::npos),
                      line);
  }
  CHECK(names.size() >= 5);
}

TEST_CASE("a simulated scan and a recorded one differ in the source alone") {
  const auto edges = [](const std::string& pipeline) {
    const auto json = nlohmann::json::parse(run_command("check --json " + pipeline).out);
    std::vector<std::string> names;
    for (const auto& edge : json["edges"]) names.push_back(edge["edge"]);
    std::ranges::sort(names);
    return names;
  };
  std::vector<std::string> recorded = edges("listmode_osem"), simulated = edges("simulate_osem");
  std::erase(recorded, "feed -> events");
  std::erase(recorded, "events -> sorted");
  std::erase(simulated, "photons -> sorted");
  CHECK(recorded == simulated);
  CHECK(recorded.size() == 7);
}

TEST_CASE("memory is estimated before anything starts, and too much of it is refused") {
  const auto json =
      run_command("check listmode_osem --backend cpu --set image.size=[100,100,100] --memory --json").json();
  const std::size_t image = 4'000'000;
  CHECK(held(json, "estimate") == 2 * image);  // with the inverse sensitivity
  // While the sensitivity is made: 6 images for that, 2 packed ones, and one for each thread but the first.
  const auto threads = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
  CHECK(held(json, "projected") == (6 + 2 + threads - 1) * image);
  CHECK(json["memory"]["device"]["at_least"] == 0);
  for (const auto& edge : json["memory"]["edges"])
    if (edge["edge"] == "smoothed -> file") CHECK(edge["at_most_bytes"] == 64 * image);

  const auto large = run_command("check listmode_osem --backend cpu --set image.size=[4096,4096,4096] --memory");
  CHECK(large.code == 2);
  CHECK_MESSAGE(large.err.find("'projected' (tor_projector): lower image.size") != std::string::npos, large.err);
  const auto text = run_command("check listmode_osem --backend cpu --memory");
  CHECK(text.code == 0);
  CHECK(text.out.find("there is") != std::string::npos);
}

TEST_CASE("what does not fit is refused, by check and before a run, with the largest image that fits") {
  const std::string ranks = "--backend cpu --ranks 64 ";  // too many for any machine
  const std::string shape = ranks + "--set image.size=[4096,4096,2048] ";
  const auto refused = run_command("check listmode_osem --memory " + shape);
  CHECK(refused.code == 2);
  const auto found = refused.err.find("image.size=[");
  REQUIRE_MESSAGE(found != std::string::npos, refused.err);
  const std::string fits = refused.err.substr(found, refused.err.find(" fits", found) - found);
  int x = 0, y = 0, z = 0;
  REQUIRE(std::sscanf(fits.c_str(), "image.size=[%d,%d,%d]", &x, &y, &z) == 3);
  CHECK(x == y);
  CHECK(z == x / 2);
  const auto code = [&](int size) {
    return run_command(
               fmt::format("check listmode_osem --memory {} --set image.size=[{},{},{}]", ranks, size, size, size / 2))
        .code;
  };
  CHECK(code(x) == 0);
  CHECK(code(x + 1) == 2);

  const TemporaryFolder folder;
  const auto run =
      run_command("run listmode_osem --quiet --input /dev/null --out " + (folder / "out").string() + " " + shape);
  CHECK(run.code == 2);
  CHECK_MESSAGE(run.err.find(" fits") != std::string::npos, run.err);
  CHECK_FALSE(std::filesystem::exists(folder / "out"));
  // A subset may be larger than any memory by its parameters, of a scan that is not: its file is read.
  const std::string all_in_one = "listmode_osem --backend cpu --set image.size=[8,8,8] --set subsets.events=1e14 ";
  CHECK(run_command("check --memory " + all_in_one).code == 2);
  const auto small =
      run_command("run --quiet --input /dev/null --out " + (folder / "small").string() + " " + all_in_one);
  CHECK(small.code != 0);
  CHECK_MESSAGE(small.err.find("memory") == std::string::npos, small.err);
}

TEST_CASE("memory counts the ranks of a CPU, each with a projector and a sum") {
  const auto projected = [](int ranks) {
    return held(run_command(fmt::format("check listmode_osem --backend cpu --set image.size=[100,100,100] --ranks {} "
                                        "--memory --json",
                                        ranks))
                    .json(),
                "projected")
        .value();
  };
  const std::size_t one = projected(1), image = 4'000'000;
  // A projector has the packed image and sum, and an image for each thread but the first.
  const std::size_t another = (2 + static_cast<std::size_t>(tbb::this_task_arena::max_concurrency()) - 1 + 1) * image;
  CHECK(projected(2) == one + another);
  CHECK(projected(4) == one + 3 * another);
}

TEST_CASE("a projector on a CPU holds the images that its threads add into, of deterministic sums 16 at most") {
  const auto projected = [](const std::string& more) {
    return held(run_command("check listmode_osem --backend cpu --memory --json " + more).json(), "projected").value();
  };
  const std::string joseph = "--set projected.use=joseph_projector --set projected.deterministic=true ";
  // 10^6 voxels: 16 slots, the first of which adds into the sum itself; 6 images for the sensitivity.
  CHECK(projected(joseph + "--set image.size=[100,100,100]") == (6 + 15) * std::size_t{4'000'000});
  CHECK(projected("--set projected.deterministic=true --set image.size=[100,100,100]") ==
        (6 + 2 + 15) * std::size_t{4'000'000});
  // 8 * 10^6 voxels: adding 8 images costs a quarter of projecting 2^20 events, 2^20 * 256 / 4 / 8e6 = 8.4.
  CHECK(projected(joseph + "--set image.size=[200,200,200]") == (6 + 8) * std::size_t{32'000'000});
  // 40,000 bytes an image: the sensitivity, the padded image and sum, and 15 slots.
  const auto strips = run_command(
      "check share/examples/gadgets/strip_projector.yaml --backend cpu --set image.size=[1,100,100] --memory --json");
  CHECK(held(strips.json(), "projected") == (1 + 2 + 15) * std::size_t{40'000});
}

TEST_CASE("views of 256^3 voxels in 8 subsets fit into 1.5 GiB, of a GPU or of the host") {
  const std::size_t image = std::size_t{256} * 256 * 256 * 4, views = std::size_t{180} * 256 * 256 * 4;
  const std::size_t inverses = std::size_t{128} << 20;  // as osem_update says
  for (const std::string backend : {"cpu", "cuda"}) {
    CAPTURE(backend);
    const auto json = run_command(
                          "check spect_osem --set image.size=[256,256,256] --set image.voxel_mm=4 --memory --json "
                          "--backend " +
                          backend)
                          .json();
    const char* const where = backend == "cpu" ? "host_bytes" : "device_bytes";
    const std::size_t projected = held(json, "projected", where).value();
    const std::size_t estimate = held(json, "estimate", where).value();
    CHECK(estimate == 2 * image);
    // The whole's sensitivity, the image and its sums in columns, planes and footprints of views.
    CHECK(projected > 4 * image);
    CHECK(projected <= 11 * image);
    if (backend == "cpu") {
      const auto fft = run_command(
                           "check spect_osem --set image.size=[256,256,256] --set image.voxel_mm=4 --memory "
                           "--json --backend cpu --set projected.psf_form=fft "
                           "--set scanner=spect_lehr")
                           .json();
      CHECK(held(fft, "projected") == projected + 2 * image);
    }
    const std::size_t messages = 2 * image;  // an estimate and a back projection on their way
    const std::size_t sensitivities = 8 * image;
    CHECK(projected + estimate + messages + sensitivities + (inverses - image) + views < std::size_t{3} << 29);
  }
}

TEST_CASE("the memory of DIRECT's views: counts and sensitivity, randoms as much more, whole counts half of one") {
  const std::size_t of_views = std::size_t{120} * 144 * 144 * 62 * 4;  // one number a point
  const std::string check =
      "check direct_osem --backend cpu --set image.size=[144,144,62] --set image.voxel_mm=4 --memory --json ";
  const auto needs = [&](const std::string& more, std::size_t bytes) {
    CAPTURE(more);
    const auto json = run_command(check + more).json();
    CHECK(held(json, "histo") == bytes);
    CHECK(held(json, "subsets", "kept_bytes") == bytes);
  };
  needs("", 2 * of_views);
  needs("--set histo.deposit=nearest --set histo.counts=uint16", 2 * of_views - of_views / 2);
  // 1.9 GB with counts, sensitivity and what is expected at random.
  const std::string randoms = "--set histo.randoms.from=rate --set histo.randoms.rate_cps=100";
  needs(randoms, 3 * of_views);
  CHECK(3 * of_views / 100'000'000 == 18);
  const auto large = run_command(
      "check direct_osem --backend cpu --set image.size=[2000,2000,2000] --set image.voxel_mm=0.5 --memory");
  CHECK(large.code == 2);
  CHECK_MESSAGE(large.err.find("'histo' (histo_deposit): lower views") != std::string::npos, large.err);
}

TEST_CASE("writers need what they draw and encode, and on the host a copy of an image from a GPU") {
  const std::string check =
      "check listmode_osem --set file.from=estimate --set picture.from=estimate --set image.size=[100,100,100] "
      "--memory --json";
  const std::size_t image = 4'000'000, picture = 2 * 4 * 1200 * 1200;
  const auto on_cpu = run_command(check + " --backend cpu").json();
  CHECK(held(on_cpu, "file") == 0);
  CHECK(held(on_cpu, "picture") == picture);
  const auto on_gpu = run_command(check + " --backend cuda").json();
  CHECK(held(on_gpu, "file") == image);
  CHECK(held(on_gpu, "picture") == picture + image);
  const auto scan = run_command("check simulate --set photons.batch_events=1000 --memory --json").json();
  CHECK(held(scan, "file") == 12 * 1000);
  const auto counted = run_command("check share/examples/gadgets/null_sink.yaml --memory --json").json();
  CHECK(held(counted, counted["memory"]["gadgets"].back()["name"]) == 0);
}

TEST_CASE("check prints every error, each with its place") {
  const TemporaryFolder folder;
  const auto file = folder / "p.yaml";
  std::ofstream(file) << "gadgets:\n  feed: {use: file_sourc}\n  out: {use: null_sink, from: fed}\n";
  const auto bad = run_command("check " + file.string());
  CHECK(bad.code == 2);
  CHECK(bad.err.find(":2:15: gadgets.feed: no gadget is called 'file_sourc', did you mean 'file_source'?") !=
        std::string::npos);
  CHECK(bad.err.find(":3:31: gadgets.out: from 'fed': no gadget has this name, did you mean 'feed'?") !=
        std::string::npos);
}

TEST_CASE("check looks whether what a pipeline names is there, and says it as the run does") {
  const TemporaryFolder folder;
  const auto scan = (folder / "scan.petsird").string(), other = (folder / "scam.petsird").string();
  std::ofstream(scan) << "some";
  const auto file = folder / "p.yaml";
  const auto written = [&](const std::string& scanner, const std::string& phantom) {
    std::ofstream(file) << "scanner: " << scanner
                        << "\ngadgets:\n  photons:\n    use: simulator\n    phantom: " << phantom
                        << "\n  out: {use: null_sink, from: photons}\n";
    return run_command("check " + file.string());
  };
  CHECK(written("demo_ring", "uniform_cylinder").code == 0);
  const auto wrong = written("demo_rign", "uniform_cilinder");
  CHECK(wrong.code == 2);
  CHECK_MESSAGE(wrong.err.find(file.string() + ":1:10: scanner: there is no scanner named 'demo_rign', did you mean "
                                               "'demo_ring'? name a file, or one of ") != std::string::npos,
                wrong.err);
  CHECK_MESSAGE(
      wrong.err.find(file.string() + ":5:14: gadgets.photons.phantom: there is no phantom named "
                                     "'uniform_cilinder', did you mean 'uniform_cylinder'?") != std::string::npos,
      wrong.err);
  const std::string said = "there is no scanner named 'demo_rign', did you mean 'demo_ring'?";
  written("demo_rign", "uniform_cylinder");
  CHECK(run_command("run --quiet --out " + (folder / "out").string() + " " + file.string()).err.find(said) !=
        std::string::npos);

  // A mistake within a file, which two gadgets read, is told once, by check and by the run.
  const auto bad = (folder / "bad.yaml").string();
  std::ofstream(bad) << "name: bad\ncrystals: {rings: 0}\n";
  const std::string checked = "check simulate --set scanner=",
                    simulated = "simulate --quiet --phantom nema_iq -o " + scan + " --scanner ";
  for (const std::string& command : {checked, simulated}) {
    CAPTURE(command);
    const auto result = run_command(command + bad);
    CHECK(result.code == 2);
    CHECK(result.err.find("bad.yaml:2:12: scanner.crystals: unknown key 'rings'") != std::string::npos);
    CHECK(std::ranges::count(result.err, '\n') == 1);
  }
  std::ofstream(bad) << "name: bad\nshape: []\n";
  CHECK(written("demo_ring", bad).err.find("bad.yaml:2:1: ") != std::string::npos);

  // What the pipeline's text names may be given later; what the command line names is meant now.
  const auto later = run_command("check listmode_osem");
  CHECK(later.code == 0);
  CHECK_MESSAGE(
      later.out.find("gadgets.feed.path: scan.petsird: no such file; --input FILE names another") != std::string::npos,
      later.out);
  CHECK(later.out.ends_with("no errors, 1 file to be given\n"));
  CHECK(run_command("check listmode_osem --input " + scan).out.ends_with("no errors\n"));
  const auto missing = run_command("check listmode_osem --input " + other);
  CHECK(missing.code == 2);
  const std::string no_file = other + ": no such file, did you mean 'scan.petsird'?";
  CHECK_MESSAGE(missing.err.find(no_file) != std::string::npos, missing.err);
  CHECK(run_command("run listmode_osem --quiet --out " + (folder / "out").string() + " --input " + other)
            .err.find(no_file + " --input FILE names another\n") != std::string::npos);
  const auto no_map = run_command("run corrected_osem --quiet --out " + (folder / "out").string() + " --input " + scan +
                                  " --set variables.mu_map=/nowhere/mu.nii");
  CHECK_MESSAGE(
      no_map.err.find("/nowhere/mu.nii: no such file; --set mu_map=FILE names another, and 'tofstream phantom") !=
          std::string::npos,
      no_map.err);
  const auto map = run_command("check listmode_osem --set mu_map=nowhere.nii --json --input " + scan);
  CHECK(map.code == 2);
  CHECK(map.json()["errors"].size() == 1);
  CHECK(map.json()["to_be_given"].empty());
}

TEST_CASE("a join that may stop for good is a warning before the run, with its place and a remedy") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "plugins");
  std::filesystem::copy(program().parent_path() / "../lib/test_plugins/good.so", folder / "plugins/joins.so");
  const auto file = folder / "p.yaml";
  const auto with_pair = [&](const std::string& more) {
    std::ofstream(file) << "gadgets:\n  feed: {use: plugin_numbers, count: 400}\n  odd: {use: plugin_odd, from: feed}\n"
                           "  pair: {use: plugin_pair, from: {left: odd, right: feed}"
                        << more << "}\n  sum: {use: plugin_sum, from: pair}\n";
    return fmt::format(" {} --plugins {}", file.string(), (folder / "plugins").string());
  };
  const std::string warning =
      file.string() +
      ":4:53: gadgets.pair: 'left' and 'right' may pair wrong messages, or one fills and all stops: both come from "
      "'feed', but 'odd' (plugin_odd) may give more or fewer messages than it takes: write join: sequence, or join: "
      "in_order where that is meant";
  const auto text = run_command("check" + with_pair(""));
  CHECK(text.code == 0);
  CHECK(text.err == "warning: " + warning + "\n");
  CHECK(text.out.ends_with("p: 4 gadgets, 4 edges, no errors, 1 warning\n"));
  const auto json = run_command("check --json" + with_pair(""));
  CHECK(json.json()["warnings"] == nlohmann::json{warning});
  const std::string joined = with_pair(", join: sequence");
  CHECK(run_command("check" + joined).err.empty());
  const auto run = run_command("run --quiet --json --out " + (folder / "out").string() + joined);
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(run.json()["gadgets"]["sum"]["figures"]["sum"] == 2 * 200 * 200);  // 1 + 3 + ... + 399 is 200 squared
}

TEST_CASE("check says what a projector refuses of its parameters alone, as the run does before any data flow") {
  const TemporaryFolder folder;
  const std::string in = " direct_osem --set projected.", out = " --quiet --out " + (folder / "out").string();
  for (const auto& [parameters, words] : std::map<std::string, std::string>{
           {"operator=fft --set projected.lor_fwhm_at_mm=[[0,5],[100,8]]",
            "operator fft needs one kernel for all voxels"},
           {"scheme=paper --set projected.operator=one_stage", "scheme paper is one of operator two_stage"}}) {
    CAPTURE(parameters);
    const auto checked = run_command("check" + in + parameters), run = run_command("run" + in + parameters + out);
    CHECK(checked.code == 2);
    CHECK_MESSAGE(checked.err.find("gadget 'projected': " + words) != std::string::npos, checked.err);
    CHECK(run.code == 2);
    CHECK_MESSAGE(run.err.find("gadget 'projected': " + words) != std::string::npos, run.err);
    CHECK(!std::filesystem::exists(folder / "out" / "run.json"));  // no data flowed
  }
  // A file that is not there yet is not a wrong kernel.
  const auto later = run_command("check" + in + "lor_table=nowhere.yaml --set projected.operator=one_stage");
  CHECK_MESSAGE(later.err.find("nowhere.yaml: no such file") != std::string::npos, later.err);
}

TEST_CASE("a gadget whose output nobody reads is a warning with its place and a remedy") {
  const TemporaryFolder folder;
  const auto file = (folder / "unread.yaml").string();
  std::ofstream(file) << "scanner: demo_ring\ngadgets:\n"
                         "  photons: {use: simulator, phantom: nema_iq, events: 1000, attenuation: false}\n"
                         "  sorted: {use: tof_partition, from: photons}\n";
  const auto result = run_command("check " + file);
  CHECK(result.code == 0);
  CHECK(result.err == "warning: " + file +
                          ":4:3: no gadget reads what 'sorted' (tof_partition) gives, so it is thrown away: write "
                          "'from: sorted' in the gadget that is to read it\n");
  CHECK(result.out.ends_with("unread: 2 gadgets, 1 edge, no errors, 1 warning\n"));
}
// SPDX-License-Identifier: Apache-2.0
