// `tofstream-bench read`: files of both formats are made, read whole and measured.
#include <filesystem>

#include <fmt/format.h>

#include "tests/command/command.hpp"

using namespace tofstream;

TEST_CASE("bench read measures CASToR's list mode and a sinogram, and leaves no file") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "files");
  std::ofstream(folder / "tiny.yaml")
      << "name: tiny\ninner_radius_mm: 100\nfov_radius_mm: 60\nmodules: {transaxial: 12, axial: 1}\n"
         "crystals:\n  transaxial: 4\n  axial: 3\n  size_mm: [10, 6]\n  pitch_mm: [10.5, 6.5]\n"
         "  layers: [{depth_mm: 10, attenuation_per_cm: 0.83}]\n"
         "coincidence: {window_ns: 4, min_sector_difference: 3}\ntof: {fwhm_ps: 300, bins: 9, bin_ps: 120}\n"
         "energy: {low_keV: 435, high_keV: 650, resolution: 0.12}\n";
  const auto bench = run_bench(fmt::format("read --scanner {} --events 20000 --repeats 2 --json --folder {}",
                                           (folder / "tiny.yaml").string(), (folder / "files").string()));
  REQUIRE_MESSAGE(bench.code == 0, bench.err);
  const auto report = bench.json();
  CHECK(report["bench"] == "read");
  REQUIRE(report["results"].size() == 2);
  CHECK(report["results"][0]["count"] == 20000);
  CHECK(report["results"][0]["bytes"] == 20000 * 16);
  CHECK(report["results"][1]["count"] == 9 * 9 * 24 * 47);  // ToF, pairs of rings, views, tangential positions
  for (const auto& result : report["results"]) CHECK(result["per_s"] > 0);
  CHECK(std::filesystem::is_empty(folder / "files"));
  CHECK(run_bench("read --scanner none").code == 2);
}
// SPDX-License-Identifier: Apache-2.0
