// `tofstream-bench scaling --predict`, as a user runs it: what a cluster should take, from results of one host.
#include <fstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

/// Two seconds an iteration of ten subsets on one GPU, of an image of 4 MB that takes 1 ms to copy and 0.5 ms to add.
const char* const results_of_one =
    R"({"bench": "scaling", "machine": {"gpu": "some"}, "events": 1e9, "size": [100, 100, 100], "subsets": 10, "copy_of_image_ms": 1,
        "adding_an_image_ms": 0.5, "results": [{"projector": "joseph", "ranks": 1, "later_s": 2},
        {"projector": "joseph", "ranks": 2, "later_s": 1.1}]})";

struct ClusterFolder {
  TemporaryFolder folder;
  std::string cluster = (folder / "cluster.yaml").string(), results = (folder / "scaling.json").string();
  ClusterFolder() { std::ofstream(results) << results_of_one; }
  CommandResult predict(const std::string& yaml, const std::string& more = "") const {
    std::ofstream(cluster) << yaml;
    return run_bench("scaling --predict " + cluster + " --results " + results + " " + more);
  }
};

}  // namespace

TEST_CASE("bench scaling predicts a cluster from one host's results, and says that it is a prediction") {
  const ClusterFolder in;
  const std::string yaml = "gpus_a_host: 4\nnetwork_gb_per_s: 4\nnetwork_latency_us: 500\ngpus: [1, 2, 4, 8]\n";
  const auto made = in.predict(yaml, "--json");
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const auto rows = made.json()["predicted"];
  REQUIRE(rows.size() == 4);
  CHECK(rows[0]["predicted_s"].get<double>() == approx(2));
  // The estimate there and the half of it that is summed, back; half of the image is added by each.
  CHECK(rows[1]["predicted_s"].get<double>() == approx(1 + 10 * (2e-3 + 0.25e-3)));
  CHECK(rows[1]["ranks_are"] == "GPUs of one process");
  CHECK(rows[2]["hosts"] == 1);
  // The estimate, seven eighths of it in slabs, as much to the first; three latencies, and slabs that are added.
  CHECK(rows[3]["predicted_s"].get<double>() == approx(0.25 + 10 * (2.75e-3 + 3 * 0.5e-3 + 7 * 0.5e-3 / 8)));
  CHECK(rows[3]["ranks_are"] == "processes");
  CHECK(rows[3]["hosts"] == 2);
  // Seven images each way, at 1.5 ms, and seven additions.
  const auto in_messages = in.predict(yaml + "images: messages\n", "--json").json()["predicted"][3];
  CHECK(in_messages["predicted_s"].get<double>() == approx(0.25 + 10 * (14 * 1.5e-3 + 7 * 0.5e-3)));
  CHECK(in_messages["predicted_of_ideal"].get<double>() == approx(0.25 / 0.495));
  CHECK(in.predict(yaml).out.starts_with("Predicted, not measured"));
  // Ten times as many events take ten times as long, and images as long as before.
  const auto many = in.predict(yaml + "events: 1e10\n", "--json").json()["predicted"];
  CHECK(many[0]["predicted_s"].get<double>() == approx(20));
  CHECK(many[1]["predicted_s"].get<double>() == approx(10 + 10 * (2e-3 + 0.25e-3)));
  CHECK(rows[1]["events"] == 1e9);
  CHECK(many[1]["events"] == 1e10);
  // A stated copy counts before a measured one.
  const auto slower = in.predict("gpus_a_host: 2\nnetwork_gb_per_s: 4\ncopy_gb_per_s: 2\ngpus: [2]\n", "--json");
  CHECK(slower.json()["predicted"][0]["predicted_s"].get<double>() == approx(1 + 10 * (4e-3 + 0.25e-3)));
}

TEST_CASE("the table of when more GPUs stop helping is what the command predicts from the results of this repository") {
  const TemporaryFolder folder;
  const std::string cluster = (folder / "cluster.yaml").string(), document = text_of("share/doc/ranks.md");
  for (const std::string events : {"1e9", "1e10"}) {
    std::ofstream(cluster)
        << "gpus_a_host: 8\nnetwork_gb_per_s: 50\nnetwork_latency_us: 20\ngpus: [2, 4, 8, 16, 64, 256, "
           "1024]\nevents: "
        << events << "\n";
    const auto made = run_bench("scaling --predict " + cluster + " --results share/benchmarks/scaling.json --json")
                          .json()["predicted"];
    for (const std::string projector : {"joseph", "tor"}) {
      std::string row = fmt::format("| {} | {} |", events, projector == "tor" ? "TOR" : "Joseph");
      for (const auto& of : made)
        if (of["projector"] == projector)
          row += fmt::format(" {:.0f} % |", 100 * of["predicted_of_ideal"].get<double>());
      CHECK_MESSAGE(document.find(row + "\n") != std::string::npos, row);
    }
  }
}

TEST_CASE("bench scaling times iterations and sensitivities by ranks of a CPU") {
  const auto made = run_bench(
      "scaling --backend cpu --scanner demo_ring --events 20000 --size 20 20 10 --voxel 12 --subsets 2 --iterations 2 "
      "--ranks 1 2 --projector blobs --sensitivity-pairs 400000 --json");
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const auto report = made.json();
  REQUIRE(report["results"].size() == 2);
  REQUIRE(report["sensitivity"].size() == 2);
  for (const auto& row : report["sensitivity"]) {
    CHECK(row["projector"] == "blobs");
    CHECK(row["pairs"].get<double>() > 10'000);
    CHECK(row["of_pairs"].get<double>() > 1e6);
    CHECK(row["nrms_to_one"].get<double>() < 1e-6);
  }
  CHECK(report["sensitivity"][0]["of_ideal"] == 1);
}

TEST_CASE("bench scaling refuses clusters and results that say too little, in one line") {
  const ClusterFolder in;
  const auto refusal = [&](const std::string& yaml) {
    const auto made = in.predict(yaml);
    CHECK(made.code == 2);
    CHECK(std::ranges::count(made.err, '\n') == 1);
    return made.err;
  };
  const auto has = [](const std::string& text, const char* words) {
    CAPTURE(text);
    return text.find(words) != std::string::npos;
  };
  const std::string yaml = "gpus_a_host: 4\nnetwork_gb_per_s: 4\ngpus: [2]\n";
  CHECK(has(refusal("gpus_a_host: 4\ngpus: [2]\n"), "network_gb_per_s"));
  CHECK(has(refusal("gpus_a_host: 4\nnetwork_gb_per_s: 4\ngpus: [0]\n"), "from 1 to a million"));
  CHECK(has(refusal(yaml + "colour: red\n"), "colour"));
  std::ofstream(in.results) << "not json";
  CHECK(has(refusal(yaml), "no JSON of tofstream-bench scaling"));
  std::ofstream(in.results) << R"({"machine": {}, "results": []})";
  CHECK(has(refusal(yaml), "no results of tofstream-bench scaling with CUDA"));
  std::string alone = results_of_one;
  alone.replace(alone.find("copy_of_image_ms\": 1"), 20, "copy_of_image_ms\": 0");
  std::ofstream(in.results) << alone;
  CHECK(has(refusal(yaml), "give copy_gb_per_s"));
  std::filesystem::remove(in.results);
  CHECK(has(refusal(yaml), "cannot be read"));
}
// SPDX-License-Identifier: Apache-2.0
