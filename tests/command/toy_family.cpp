// A family of scanners that nothing in tofstream names (toy_family/) comes as a plug-in with its own folder of files:
// its simulator, records, files and projector work like any other's.
#include <algorithm>
#include <numeric>

#include "gadgets/io/nifti/nifti.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/skip.hpp"

using namespace tofstream;

namespace {

constexpr int events = 1000;

// The family in a temporary folder: its plug-in, and its files copied from the tree; commands run there.
struct ToyFamily {
  TemporaryFolder folder;

  ToyFamily() {
    const std::filesystem::path from = "tests/command/toy_family";
    for (const auto& file : std::filesystem::directory_iterator(from))
      if (file.path().extension() == ".yaml")
        std::filesystem::copy_file(file.path(), folder / file.path().filename().string());
    std::filesystem::create_directory(folder / "plugins");
    std::filesystem::copy_file(program().parent_path().parent_path() / "lib" / "test_toy_family" / "probe.so",
                               folder / "plugins" / "probe.so");
  }

  std::string line(const std::string& arguments) const {
    return "env -C " + folder.path().string() + " TOFSTREAM_PLUGIN_PATH=" + (folder / "plugins").string() + " " +
           program().string() + " " + arguments;
  }

  void run(const std::string& arguments) const {
    const std::string said = (folder / "said").string();
    CHECK_MESSAGE(std::system((line(arguments) + " >" + said + " 2>&1").c_str()) == 0, text_of(said));
  }

  std::vector<float> image(const std::string& run) const {
    const Image image = read_nifti(folder / run / "image.nii.gz");
    return {image.voxels.span().begin(), image.voxels.span().end()};
  }
};

}  // namespace

TEST_CASE("a family that nothing lists simulates, writes, reads, sends, records and reconstructs") {
  if (!std::filesystem::is_directory("tests/command/toy_family")) return skip_test("sources beside the test");
  const ToyFamily toy;
  toy.run("simulate --quiet --scanner toy_probe.yaml --phantom toy_sphere.yaml --events " + std::to_string(events) +
          " -o events.probe");
  CHECK(std::filesystem::file_size(toy.folder / "events.probe") == 12 * events);
  toy.run("run probe_osem.yaml --quiet --out file");
  const std::vector<float> of_file = toy.image("file");
  CHECK(std::accumulate(of_file.begin(), of_file.end(), 0.0) == approx(events));
  // Voxel 8 along x reaches from 20 to 30 mm, 9 from 30 to 40: the sphere.
  const auto hottest = std::distance(of_file.begin(), std::ranges::max_element(of_file)) % 12;
  CHECK((hottest == 8 || hottest == 9));

  const std::string endpoint = " --set endpoint=ipc://" + (toy.folder / "socket").string();
  toy.run("run probe_live.yaml --quiet --out live" + endpoint + " & " +
          toy.line("run probe_send.yaml --quiet --out sent") + endpoint + " || kill $!; wait $!");
  CHECK(toy.image("live") == of_file);
  toy.run("run probe_replay.yaml --quiet --out replay");
  CHECK(toy.image("replay") == of_file);
}

TEST_CASE("without its plug-in a family's scanner, gadgets and records are unknown, in one line each") {
  if (!std::filesystem::is_directory("tests/command/toy_family")) return skip_test("sources beside the test");
  const TemporaryFolder out;
  const auto scanner =
      run_command("simulate --scanner tests/command/toy_family/toy_probe.yaml -o " + (out / "events").string());
  CHECK(scanner.code == 2);
  CHECK_MESSAGE(scanner.err.find("toy_probe.yaml:1:1: a scanner has one of the keys 'camera'") != std::string::npos,
                scanner.err);
  const auto gadgets = run_command("check tests/command/toy_family/probe_osem.yaml");
  CHECK(gadgets.code == 2);
  CHECK_MESSAGE(gadgets.err.find("probe_decoder") != std::string::npos, gadgets.err);
}
// SPDX-License-Identifier: Apache-2.0
