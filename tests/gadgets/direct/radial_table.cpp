// Radial tables from a file: what is read, what is refused where, and an image by a table that is a Gaussian.
#include <cmath>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "gadgets/direct/io/radial_table_yaml.hpp"
#include "tests/gadgets/direct/direct_runs.hpp"

namespace tofstream {
namespace {

using namespace direct_test;

/// A Gaussian's values, half a mm apart.
std::string gaussian_table(const std::filesystem::path& folder, double fwhm_mm) {
  const auto file = folder / "table.yaml";
  std::ofstream table(file);
  table << "offset_step_mm: 0.5\nrows:\n  - values: [";
  for (int k = -30; k <= 30; ++k)
    table << (k > -30 ? ", " : "") << std::exp(-4 * std::log(2.0) * 0.25 * k * k / (fwhm_mm * fwhm_mm));
  table << "]\n";
  return file.string();
}

double nrms(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    sum += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(difference / sum);
}

}  // namespace

TEST_CASE("a radial table is read from YAML, and refused with file and line where it cannot be") {
  const RadialTable table = formats::parse_radial_table(
      "offset_step_mm: 2\nradius_step_mm: 10\n"
      "rows: [{values: [1, 2, 0]}, {values: [1, 2, 1]}, {values: [0, 2, 1]}]\n",
      "t.yaml");
  CHECK(table == RadialTable{2, 10, {{1, 2, 0}, {1, 2, 1}, {0, 2, 1}}});
  const auto refused = [](const char* text, const char* words) {
    CHECK_THROWS_WITH_AS(formats::parse_radial_table(text, "t.yaml"), doctest::Contains(words), std::runtime_error);
  };
  refused("offset_step_mm: 1\nrows: [{values: [1, 2]}]\n", "t.yaml:1:1: a radial table has an odd number of values");
  refused("offset_step_mm: 1\nrows: [{values: [1, -2, 1]}]\n", "t.yaml:2:");
  refused("offset_step_mm: 1\nrows: []\n", "one row for all voxels");
  refused("offset_step_mm: 1\nrow: [{values: [1]}]\n", "row");
  refused("rows: [{values: [1]}]\n", "offset_step_mm");
  CHECK_THROWS_WITH(formats::read_radial_table("no_such_table.yaml"), doctest::Contains("no_such_table.yaml"));
}

TEST_CASE("DIRECT: a Gaussian in lor_table gives the image of the Gaussian, and is the whole kernel across the view") {
  const TemporaryFolder folder;
  DirectPipeline with{.ring = small_ring(folder.path()), .phantom = water(folder.path(), true)};
  with.events = 40'000;
  with.deposit = ", lattice: image";
  with.subsets = "subsets: 6, iterations: 1";
  const auto run = [&](const std::string& kernel) {
    with.projector = "operator: one_stage, axial_fwhm_mm: 7.5, " + kernel;
    std::string pipeline = with.direct();
    const std::string views = "views: [24, 3]";
    pipeline.replace(pipeline.find(views), views.size(), "views: [12, 1]");
    return run_pipeline(pipeline, folder.path());
  };
  const auto image_of = [&](const std::string& kernel) {
    const RunReport report = run(kernel);
    REQUIRE_MESSAGE(report.exit_code == 0, (report.errors.empty() ? "the books" : report.errors.front().text()));
    return last_image()->image->voxels.to_vector();
  };
  const auto expected = image_of("lor_fwhm_mm: 7.5");
  CHECK(nrms(image_of("lor_table: " + gaussian_table(folder.path(), 7.5)), expected) < 5e-3);
  CHECK(nrms(image_of("lor_table: " + gaussian_table(folder.path(), 10)), expected) > 2e-2);

  std::string message;
  try {
    const RunReport both =
        run("lor_fwhm_at_mm: [[0, 7.5], [100, 10]], lor_table: " + gaussian_table(folder.path(), 7.5));
    message = both.errors.empty() ? "" : both.errors.front().text();
  } catch (const std::exception& error) {
    message = error.what();
  }
  CHECK_MESSAGE(message.find("leave out parts and lor_fwhm_at_mm") != std::string::npos, message);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
