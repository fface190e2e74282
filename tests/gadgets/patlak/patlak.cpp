// Patlak's plot: integrals of the input function against closed forms, K_i and V back from frames that were made of them,
// and what cannot be.
#include "kernels/patlak/patlak.hpp"

#include <cmath>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "core/testing.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/payloads.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

// Plasma falls as C e^(-t / tau), with a rise in the first 30 s.
constexpr double plasma_Bq_mL = 40000, tau_s = 1500, rise_s = 30;

double plasma_at(double time_s) {
  return time_s < rise_s ? plasma_Bq_mL * time_s / rise_s : plasma_Bq_mL * std::exp(-(time_s - rise_s) / tau_s);
}

double integral_until(double time_s) {
  return plasma_Bq_mL * (rise_s / 2 + tau_s * (1 - std::exp(-(time_s - rise_s) / tau_s)));
}

double twice_until(double time_s) {
  const double t = time_s - rise_s;
  return plasma_Bq_mL * (rise_s * rise_s / 6 + rise_s / 2 * t + tau_s * t - tau_s * tau_s * (1 - std::exp(-t / tau_s)));
}

std::string plasma_table(double until_s, double step_s = 10) {
  std::string table = "time_s,value\n";
  for (int i = 0; step_s * i <= until_s + 1e-9; ++i)
    table += fmt::format("{},{:.9g}\n", step_s * i, plasma_at(step_s * i));
  return table;
}

// Of voxel v.
double uptake_of(std::int64_t v) {
  return 1e-4 * static_cast<double>(1 + v);
}
double volume_of(std::int64_t v) {
  return 0.2 + 0.1 * static_cast<double>(v);
}

constexpr int frames = 12;
constexpr double frame_s = 300;

// The last voxel is of plasma itself.
std::shared_ptr<const Estimate> frame(int number) {
  const double start_s = frame_s * (number - 1), end_s = start_s + frame_s;
  auto image = std::make_shared<Image>(Image::zeros(Grid::centred(4, 1, 1, {10, 10, 10})));
  const double from_once = number == 1 ? 0 : integral_until(start_s),
               from_twice = number == 1 ? 0 : twice_until(start_s);
  const double mean = (integral_until(end_s) - from_once) / frame_s,
               integral = (twice_until(end_s) - from_twice) / frame_s;
  for (std::int64_t v = 0; v < 3; ++v)
    image->voxels[v] = static_cast<float>(uptake_of(v) * integral + volume_of(v) * mean);
  image->voxels[3] = static_cast<float>(mean);
  return std::make_shared<const Estimate>(
      Estimate{{.iteration = 1,
                .iterations = 1,
                .subsets = 1,
                .ends_iteration = true,
                .update = number,
                .frame = {.number = number, .frames = frames, .start_s = start_s, .duration_s = frame_s}},
               image});
}

struct Fitted {
  Image uptake, volume;
};

Fitted fitted(const std::string& parameters, const TemporaryFolder& folder) {
  RegisteredGadgetTest<void> patlak("patlak", "{" + parameters + "}", folder.path());
  for (int number = 1; number <= frames; ++number) patlak.send(frame(number));
  patlak.finish();
  CHECK(std::get<std::int64_t>(patlak.context.figures().at("frames_fitted")) == 8);
  return {read_nifti(folder / "ki.nii.gz"), read_nifti(folder / "v.nii.gz")};
}

}  // namespace

TEST_CASE("an input function's integrals are those of straight lines, from 0 at the scan's start") {
  const InputFunction input({10, 20}, {100, 300});
  CHECK(input.mean(0, 10) == doctest::Approx(50));
  CHECK(input.mean(10, 20) == doctest::Approx(200));
  // int = 5 t^2 until 10 s, of which the mean over 0 to 10 s is 500/3.
  CHECK(input.mean_of_integral(0, 10) == doctest::Approx(500.0 / 3));
  CHECK(input.mean_of_integral(10, 20) == doctest::Approx(500 + 500 + 1000.0 / 3));
  CHECK_THROWS_WITH(InputFunction({1}, {1}), doctest::Contains("at least two times"));
  CHECK_THROWS_WITH(InputFunction({2, 1}, {1, 1}), doctest::Contains("1 s does not"));
  CHECK_THROWS_WITH(InputFunction({1, 2}, {1, -1}), doctest::Contains("-1 at 2 s"));
}

TEST_CASE("K_i and V come back from frames that were made of them, by a table and by a region of plasma") {
  const TemporaryFolder folder;
  std::ofstream(folder / "plasma.csv") << plasma_table(3600);
  const Fitted by_table = fitted(fmt::format("input: {}, start_s: 1200", (folder / "plasma.csv").string()), folder);
  for (std::int64_t v = 0; v < 3; ++v) {
    CHECK(static_cast<double>(by_table.uptake.voxels[v]) == doctest::Approx(60 * uptake_of(v)).epsilon(1e-3));
    CHECK(static_cast<double>(by_table.volume.voxels[v]) == doctest::Approx(volume_of(v)).epsilon(0.01));
  }
  const Fitted by_region = fitted("region_mm: [15, 0, 0], region_radius_mm: 4, start_s: 1200", folder);
  for (std::int64_t v = 0; v < 3; ++v)
    CHECK(static_cast<double>(by_region.uptake.voxels[v]) == doctest::Approx(60 * uptake_of(v)).epsilon(0.05));
}

TEST_CASE("Patlak's plot refuses what it cannot be made of") {
  const TemporaryFolder folder;
  std::ofstream(folder / "short.csv") << plasma_table(1000);
  std::ofstream(folder / "plasma.csv") << plasma_table(3600);
  std::ofstream(folder / "times.csv") << "time_s\n1\n2\n";
  const auto refused = [&](const std::string& parameters, const std::string& words, bool has_frames = true) {
    CAPTURE(parameters);
    const auto run = [&] {
      RegisteredGadgetTest<void> patlak("patlak", "{" + parameters + "}", folder.path());
      if (has_frames)
        for (int number = 1; number <= frames; ++number) patlak.send(frame(number));
      patlak.finish();
    };
    CHECK_THROWS_WITH(run(), doctest::Contains(words.c_str()));
  };
  const auto file = [&](const char* name) { return "input: " + (folder / name).string(); };
  refused(file("short.csv"), "short.csv: the input function ends at 1000 s, before frame 4 does, at 1200 s");
  refused(file("times.csv"), "times.csv: there is no column value");
  refused(file("plasma.csv") + ", start_s: 3200", "1 of 12 frames begin at or after start_s (3200 s)");
  refused(file("plasma.csv"), "no frame came", false);
  refused("start_s: 3", "say where plasma is");
  refused(file("plasma.csv") + ", region_mm: [0, 0, 0]", "say where plasma is");
  refused("region_mm: [500, 0, 0]", "no voxel's centre lies in the ball");
}
// SPDX-License-Identifier: Apache-2.0
