// Wrong input of every kind ends in one clear line and the right exit code, and leaves nothing behind.
#include <fstream>

#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

// A sensitivity of few lines: none of these images is looked at.
const std::string quick_run =
    "run listmode_osem --quiet --backend cpu --set projected.sensitivity.cache=false --set "
    "projected.sensitivity.exact_pairs=0 --set projected.sensitivity.sampled_pairs=100000 ";

std::string good_stream() {
  static const std::string bytes = [] {
    const TemporaryFolder folder;
    const auto file = folder / "scan.petsird";
    REQUIRE(run_command("simulate --quiet --events 2000 -o " + file.string()).code == 0);
    return text_of(file);
  }();
  return bytes;
}

struct Outcome {
  CommandResult result;
  bool left_image = false;
};

// Runs the main pipeline on a file of these bytes.
Outcome reconstruct(const std::string& bytes, const std::string& more = "") {
  const TemporaryFolder folder;
  const auto file = folder / "scan.petsird", out = folder / "out";
  std::ofstream(file, std::ios::binary) << bytes;
  Outcome outcome;
  outcome.result = run_command(quick_run + "--set image.size=[16,16,8] --set image.voxel_mm=[16,16,16] --input " +
                               file.string() + " --out " + out.string() + " " + more);
  if (std::filesystem::exists(out))
    for (const auto& entry : std::filesystem::directory_iterator(out))
      outcome.left_image =
          outcome.left_image || (entry.path().filename() != "run.json" && entry.path().filename() != "report.html");
  return outcome;
}

void check_fails(const Outcome& outcome, int code, const std::string& says) {
  CHECK(outcome.result.code == code);
  CHECK_FALSE(outcome.left_image);
  const std::string& err = outcome.result.err;
  CHECK_MESSAGE(err.find(says) != std::string::npos, err);
  CHECK_MESSAGE(std::ranges::count(err, '\n') == 1, err);  // one line
}

}  // namespace

TEST_CASE("a stream that is not whole PETSIRD") {
  const std::string good = good_stream();
  check_fails(reconstruct(""), 1, "empty");
  check_fails(reconstruct("This is a text file.\nIt is not list mode.\n"), 1, "PETSIRD");
  check_fails(reconstruct(good.substr(0, good.size() / 2)), 1, "byte");
  check_fails(reconstruct(good.substr(0, 3000)), 1, "byte");
  std::string other_version = good;
  other_version[5] = 9;
  check_fails(reconstruct(other_version), 1, "version");
  std::string other_schema = good;
  other_schema.replace(other_schema.find("CoincidenceEvent"), 16, "CoincidenceErent");
  check_fails(reconstruct(other_schema), 1, "schema");
  std::string corrupt = good;
  for (std::size_t i = good.size() - 4000; i < good.size() - 3900; ++i) corrupt[i] = static_cast<char>(0xff);
  check_fails(reconstruct(corrupt), 1, "byte");
}

TEST_CASE("a file that cannot be read, and a pipeline that is not there") {
  const auto missing = run_command("run listmode_osem --input /nonexistent.petsird --out /tmp/never");
  CHECK(missing.code == 2);
  CHECK(missing.err.find("/nonexistent.petsird") != std::string::npos);
  CHECK(run_command("inspect /nonexistent.petsird").code == 2);
  CHECK(run_command("view /nonexistent.nii -o /tmp/x.png").code == 2);
  CHECK(run_command("compare a.nii b.nii").code == 2);
  const auto pipeline = run_command("run no_such_pipeline");
  CHECK(pipeline.code == 2);
  CHECK(pipeline.err.find("listmode_osem") != std::string::npos);  // it lists the available names
}

TEST_CASE("parameters that make no sense are refused before anything starts") {
  const std::string run = "run listmode_osem --input /dev/null --out /tmp/never ";
  const auto refused = [&](const std::string& set, const std::string& says) {
    const auto result = run_command(run + "--set " + set);
    CHECK(result.code == 2);
    CHECK_MESSAGE(result.err.find(says) != std::string::npos, result.err);
    CHECK_MESSAGE(std::ranges::count(result.err, '\n') == 1, result.err);
  };
  refused("projected.tube_width_voxels=.nan", "tube_width_voxels");
  refused("projected.tube_width_voxels=-3", "[0, 64]");
  refused("projected.tube_width_voxels=0.5", "give 0, or 1 to 64");
  refused("image.size=[0,10,10]", "image.size");
  refused("image.voxel_mm=[2,2]", "image.voxel_mm");
  refused("subsets.subset=3", "did you mean");
  refused("subsets.iterations=many", "iterations");
  CHECK(run_command("run").code == 2);
  CHECK(run_command("frobnicate").code == 2);
  CHECK_FALSE(std::filesystem::exists("/tmp/never"));
}

TEST_CASE("several errors of a pipeline are told at once, each with its place") {
  const TemporaryFolder folder;
  const auto file = folder / "bad.yaml";
  std::ofstream(file)
      << "pipeline: bad\ngadgets:\n  feed: {use: file_sorce, path: x}\n  events: {use: petsird_decoder, from: fed}\n";
  const auto result = run_command("check " + file.string());
  CHECK(result.code == 2);
  CHECK(result.err.find("bad.yaml:3:") != std::string::npos);
  CHECK(result.err.find("did you mean 'file_source'") != std::string::npos);
  CHECK(result.err.find("bad.yaml:4:") != std::string::npos);
}

