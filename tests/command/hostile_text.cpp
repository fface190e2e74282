// Text from outside never reaches a terminal or a log unchanged: each source of it, as a user meets it.
#include <algorithm>
#include <thread>

#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

// A forged line, a terminal's title, an erased screen, and letters that run backwards: as text, and as YAML has it.
const std::string hostile = "zz\n22:22:22 info forged\x1b]0;owned\x07\x1b[2J\u202e";
const std::string hostile_yaml = R"("zz\n22:22:22 info forged\x1b]0;owned\x07\x1b[2J\u202e")";
const std::string harmless = R"(zz\n22:22:22 info forged\x1b]0;owned\x07\x1b[2J\u202e)";

void check_harmless(const std::string& text, bool is_told = true) {
  CAPTURE(text);
  CHECK(text.find("\n22:22:22") == std::string::npos);
  CHECK(std::ranges::none_of(text, [](unsigned char c) { return c != '\n' && (c < 0x20 || c == 0x7f); }));
  CHECK(text.find("\u202e") == std::string::npos);
  if (is_told) CHECK(text.find(harmless) != std::string::npos);
}

std::string written(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file) << text;
  return file.string();
}

int shell(const std::string& line) {
  return std::system(line.c_str());
}

}  // namespace

TEST_CASE("names of gadgets and pipelines that are checked") {
  const TemporaryFolder folder;
  const auto good = run_command("check " + written(folder / "good.yaml", "pipeline: " + hostile_yaml +
                                                                             "\ngadgets:\n  " + hostile_yaml +
                                                                             ": {use: file_source, path: x}\n  end: "
                                                                             "{use: null_sink, from: " +
                                                                             hostile_yaml + "}\n"));
  check_harmless(good.out + good.err);
  const auto bad = run_command(
      "check " + written(folder / "bad.yaml", "gadgets:\n  " + hostile_yaml + ": {use: " + hostile_yaml + "}\n"));
  CHECK(bad.code == 2);
  check_harmless(bad.out + bad.err);
}

TEST_CASE("names of files in a folder of plug-ins") {
  const TemporaryFolder folder;
  written(folder / (hostile + ".so"), "no library");
  const auto listed = run_command("gadgets --plugins " + folder.path().string());
  check_harmless(listed.out + listed.err);
  const auto warned = run_command("--plugins " + folder.path().string() + " check live_osem");
  check_harmless(warned.out + warned.err);
}

TEST_CASE("the name of a scanner in a PETSIRD file, and what is printed of it") {
  const TemporaryFolder folder;
  std::string scanner = text_of("share/scanners/demo_ring.yaml");
  const std::string name = "name: demo_ring\n";
  scanner.replace(scanner.find(name), name.size(), "name: " + hostile_yaml + "\n");
  const std::string scan = (folder / "scan.petsird").string();
  const auto made = run_command("simulate --quiet --events 1000 --scanner " +
                                written(folder / "scanner.yaml", scanner) + " -o " + scan);
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const auto inspected = run_command("inspect " + scan);
  CHECK(inspected.code == 0);
  check_harmless(inspected.out + inspected.err);
}

TEST_CASE("the name of a pipeline that a client sends: in the server's log and in another client's list") {
  const TemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder / "socket").string(), log = (folder / "log").string(),
                    scan = (folder / "scan.petsird").string(), tofstream = program().string();
  REQUIRE(run_command("simulate --quiet --phantom uniform_cylinder --events 20000 -o " + scan).code == 0);
  std::filesystem::create_directory(folder / "pipelines");
  const std::string pipeline = written(folder / "p.yaml", "pipeline: " + hostile_yaml + R"(
backend: cpu
image: {size: [16, 16, 8], voxel_mm: [16, 16, 18]}
gadgets:
  feed: {use: zmq_source}
  events: {use: petsird_decoder, from: feed.bytes}
  sorted: {use: tof_partition, from: events}
  subsets: {use: subset_builder, from: sorted, subsets: 2, reference_s: 1}
  projected: {use: joseph_projector, from: {events: subsets, image: estimate},
    sensitivity: {exact_pairs: 0, sampled_pairs: 20000, cache: false}}
  estimate: {use: osem_update, from: projected}
  images: {use: zmq_image_sink, from: estimate}
)");
  // The list is requested while the slow client's run is there.
  const int code =
      shell(tofstream + " serve " + endpoint + " --pipelines " + (folder / "pipelines").string() + " --out " +
            (folder / "served").string() + " --patience 300 2>" + log + " & server=$!; " + tofstream + " send " +
            endpoint + " --quiet --patience 300 --pipeline " + pipeline + " --input " + scan + " --speed 0.001 --out " +
            (folder / "sent").string() + " >" + (folder / "sent.log").string() +
            " 2>&1 & client=$!; for n in $(seq 600); do grep -q begins " + log +
            " && break; kill -0 $client || break; sleep 0.1; done; " + tofstream + " send " + endpoint +
            " --list --patience 300 >" + (folder / "list").string() +
            " 2>&1; code=$?; kill -KILL $client; wait $client; kill -INT $server; wait $server; exit $code");
  CHECK(code == 0);
  check_harmless(text_of(log));
  check_harmless(text_of(folder / "list"));
  check_harmless(text_of(folder / "sent.log"), false);
}
// SPDX-License-Identifier: Apache-2.0
