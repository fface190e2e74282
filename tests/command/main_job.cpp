// The main job as a user runs it: simulate, inspect, reconstruct, compare, analyse, view.
#include "gadgets/io/nifti/nifti.hpp"
#include "kernels/analysis/roi.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

namespace {

const std::string image_sets =
    " --set image.size=[64,64,32] --set image.voxel_mm=[4,4,4] --set projected.sensitivity.cache=false --backend cpu ";

// In a tenth of the time that all pairs take the tube of response.
const std::string of_a_sample =
    " --set projected.sensitivity.exact_pairs=0 --set projected.sensitivity.sampled_pairs=600000 ";

// One small scan for the tests of this file: it takes a second to simulate.
const std::filesystem::path& scan() {
  static const TemporaryFolder folder;
  static const std::filesystem::path file = folder / "scan.petsird";
  if (!std::filesystem::exists(file)) {
    const auto made = run_command(
        "simulate --quiet --phantom uniform_cylinder --events 300000 --seed 5 --no-attenuation -o " + file.string());
    REQUIRE_MESSAGE(made.code == 0, made.err);
  }
  return file;
}

}  // namespace

TEST_CASE("inspect says what a simulated file holds, as JSON with the promised keys") {
  const auto result = run_command("inspect --json --bin 0 " + scan().string());
  REQUIRE(result.code == 0);
  const auto json = result.json();
  CHECK(json["prompts"] == 300000);
  CHECK(json["delayeds"] == 0);
  CHECK(json["detection_bins"] == 6144);
  CHECK(json["tof_bins"] == 41);
  CHECK(json["time_blocks"].get<int>() >= 1);
  CHECK(json["format"].get<std::string>().find("PETSIRD") == 0);
  CHECK(json["schema_sha256"] == "f0d2313d714872eab064fb1bf29a669e2750aa11be2040bddc9fd2adf9a8e9b9");
  CHECK(json["bin_centre_mm"].size() == 3);
}

TEST_CASE("a simulated scan reconstructs to its activity in Bq/mL, alike by both projectors and both paths") {
  const TemporaryFolder out;
  const auto run = [&](const std::string& pipeline, const std::string& folder, const std::string& more) {
    const auto result =
        run_command("run " + pipeline + image_sets + more + " --quiet --out " + (out / folder).string());
    REQUIRE_MESSAGE(result.code == 0, result.err);
    return read_nifti(out / folder / "image.nii.gz");
  };
  const std::string file = " --input " + scan().string() + " --set subsets.reference_s=1 --set subsets.iterations=2";
  const Image tor = run("listmode_osem", "tor", file + of_a_sample);
  const Image joseph = run("joseph_osem", "joseph", file);
  const Image direct = run("simulate_osem", "direct",
                           " --set photons.phantom=uniform_cylinder --set photons.events=300000 --set photons.seed=5 "
                           "--set subsets.iterations=2" +
                               of_a_sample);
  const Image blobs = run("listmode_osem_blobs", "blobs",
                          file + of_a_sample +
                              " --set image.size=[34,34,18] --set image.voxel_mm=[8.15,8.15,8.15] --set "
                              "subsets.subsets=8 --set sampled.size=[64,64,32]");
  const auto json = nlohmann::json::parse(text_of(out / "tor" / "run.json"));
  CHECK(json["books"]["balanced"] == true);
  CHECK(json["books"]["received"] == 300000);
  for (const Image* image : {&tor, &joseph, &direct, &blobs})
    CHECK(statistics(*image, Cylinder{{0, 0, 0}, 60, 60}).mean ==
          approx(statistics(tor, Cylinder{{0, 0, 0}, 60, 60}).mean).epsilon(0.01));
  const auto compared = run_command("compare --json " + (out / "direct/image.nii.gz").string() + " " +
                                    (out / "tor/image.nii.gz").string());
  REQUIRE(compared.code == 0);
  CHECK(compared.json()["correlation"].get<double>() > 0.99);
  CHECK(compared.json().contains("nrms"));
  CHECK(compared.json().contains("max_abs"));
  for (const char* name : {"image.png", "image_mip.png"}) CHECK(std::filesystem::file_size(out / "tor" / name) > 10000);
  const auto view =
      run_command("view " + (out / "tor/image.nii.gz").string() + " --mip -o " + (out / "view.png").string());
  CHECK(view.code == 0);
  CHECK(std::filesystem::file_size(out / "view.png") > 10000);
  const auto analysed = run_command("analyse --json --phantom uniform_cylinder " + (out / "tor").string());
  REQUIRE_MESSAGE(analysed.code == 0, analysed.err);
  for (const auto& region : analysed.json()["studies"][0]["images"][0]["regions"])
    CHECK(region["mean"].get<double>() == approx(region["truth"].get<double>()).epsilon(0.03));
}

