// Whole reconstructions of a scan that needs correction: with view_corrections the activity is right, without it wrong,
// and the image says which.
#include <cmath>

#include "tests/gadgets/spect/spect_support.hpp"
#include "tests/support/approx.hpp"

namespace tofstream {
namespace {

using namespace spect_test;

constexpr double true_Bq_mL = 50000;

std::string plain_cylinder(const std::filesystem::path& folder) {
  const auto file = folder / "cylinder.yaml";
  std::ofstream(file)
      << "name: cylinder\nsolids:\n  - {shape: cylinder, radius_mm: 70, length_mm: 130, activity_Bq_mL: " << true_Bq_mL
      << "}\n";
  return file.string();
}

// A count a keV of scatter in each pixel, with the windows below and above.
struct UniformScatter {
  void process(std::shared_ptr<const ViewBatch> views, Emit<ViewBatch>& emit, Context& context) {
    constexpr EnergyWindow windows[] = {{126, 154}, {112, 126}, {154, 161}};
    if (!set_) {
      auto set = std::make_shared<ViewSet>(*views->set);
      set->windows.assign(std::begin(windows), std::end(windows));
      set_ = std::move(set);
    }
    constexpr double a_keV = 1;
    ViewBatch peak = views->to(Memory::host);
    peak.set = set_;
    Quantity needy = *views->quantity;
    needy[Correction::scatter] = {CorrectionState::called_for, "added"};
    peak.quantity = std::make_shared<const Quantity>(std::move(needy));
    for (const int window : {2, 1}) {
      ViewBatch beside = peak.without_arrays();
      beside.window = window;
      beside.counts = Buffer<float>(Memory::host, beside.count);
      std::ranges::fill(beside.counts.span(),
                        static_cast<float>(a_keV) * (windows[window].high_keV - windows[window].low_keV));
      emit(std::move(beside));
    }
    const auto added = static_cast<float>(a_keV) * (windows[0].high_keV - windows[0].low_keV);
    for (float& count : peak.counts.span()) count += added;
    const auto more =
        static_cast<std::uint64_t>(std::lround(static_cast<double>(peak.count) * static_cast<double>(added)));
    peak.records[0].counts += more;
    context.books().received(more);
    emit(std::move(peak));
  }
  std::shared_ptr<const ViewSet> set_;
};
TOFSTREAM_GADGET(UniformScatter, "test_uniform_scatter", "Adds scatter that is alike in all pixels");

/// `before`: what stands between the camera and view_corrections; `corrections`: the latter's parameters.
std::string corrected_scan(const std::string& camera, const std::string& source, const std::string& before,
                           const std::string& corrections) {
  std::string pipeline = reconstruction(camera, source, "use: view_subsets, subsets: 4, iterations: 30");
  pipeline.replace(pipeline.find("from: feed"), 10, "from: corrected");
  if (!before.empty()) pipeline += fmt::format("  {0}: {{use: {0}, from: feed}}\n", before);
  return pipeline + fmt::format("  corrected: {{use: view_corrections, from: {}{}}}\n",
                                before.empty() ? "feed" : before, corrections);
}

// Two voxels within the cylinder.
double mean_within(const Estimate& estimate) {
  const Grid& grid = estimate.image->grid;
  double sum = 0, voxels = 0;
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i) {
        const Vec3d at = grid.centre(i, j, k).as<double>();
        if (std::hypot(at.x, at.y) > 54 || std::abs(at.z) > 49) continue;
        sum += static_cast<double>(estimate.image->voxels[grid.index(i, j, k)]);
        ++voxels;
      }
  return sum / voxels;
}

}  // namespace

TEST_CASE("a scan with scatter has its true activity with three windows, and more without, which its image says") {
  const TemporaryFolder folder, without;
  const std::string camera = small_camera(folder.path());
  const std::string source = fmt::format("use: spect_simulator, phantom: {}, events: 600000, attenuation: false",
                                         plain_cylinder(folder.path()));
  const RunReport report =
      run_it(corrected_scan(camera, source, "test_uniform_scatter", ", scatter: {from: windows, smooth_fwhm_mm: 40}"),
             folder.path());
  REQUIRE(report.exit_code == 0);
  CHECK(report.books.balanced());
  CHECK(mean_within(*images().back()) == approx(true_Bq_mL).epsilon(0.02));
  CHECK(label_of(*images().back()->quantity) == "Bq/mL");

  REQUIRE(run_it(corrected_scan(camera, source, "test_uniform_scatter", ""), without.path()).exit_code == 0);
  CHECK(mean_within(*images().back()) > 1.08 * true_Bq_mL);
  CHECK(label_of(*images().back()->quantity) == "Bq/mL, not quantitative: no correction for scatter");
}

TEST_CASE("a scan of an isotope that decays has the activity of its start, and half of it without the correction") {
  const TemporaryFolder folder, without;
  const std::string camera = small_camera(folder.path());
  const std::string source =
      fmt::format("use: spect_simulator, phantom: {}, seconds: 120, half_life_s: 60, attenuation: false",
                  plain_cylinder(folder.path()));
  REQUIRE(run_it(corrected_scan(camera, source, "", ", decay: {half_life_s: 60}"), folder.path()).exit_code == 0);
  CHECK(mean_within(*images().back()) == approx(true_Bq_mL).epsilon(0.02));
  CHECK(label_of(*images().back()->quantity) == "Bq/mL");

  REQUIRE(run_it(corrected_scan(camera, source, "", ""), without.path()).exit_code == 0);
  CHECK(mean_within(*images().back()) < 0.6 * true_Bq_mL);
  CHECK(label_of(*images().back()->quantity) == "Bq/mL, not quantitative: no correction for decay");
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
