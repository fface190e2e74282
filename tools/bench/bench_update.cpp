// `tofstream-bench update`: each update of an image by what a subset gave, and with the penalty's gradient made anew.
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "kernels/dynamic/nested_em.hpp"
#include "kernels/em/bsrem_update.hpp"
#include "kernels/em/em_update.hpp"
#include "kernels/em/image_sum.hpp"
#include "kernels/em/map_em_update.hpp"
#include "kernels/em/ramla_update.hpp"
#include "kernels/em/relative_change.hpp"
#include "kernels/prior/prior.hpp"
#include "tools/bench/bench_projecting.hpp"
#include "tools/bench/image_work.hpp"

namespace tofstream::command {

namespace {

// A penalised update, with the gradient of the relative differences with 26 neighbours.
constexpr double bound_s = 0.3e-3, bound_cpu_s = 0.25;

/// What updates are given, in the backend's memory.
struct Given {
  Image estimate, sensitivity, inverse, back, back_at_anchor, sum;
  std::shared_ptr<const Prior> prior = neighbour_prior(RelativeDifferencePotential{2, 1e-3}, {.beta = 1e-3});
  Image gradient, curvature;

  explicit Given(const ImageRows& rows)
      : estimate(test_image(rows.grid()).to(rows.memory())),
        sensitivity(Image::filled(rows.grid(), 2, rows.memory())),
        inverse(Image::filled(rows.grid(), 0.5f, rows.memory())),
        back(Image::filled(rows.grid(), 2.1f, rows.memory())),
        back_at_anchor(Image::filled(rows.grid(), 2, rows.memory())),
        sum(Image::filled(rows.grid(), 4, rows.memory())) {
    synchronize(nullptr);
  }
  void differentiate() { gradient = prior->gradient(estimate); }
};

/// Without a penalty.
void measure_plain(Given& given, ImageRows& rows) {
  rows.add({.name = "osem", .run = [&] { em_update(given.estimate, given.inverse, given.back, 1); }, .images = 4});
  rows.add({.name = "ramla",
            .run =
                [&] {
                  ramla_update(given.estimate, {given.sensitivity, given.inverse, given.back, 2}, 0.5);
                },
            .images = 5});
  rows.add({.name = "bsrem",
            .run =
                [&] {
                  bsrem_update(given.estimate, {given.inverse, given.inverse, given.back}, {});
                },
            .images = 4});
  rows.add({.name = "svrg, with the sum at its anchor",
            .run =
                [&] {
                  Image all = given.sum.to(rows.memory());
                  add_difference(all, 10, given.back, &given.back_at_anchor);
                  bsrem_update(given.estimate, {given.inverse, given.inverse, all}, {});
                },
            .images = 10});
  rows.add({.name = "relative change", .run = [&] { relative_change(given.sum, given.estimate); }, .images = 2});
}

void measure_penalised(Given& given, ImageRows& rows) {
  rows.add({"one step late, with the gradient",
            [&] {
              given.differentiate();
              penalised_em_update(given.estimate, given.inverse, given.back, 1, {given.gradient, given.inverse});
            },
            7, bound_s, bound_cpu_s});
  rows.add({"bsrem, with the gradient",
            [&] {
              given.differentiate();
              bsrem_update(given.estimate, {given.inverse, given.inverse, given.back, 1, &given.gradient}, {});
            },
            7, bound_s, bound_cpu_s});
  rows.add({.name = "map_em, with gradient and curvature",
            .run =
                [&] {
                  given.differentiate();
                  given.curvature = given.prior->majorant_curvature(given.estimate);
                  map_em_update(given.estimate, given.inverse, given.back, 1,
                                {given.gradient, given.curvature, given.inverse, given.prior->least_ratio()});
                },
            .images = 10});
}

/// The joint update by Patlak's plot: back projections are read in every inner step, and must come from memory once.
void measure_joint(const Given& given, ImageRows& rows) {
  constexpr int frames = 24;
  std::vector<Image> coefficients(2, given.estimate), backs(frames, given.back);
  std::vector<NestedFrame> data;
  for (int f = 0; f < frames; ++f)
    data.push_back({backs[static_cast<std::size_t>(f)], {0.1 + 0.05 * f, 1 / (1 + 0.1 * f)}});
  synchronize(nullptr);
  for (const int inner : {1, 20})
    rows.add(
        {.name = fmt::format("nested_em, {} frames, 2 functions, {} inner step{}", frames, inner, inner > 1 ? "s" : ""),
         .run = [&] { nested_em_update(coefficients, data, given.inverse, {.inner = inner}); },
         .images = frames + 5});
}

void measure_updates(ImageRows& rows) {
  Given given(rows);
  measure_plain(given, rows);
  measure_penalised(given, rows);
  measure_joint(given, rows);
}

std::function<void()> declare_update(Command& line) {
  return declare_image_bench(
      line, "update", "updates of an image, and with a penalty the gradient of the relative differences, 26 neighbours",
      measure_updates);
}

TOFSTREAM_BENCH("update", "Updates of an image, without and with a penalty", declare_update);

}  // namespace

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