TEST_CASE("the same scan gives the same image, bit for bit") {
  const TemporaryFolder out;
  for (const char* folder : {"a", "b"})
    REQUIRE(run_command("run listmode_osem --quiet --set subsets.iterations=1" + image_sets + of_a_sample +
                        "--set image.size=[32,32,16] --set image.voxel_mm=[8,8,8] --input " + scan().string() +
                        " --out " + (out / folder).string())
                .code == 0);
  CHECK(run_command("compare --json " + (out / "a/image.nii.gz").string() + " " + (out / "b/image.nii.gz").string())
            .json()["max_abs"] == 0);
}

TEST_CASE("standard input and a named pipe are sources too") {
  const TemporaryFolder out;
  const std::string run = program().string() + " run joseph_osem --quiet --set subsets.iterations=1" + image_sets;
  const std::string piped =
      "cat " + scan().string() + " | " + run + " --input - --out " + (out / "piped").string() + " >/dev/null 2>&1";
  CHECK(std::system(piped.c_str()) == 0);
  const std::string fifo = (out / "fifo").string();
  const std::string named = "mkfifo " + fifo + " && { cat " + scan().string() + " > " + fifo + " & " + run +
                            " --input " + fifo + " --out " + (out / "named").string() + " >/dev/null 2>&1; }";
  CHECK(std::system(named.c_str()) == 0);
  CHECK(run_command("compare --json " + (out / "piped/image.nii.gz").string() + " " +
                    (out / "named/image.nii.gz").string())
            .json()["max_abs"] == 0);
}

TEST_CASE("the resolution model's pipeline runs, and every iteration can be written") {
  const TemporaryFolder out;
  const auto result =
      run_command("run listmode_osem_psf --quiet --set subsets.iterations=2 --set file.every=iteration" + image_sets +
                  " --input " + scan().string() + " --out " + (out / "psf").string());
  REQUIRE_MESSAGE(result.code == 0, result.err);
  for (const char* name : {"image_0001.nii.gz", "image_0002.nii.gz", "image.nii.gz"})
    CHECK(std::filesystem::exists(out / "psf" / name));
}

TEST_CASE("the version names commit, flags, compiler and GPUs, and what the program is not for") {
  const auto said = run_command("--version");
  CHECK(said.code == 0);
  CHECK(said.out.find("tofstream ") == 0);
  CHECK(said.out.find(" (") != std::string::npos);
  CHECK(said.out.find("), commit ") < said.out.find('\n'));
  CHECK(said.out.find("\ncompiler: ") != std::string::npos);
  CHECK(said.out.find("; GPUs here: ") != std::string::npos);
  CHECK(said.out.find("\nbetween ranks: NCCL: ") != std::string::npos);
  CHECK(said.out.find("; MPI: ") != std::string::npos);
  CHECK(said.out.find("not for clinical use") != std::string::npos);
}

TEST_CASE("without a GPU the CUDA backend says so, and auto takes the CPU") {
  const WithoutGpu hidden;
  const TemporaryFolder folder;
  const auto result = run_command("run listmode_osem --backend cuda --out " + (folder / "none").string() + " --input " +
                                  scan().string());
  CHECK(result.code == 2);
  CHECK(result.err.find("CUDA") != std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
