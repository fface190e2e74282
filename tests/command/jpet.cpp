// Two strips as a user meets them: the pipelines from a simulated file, without a file and live; the phantom's six
// regions; bad input.
#include <fstream>

#include "gadgets/io/nifti/nifti.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"
#include "tests/support/script.hpp"

using namespace tofstream;

namespace {

nlohmann::json run_well(const std::string& arguments, const std::filesystem::path& out) {
  const auto result = run_command("run " + arguments + " --quiet --backend cpu --out " + out.string());
  REQUIRE_MESSAGE(result.code == 0, result.err);
  auto report = nlohmann::json::parse(text_of(out / "run.json"));
  CHECK(report["books"]["balanced"] == true);
  return report;
}

const std::string coarse = " --set image.size=[1,26,30] --set image.voxel_mm=[4,10,10]";

}  // namespace

TEST_CASE("a simulated file becomes the images of figure 3: direct, and after some iterations") {
  const TemporaryFolder out;
  const auto simulated =
      run_command("run jpet_strip_simulate --quiet --set photons.events=20000 --out " + (out / "scan").string());
  REQUIRE_MESSAGE(simulated.code == 0, simulated.err);
  const auto report = run_well("jpet_strip" + coarse + " --input " + (out / "scan/events.txt").string() +
                                   " --set subsets.iterations=4 --set at_iterations=[1,3]",
                               out / "image");
  CHECK(report["books"]["received"] == 20000);
  for (const char* name : {"image_0001", "image_0003", "image", "direct"}) {
    const Image image = read_nifti(out / "image" / (std::string(name) + ".nii.gz"));
    CHECK(image.grid == Grid::centred(1, 26, 30, {4, 10, 10}));
    CHECK(std::filesystem::exists(out / "image" / (std::string(name) + ".png")));
  }
  CHECK_FALSE(std::filesystem::exists(out / "image" / "image_0002.nii.gz"));
  const auto gaussian = run_command("check jpet_strip --set projected.form=gauss");
  CHECK(gaussian.code == 2);
  CHECK(gaussian.err.find("did you mean 'gaussian'") != std::string::npos);
}

TEST_CASE("the six regions of the phantom come out at their activity, by strips that measure sharply") {
  const TemporaryFolder out;
  run_well(
      "jpet_strip_simulated --set photons.events=100000 --set photons.slice_mm=5 --set image.size=[1,52,60]"
      " --set image.voxel_mm=[5,5,5] --set resolution.sigma_z_mm=4 --set resolution.sigma_dl_mm=16"
      " --set subsets.iterations=8 --set picture.every=final",
      out / "image");
  const auto regions = [&](const char* image) {
    return run_command("analyse --json --phantom jpet_strip " + (out / "image" / image).string())
        .json()["studies"][0]["images"][0]["regions"];
  };
  const auto last = regions("image.nii.gz"), direct = regions("direct.nii.gz");
  REQUIRE(last.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    CAPTURE(last[i]["name"].get<std::string>());
    const double truth = last[i]["truth"];
    CHECK(last[i]["mean"].get<double>() == approx(truth).epsilon(0.06));
  }
  CHECK(direct[4]["mean"].get<double>() < 0.9 * 7000);  // the small hot ellipse E, which only the model sharpens
}

TEST_CASE("strips whose pixels are too small for the GPU's fast path say so, and by what") {
  if (!gpu_or_skip()) return;
  const auto said = [](const std::string& pixels) {
    const TemporaryFolder out;
    const auto run =
        run_command("run jpet_strip_simulated --backend cuda --set photons.events=2000" + pixels +
                    " --set subsets.iterations=1 --set at_iterations=[1] --out " + (out / "image").string());
    REQUIRE_MESSAGE(run.code == 0, run.err);
    return run.out + run.err;
  };
  CHECK(said(" --set image.size=[1,130,150] --set image.voxel_mm=[4,2,2]").find("slow path") == std::string::npos);
  const std::string small = said(" --set image.size=[1,173,201] --set image.voxel_mm=[4,1.5,1.5]");
  CHECK_MESSAGE(
      small.find("the slow path on CUDA: an event's ellipse has up to 81 rows of 29 pixels") != std::string::npos,
      small);
}

