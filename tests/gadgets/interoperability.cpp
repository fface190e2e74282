// Files written by the standard's own software, reconstructed by the pipelines as a user runs them, on the scale that
// their notes promise. Runs if TOFSTREAM_INTEROP_DATA names the folder.
#include <filesystem>

#include "core/pipeline/pipeline.hpp"
#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/analysis/roi.hpp"
#include "tests/command/command.hpp"
#include "tests/io/petsird_toy.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/interop.hpp"

using namespace tofstream;

namespace {

Image reconstruct(const std::string& pipeline, const std::filesystem::path& input, std::vector<std::string> sets) {
  const TemporaryFolder out;
  sets.emplace_back("projected.sensitivity.cache=false");
  sets.emplace_back("subsets.reference_s=0");         // their activity counts the decays of the whole scan
  sets.emplace_back("events.detector_depth=centre");  // their model's lines join crystals' centres
  Engine engine(load_pipeline(find_shared("pipelines", pipeline),
                              {.sets = std::move(sets), .input = input.string(), .backend = "cpu"}),
                {.output_dir = out.path()});
  const RunReport report = engine.run();
  for (const auto& error : report.errors) FAIL(error.text());
  CHECK(report.exit_code == exit_ok);
  CHECK(report.books.balanced());
  return read_nifti(out / "image.nii.gz");
}

// Centroid of what exceeds the surroundings by `background`, within `radius_mm` of a point.
Vec3d centroid(const Image& image, Vec3 about, float radius_mm, double background) {
  double weight = 0;
  Vec3d sum;
  for (int k = 0; k < image.grid.size[2]; ++k)
    for (int j = 0; j < image.grid.size[1]; ++j)
      for (int i = 0; i < image.grid.size[0]; ++i) {
        const Vec3 p = image.grid.centre(i, j, k);
        if (norm(p - about) > radius_mm) continue;
        const double w = static_cast<double>(image.voxels[image.grid.index(i, j, k)]) - background;
        weight += w;
        sum = sum + w * p.as<double>();
      }
  return (1 / weight) * sum;
}

}  // namespace

TEST_CASE("the known cylinder phantom comes back on its absolute scale, spheres in place") {
  const auto data = interop_folder_or_skip();
  if (data.empty()) return;
  const auto folder = data / "petsird";
  for (const std::string pipeline : {"listmode_osem", "joseph_osem"}) {
    CAPTURE(pipeline);
    const Image image = reconstruct(pipeline, folder / "phantom_tof_400k.petsird",
                                    {"image.size=[60, 60, 40]", "image.voxel_mm=[2, 2, 2]", "subsets.iterations=4"});
    // Background: cylinders along the axis that keep clear of the three spheres.
    for (const Vec3 centre : {Vec3{-25, 20, 0}, Vec3{-5, -28, 0}, Vec3{25, -22, 0}})
      CHECK(statistics(image, Cylinder{centre, 9, 36}).mean == approx(1.0).epsilon(0.03));
    const Sphere hot{{22, 5, 4}, 8}, cold{{-18, -10, -4}, 5}, small{{5, 28, -8}, 5};
    CHECK(statistics(image, Sphere{hot.centre_mm, 8}).mean == approx(8.0).epsilon(0.08));  // partial volume at its wall
    CHECK(statistics(image, cold).mean < 0.2);
    for (const Sphere& sphere : {hot, small})
      CHECK(norm(centroid(image, sphere.centre_mm, sphere.radius_mm + 4, 1.0) - sphere.centre_mm.as<double>()) < 1.0);
  }
}

TEST_CASE("what the standard's own generators write is reconstructed on the grid that its scanner asks for") {
  const auto data = interop_folder_or_skip();
  if (data.empty()) return;
  const auto folder = data / "petsird";
  for (const char* file : {"gen_cpp_head.petsird", "gen_py_2types_v0.9.1.petsird"}) {
    CAPTURE(file);
    const Image image = reconstruct("joseph_osem", folder / file, {"subsets.iterations=1"});
    double sum = 0;
    for (const float value : image.voxels.span()) sum += static_cast<double>(value);
    CHECK(sum > 0);
  }
}

TEST_CASE("three sources off centre land where they are, which needs the right sign of ToF") {
  const auto data = interop_folder_or_skip();
  if (data.empty()) return;
  const auto folder = data / "petsird";
  const Image image = reconstruct(
      "joseph_osem", folder / "points_tof_60k.petsird",
      {"image.size=[80, 120, 40]", "image.voxel_mm=[1, 1, 1]", "subsets.subsets=2", "subsets.iterations=4"});
  double total[3];
  const Vec3 sources[3] = {{30, 0, 0}, {0, -45, 10}, {-20, 25, -15}};
  for (int s = 0; s < 3; ++s) {
    CHECK(norm(centroid(image, sources[s], 7, 0) - sources[s].as<double>()) < 0.5);
    const RoiStatistics roi = statistics(image, Sphere{sources[s], s == 2 ? 4.4f : 7.0f});
    total[s] = roi.mean * roi.voxels;
  }
  CHECK(total[1] / total[0] == approx(1.0).epsilon(0.03));
  CHECK(total[2] / total[0] == approx(2.0).epsilon(0.06));
}

TEST_CASE(
    "their crystals' depth and material say where lines end, and batches cut from their blocks follow one another") {
  const auto data = interop_folder_or_skip();
  if (data.empty()) return;
  const auto folder = data / "petsird";
  const auto decode = [&](RegisteredGadgetTest<EventBatch>& decoder, const char* file) {
    decoder.send(ByteBlock{petsird::toy::read_file(folder / file)});
    decoder.finish();
    return std::get<std::string>(decoder.context.figures().at("detector_depth"));
  };
  RegisteredGadgetTest<EventBatch> phantom("petsird_decoder", "{batch_events: 3000}");
  CHECK(decode(phantom, "phantom_tof_400k.petsird") ==
        "7.15 mm below the face of crystals of 20 mm, their mean at 0.901/cm");
  double end_s = 0;
  for (const auto& batch : phantom.out.all()) {  // blocks of 100 ms, with about 20,000 events each
    CHECK(batch->start_s == approx(end_s).epsilon(1e-9));
    end_s = batch->start_s + batch->duration_s;
  }
  CHECK(end_s == approx(2));
  RegisteredGadgetTest<EventBatch> analytic("petsird_decoder");
  CHECK(decode(analytic, "sim_points_200k_head.petsird") ==
        "centre of crystals of 10 mm: the header does not say what they are made of");
  RegisteredGadgetTest<EventBatch> moving("petsird_decoder");
  CHECK_THROWS_WITH(decode(moving, "all_block_types.petsird"), doctest::Contains("the bed moves at"));
}
// SPDX-License-Identifier: Apache-2.0