TEST_CASE("an image larger than memory, an output that cannot be written, a disk that fills") {
  const std::string good = good_stream();
  check_fails(reconstruct(good, "--set image.size=[4096,4096,4096] --set image.voxel_mm=[0.1,0.1,0.1]"), 2, "memory");
  const auto unwritable = run_command("run listmode_osem --quiet --input /dev/null --out /proc/nowhere");
  CHECK(unwritable.code == 2);
  CHECK_MESSAGE(unwritable.err.find("/proc/nowhere") != std::string::npos, unwritable.err);
  const TemporaryFolder folder;
  const auto scan = folder / "scan.petsird";
  std::ofstream(scan, std::ios::binary) << good;
  // A limit on file size stands for the full disk: writes fail with an error instead of a signal. It leaves room for
  // reports.
  const std::string line =
      "cd " + folder.path().string() + "; trap '' XFSZ; ulimit -f 64; " + program().string() + " " + quick_run +
      "--set image.size=[64,64,32] --set file.file=image.nii --input scan.petsird --out full 2>err >/dev/null";
  const int status = std::system(line.c_str());
  CHECK(WEXITSTATUS(status) == 1);
  CHECK_MESSAGE(text_of(folder / "err").find("image") != std::string::npos, text_of(folder / "err"));
  CHECK_FALSE(std::filesystem::exists(folder / "full/image.nii"));
}

TEST_CASE("a file of another format is named, with what tofstream reads and where to read on") {
  using namespace std::string_literals;
  const std::string dicom = std::string(128, '\0') + "DICM" + std::string(100, '\0');
  check_fails(reconstruct("Data filename: scan.cdf\nNumber of events: 10\nData mode: list-mode\n"s), 1,
              "this is a CASToR header; tofstream reads PETSIRD in its binary form, which begins with 'yardl': run "
              "castor_osem, which reads it");
  check_fails(reconstruct("root\0\0\xf5\x5e\0\0\0\0"s), 1,
              "this is a ROOT file, such as GATE writes; tofstream reads PETSIRD in its binary form, which begins with "
              "'yardl': run gate_osem, which reads GATE's");
  for (const auto& [bytes, name] :
       {std::pair{"!INTERFILE :=\n!imaging modality := PT\n"s, "this is an Interfile header; "},
        {"\x89HDF\r\n\x1a\n1234567890"s, "this is an HDF5 file; "},
        {dicom, "this is a DICOM file; "}}) {
    check_fails(reconstruct(bytes), 1, name);
    check_fails(reconstruct(bytes), 1, "tofstream reads PETSIRD in its binary form, which begins with 'yardl'");
    check_fails(reconstruct(bytes), 1, "tofstream docs files, 'Other formats'");
  }
  check_fails(reconstruct("\x28\xb5\x2f\xfd 1234567890"s), 1, "this is a zstd file; unpack it (zstd -d)");
  CHECK(run_command("docs files 'Other formats'").code == 0);
}

TEST_CASE(
    "PETSIRD that gzip packed is read as it is, by run, inspect and from a pipe, and one that is cut short is "
    "refused") {
  const TemporaryFolder folder;
  const std::string plain = (folder / "scan.petsird").string(), packed = plain + ".gz";
  std::ofstream(plain, std::ios::binary) << good_stream();
  REQUIRE(run_line("gzip -k " + plain).code == 0);
  CHECK(run_command("inspect --json " + packed).json() == run_command("inspect --json " + plain).json());
  const std::string run =
      quick_run + "--set image.size=[16,16,8] --set image.voxel_mm=[16,16,16] --set projected.deterministic=true";
  for (const std::string& file : {plain, packed}) {
    const auto ran =
        run_command(run + " --input " + file + " --out " + (folder / "out").string() + file.substr(plain.size()));
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
  }
  const auto piped = run_line("cat " + packed + " | " + program().string() + " " + run + " --input - --out " +
                              (folder / "piped").string());
  REQUIRE_MESSAGE(piped.code == 0, piped.err);
  for (const char* other : {"out.gz", "piped"})
    CHECK(run_command("compare --json " + (folder / "out/image.nii.gz").string() + " " +
                      (folder / other / "image.nii.gz").string())
              .json()["max_abs"] == 0);
  const std::string bytes = text_of(packed);
  check_fails(reconstruct(bytes.substr(0, bytes.size() / 2)), 1, "the file was cut short, get a fresh copy");
}

TEST_CASE("what is wrong with a recording is told with its name") {
  const TemporaryFolder folder;
  const std::string file = (folder / "notes.petsird").string();
  std::ofstream(file) << "these are notes, and no list mode";
  for (const std::string& line :
       {"inspect " + file, "run listmode_osem --quiet --input " + file + " --out " + (folder / "out").string()}) {
    const auto result = run_command(line);
    CHECK_MESSAGE(result.err.find(file + ": PETSIRD stream, byte 0: this is text") != std::string::npos, result.err);
  }
}

TEST_CASE("view of a recording says what shows one") {
  const TemporaryFolder folder;
  std::ofstream(folder / "scan.petsird", std::ios::binary) << good_stream();
  const auto result =
      run_command("view " + (folder / "scan.petsird").string() + " --out " + (folder / "x.png").string());
  CHECK(result.code == 2);
  CHECK(result.err.find("this is a PETSIRD stream, and no image: tofstream inspect says what it holds") !=
        std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