TEST_CASE("what two strips send is reconstructed live") {
  const TemporaryFolder out;
  const std::string endpoint = " --set endpoint=ipc://" + (out / "socket").string();
  const std::string sender = program().string() + " run jpet_strip_send --quiet --set photons.events=60000 --set " +
                             "sent.speed=0" + endpoint + " --out " + (out / "sent").string() + " >/dev/null 2>&1";
  run_command("run jpet_strip_live --quiet --backend cpu --set feed.endpoint=ipc://" + (out / "socket").string() +
              coarse + " --set subsets.seconds=0.2 --set " +
              "subsets.least_events=1000 --set subsets.iterations=2 --out " + (out / "live").string() +
              " >/dev/null & " + sender + " || kill $!; wait $!");
  const auto report = nlohmann::json::parse(text_of(out / "live" / "run.json"));
  CHECK(report["books"]["balanced"] == true);
  CHECK(report["books"]["reconstructed"] == 60000);
  CHECK(std::filesystem::exists(out / "live" / "image.nii.gz"));
}

TEST_CASE("simulate takes the simulator and the writer of the scanner's kind") {
  const TemporaryFolder out;
  const std::string simulate = "simulate --quiet --scanner jpet_strip --phantom jpet_strip --events 1000 -o ";
  const auto made = run_command(simulate + (out / "events.txt").string());
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const auto image = run_command("run jpet_strip --quiet --backend cpu" + coarse + " --input " +
                                 (out / "events.txt").string() + " --out " + (out / "image").string());
  CHECK_MESSAGE(image.code == 0, image.err);
  const auto wrong = run_command(simulate + (out / "more.txt").string() + " --randoms-cps 5");
  CHECK(wrong.code == 2);
  CHECK_MESSAGE(wrong.err.find("strip_simulator has no parameter 'randoms_cps'") != std::string::npos, wrong.err);
}

TEST_CASE("a file that holds no events of strips, and strips where a ring is wanted, are told in one line") {
  const TemporaryFolder out;
  std::ofstream(out / "events.txt") << "# z_u z_d dl\n1 2 3\n1 2\n";
  const auto bad = run_command("run jpet_strip --quiet --backend cpu" + coarse + " --input " +
                               (out / "events.txt").string() + " --out " + (out / "image").string());
  CHECK(bad.code == 1);
  CHECK_MESSAGE(bad.err.find("line 3: '1 2' is not an event") != std::string::npos, bad.err);
  const auto ring = run_command("run simulate --set scanner=jpet_strip --out " + (out / "ring").string());
  CHECK(ring.code == 2);
  CHECK_MESSAGE(ring.err.find("this is a pair of strips, where a ring of crystals is wanted") != std::string::npos,
                ring.err);
  const auto header =
      run_command("simulate --scanner jpet_strip --header-only -o " + (out / "strips.petsird").string());
  REQUIRE_MESSAGE(header.code == 0, header.err);
  const auto inspected = run_command("inspect --json " + (out / "strips.petsird").string());
  REQUIRE_MESSAGE(inspected.code == 0, inspected.err);
  CHECK(inspected.json()["detection_bins"] == 2);
}

TEST_CASE("the script of figure 3 measures, draws, and says that so few events are not enough") {
  const std::filesystem::path script = script_or_skip("experiments/jpet_figure");
  if (script.empty()) return;
  const TemporaryFolder out;
  const std::string log = (out / "log").string();
  const int status = std::system(("python3 " + script.string() + " --backend cpu --events 500 --tofstream " +
                                  program().string() + " --out " + out.path().string() + " >" + log + " 2>&1")
                                     .c_str());
  CHECK(WEXITSTATUS(status) == 1);
  CHECK_MESSAGE(text_of(log).find("regions off by more than 5 %") != std::string::npos, text_of(log));
  const auto figure = nlohmann::json::parse(text_of(out / "figure.json"));
  CHECK(figure["events"] == 500);
  CHECK(figure["regions"].size() == 6);
  CHECK(figure["regions"]["phantom"]["A"] == 3000);
  for (const char* picture : {"view_image_0050.png", "view_direct.png", "profile.png"})
    CHECK(std::filesystem::file_size(out / picture) > 5000);
}
// SPDX-License-Identifier: Apache-2.0
