// A disk that fills, for each file that a run writes: one line that names the gadget, the file and the cause, exit 1,
// and nothing left of the file. A limit on the size of files stands for the disk: without its signal, writes fail.
#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

struct FullDisk {
  explicit FullDisk(const std::string& arguments, int limit_kib) {
    const std::string line = "trap '' XFSZ; ulimit -f " + std::to_string(2 * limit_kib) + "; exec " +  // of 512 bytes
                             program().string() + " " + arguments + " --quiet --out " + out.string() + " >" +
                             (folder / "stdout").string() + " 2>" + (folder / "stderr").string();
    const int status = std::system(line.c_str());
    code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    err = text_of(folder / "stderr");
    if (!std::filesystem::exists(out)) return;
    for (const auto& entry : std::filesystem::directory_iterator(out)) left.push_back(entry.path().filename().string());
    std::erase(left, "report.html");  // a failed run has it if there was room for it
  }
  const TemporaryFolder folder;
  const std::filesystem::path out = folder / "out";
  int code = 0;
  std::string err;
  std::vector<std::string> left;  // in the output folder
};

std::string example(const std::string& gadget) {
  return "run share/examples/gadgets/" + gadget + ".yaml";
}

// The example's gadget `file` cannot write `name`; the report can be written.
void check_full(const std::string& use, int limit_kib, const std::string& name, const std::string& more = "") {
  const FullDisk disk(example(use) + more, limit_kib);
  CHECK(disk.code == 1);
  CHECK(disk.left == std::vector<std::string>{"run.json"});
  const std::string begin = "share/examples/gadgets/" + use + ".yaml:";
  const std::string end = ": cannot write " + (disk.out / name).string() + ": File too large\n";
  REQUIRE_MESSAGE(disk.err.find(begin) != std::string::npos, disk.err);
  const std::string error = disk.err.substr(disk.err.find(begin));  // after what the gadgets log
  CHECK_MESSAGE(error.find(": gadget 'file'") != std::string::npos, error);
  CHECK_MESSAGE(error.ends_with(end), error);
  CHECK_MESSAGE(std::ranges::count(error, '\n') == 1, error);
}

}  // namespace

TEST_CASE("an image for which there is no room, packed or not, at the end or on the way") {
  check_full("nifti_writer", 32, "image_0001.nii.gz");
  check_full("nifti_writer", 32, "image.nii", " --set file.every=final --set file.file=image.nii");
}

TEST_CASE("a picture for which there is no room") {
  check_full("png_writer", 32, "image.png");
}

TEST_CASE("a list-mode file for which there is no room") {
  check_full("petsird_writer", 1000, "points.petsird");
  const FullDisk disk(example("petsird_writer"), 64);  // not even for its header, which comes with the first events
  CHECK(disk.code == 1);
  CHECK_MESSAGE(disk.err.ends_with(": cannot write " + (disk.out / "points.petsird").string() + ": File too large\n"),
                disk.err);
  CHECK(disk.left == std::vector<std::string>{"run.json"});
}

TEST_CASE("a report for which there is no room from the start: nothing begins") {
  const FullDisk disk(example("null_sink"), 1);
  CHECK(disk.code == 2);
  CHECK(disk.err == "cannot write " + (disk.out / "run.json").string() + ": File too large\n");
  CHECK(disk.left.empty());
}

TEST_CASE("a report for which there is no room fails a run that was done") {
  const FullDisk disk(example("tof_window"), 5);  // run.json is smaller, the report larger
  CHECK(disk.code == 1);
  CHECK(disk.err == "cannot write " + (disk.out / "report.html").string() + ": File too large\n");
  CHECK(disk.left == std::vector<std::string>{"run.json"});
}

TEST_CASE("an output that is full is no success") {
  const TemporaryFolder folder;
  const std::string run =
      "run share/examples/gadgets/null_sink.yaml --quiet --overwrite --out " + (folder / "out").string();
  for (const std::string& command :
       {std::string("check simulate --json"), std::string("gadgets"), std::string("schema"), run, run + " --json"}) {
    CAPTURE(command);
    const auto err = folder / "err";
    const std::string line = program().string() + " " + command + " >/dev/full 2>" + err.string();
    CHECK(WEXITSTATUS(std::system(line.c_str())) == 1);
    CHECK(text_of(err) == "tofstream: cannot write to standard output: No space left on device\n");
  }
}
// SPDX-License-Identifier: Apache-2.0
