// Fits to frames: integrals of the input function against closed forms, K_i and V and other coefficients back from frames
// that were made of them, and what cannot be.
#include <array>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "core/testing.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/dynamic/time_function.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

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

// The true values of voxel v.
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

TEST_CASE("a function's integrals are those of straight lines, from 0 at the scan's start") {
  const TimeFunction input({10, 20}, {100, 300});
  CHECK(input.mean(0, 10) == approx(50));
  CHECK(input.mean(10, 20) == approx(200));
  // int = 5 t^2 until 10 s, of which the mean over 0 to 10 s is 500/3.
  CHECK(input.mean_of_integral(0, 10) == approx(500.0 / 3));
  CHECK(input.mean_of_integral(10, 20) == approx(500 + 500 + 1000.0 / 3));
  CHECK_THROWS_WITH(TimeFunction({1}, {1}), doctest::Contains("at least two times"));
  CHECK_THROWS_WITH(TimeFunction({2, 1}, {1, 1}), doctest::Contains("1 s does not"));
  CHECK_THROWS_WITH(TimeFunction({1, 2}, {1, -1}), doctest::Contains("-1 at 2 s"));
}

TEST_CASE("K_i and V come back from frames that were made of them, by a table and by a region of plasma") {
  const TemporaryFolder folder;
  std::ofstream(folder / "plasma.csv") << plasma_table(3600);
  const Fitted by_table = fitted(fmt::format("input: {}, start_s: 1200", (folder / "plasma.csv").string()), folder);
  for (std::int64_t v = 0; v < 3; ++v) {
    CHECK(static_cast<double>(by_table.uptake.voxels[v]) == approx(60 * uptake_of(v)).epsilon(1e-3));
    CHECK(static_cast<double>(by_table.volume.voxels[v]) == approx(volume_of(v)).epsilon(0.01));
  }
  const Fitted by_region = fitted("region_mm: [15, 0, 0], region_radius_mm: 4, start_s: 1200", folder);
  for (std::int64_t v = 0; v < 3; ++v)
    CHECK(static_cast<double>(by_region.uptake.voxels[v]) == approx(60 * uptake_of(v)).epsilon(0.05));
}

TEST_CASE("coefficients of a table's functions come back from frames that were made of them") {
  const TemporaryFolder folder;
  // The middle of a frame at t has f1 = 10 - t/400, f2 = 5, f3 = t/100.
  const auto fit = [&](const char* table, std::size_t functions) {
    std::ofstream(folder / "functions.csv") << table;
    RegisteredGadgetTest<void> gadget(
        "basis_fit", fmt::format("{{functions: {}}}", (folder / "functions.csv").string()), folder.path());
    for (int number = 1; number <= frames; ++number) {
      const double middle_s = frame_s * (number - 0.5);
      const std::array<double, 3> means = {10 - middle_s / 400, 5, middle_s / 100}, coefficients = {2, 0.5, 0.125};
      Estimate made = *frame(number);
      auto image = std::make_shared<Image>(Image::zeros(made.image->grid));
      for (std::size_t m = 0; m < functions; ++m)
        for (std::int64_t v = 0; v < 4; ++v)
          image->voxels[v] += static_cast<float>(static_cast<double>(v + 1) * coefficients[m] * means[m]);
      made.image = image;
      gadget.send(std::make_shared<const Estimate>(made));
    }
    gadget.finish();
  };
  fit("f2,time_s,f1\n5,0,10\n5,3600,1\n", 2);
  const Image first = read_nifti(folder / "f1.nii.gz"), second = read_nifti(folder / "f2.nii.gz");
  for (std::int64_t v = 0; v < 4; ++v) {
    CHECK(first.voxels[v] == approx(2 * (v + 1)).epsilon(1e-5));
    CHECK(second.voxels[v] == approx(0.5 * static_cast<double>(v + 1)).epsilon(1e-4));
  }
  CHECK_THROWS_WITH(fit("time_s,f1,f2,f3\n0,10,5,0\n3600,1,5,36\n", 3),
                    doctest::Contains("so alike in these frames that they cannot be told apart"));
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
  refused(file("short.csv"), "short.csv: the table ends at 1000 s, before frame 4 does, at 1200 s");
  refused(file("times.csv"), "times.csv: there is no column value");
  refused(file("plasma.csv") + ", start_s: 3200", "1 of 12 frames begin at or after start_s (3200 s)");
  refused(file("plasma.csv"), "no frame came", false);
  refused("start_s: 3", "say where plasma is");
  refused(file("plasma.csv") + ", region_mm: [0, 0, 0]", "say where plasma is");
  refused("region_mm: [500, 0, 0]", "no voxel's centre lies in the ball");
  const auto no_table = [&](const char* text, const char* words) {
    std::ofstream(folder / "table.csv") << text;
    const std::string parameters = fmt::format("{{functions: {}}}", (folder / "table.csv").string());
    CHECK_THROWS_WITH(RegisteredGadgetTest<void>("basis_fit", parameters, folder.path()), doctest::Contains(words));
  };
  no_table("time_s,value\n0,1\n1,1\n", "table.csv: there is no column f1: name the functions f1, f2, ...");
  no_table("time_s,f1,f3\n0,1,1\n1,1,1\n", "table.csv: there is a column f3, and no f2");
  no_table("f1\n0\n1\n", "table.csv: there is no column time_s");
  no_table("time_s,f1\n0,1\n1,\n", "table.csv: line 3: f1 is '', which is no number");
  no_table("time_s,f1\n0,1\n1,-2\n", "table.csv: the value is -2 at 1 s, and none can be negative");
  no_table("time_s,f1\n1,1\n0,2\n", "table.csv: times must ascend, from 0 on, and 0 s does not");
}
// SPDX-License-Identifier: Apache-2.0
