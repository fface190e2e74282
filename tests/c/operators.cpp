// The C interface: the same bits as the projectors behind it, and every wrong argument told in one line.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "gadgets/step/projector_kinds.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/spect/spect.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"
#include "tools/c/tofstream.h"

using namespace tofstream;

namespace {

constexpr tof_grid small_grid{
    .size = sizeof(tof_grid), .voxels = {12, 10, 8}, .voxel_mm = {8, 9, 10}, .origin_mm = {-44, -40.5F, -35}};
constexpr std::size_t small_voxels = 12 * 10 * 8;

std::vector<float> random_numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(0, 1);
  std::vector<float> values(count);
  for (float& value : values) value = number(random);
  return values;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

struct Dropped {
  void operator()(tof_operator* op) const { tof_operator_drop(op); }
};
using Op = std::unique_ptr<tof_operator, Dropped>;

struct CameraTurn {
  std::vector<double> angle_deg, radius_mm;
  tof_views views{.size = sizeof(tof_views), .views = 9, .pixels = {14, 9}, .pixel_mm = {7, 8}};
  CameraTurn() {
    for (int v = 0; v < 9; ++v) angle_deg.push_back(40.0 * v), radius_mm.push_back(120 + v);
    views.angle_deg = angle_deg.data();
    views.radius_mm = radius_mm.data();
  }
};
constexpr std::size_t turn_pixels = 9 * 14 * 9;

Op spect_operator(const char* parameters = "psf: {slope: 0.02, sigma0_mm: 2}") {
  const CameraTurn turn;
  tof_operator* op = nullptr;
  REQUIRE_MESSAGE(tof_operator_of_views("rotation_projector", parameters, &small_grid, &turn.views, nullptr, 0, TOF_CPU,
                                        &op) == TOF_OK,
                  tof_error());
  return Op(op);
}

// Lines through the grid between points of a ring of 200 mm.
struct Lines {
  std::vector<float> ends[6], tof_mm;
  tof_events events{.size = sizeof(tof_events), .count = 500};
  Lines() {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> angle(0, 6.2831853F), z(-30, 30), tof(-60, 60);
    for (std::int64_t i = 0; i < events.count; ++i) {
      for (std::size_t end = 0; end < 2; ++end) {
        const float at = angle(random);
        ends[3 * end].push_back(200 * std::cos(at));
        ends[3 * end + 1].push_back(200 * std::sin(at));
        ends[3 * end + 2].push_back(z(random));
      }
      tof_mm.push_back(tof(random));
    }
    events.x1 = ends[0].data(), events.y1 = ends[1].data(), events.z1 = ends[2].data();
    events.x2 = ends[3].data(), events.y2 = ends[4].data(), events.z2 = ends[5].data();
    events.tof_mm = tof_mm.data();
    events.tof_sigma_mm = 30;
    events.tof_bin_mm = 20;
  }
};

}  // namespace

TEST_CASE("an operator of views is the projector's bits, with its adjoint, its EM step and its sensitivity") {
  const Op op = spect_operator();
  std::int64_t image_shape[3], data_shape[4];
  std::int32_t axes = 0;
  tof_backend backend = TOF_AUTO;
  REQUIRE(tof_operator_shape(op.get(), image_shape, data_shape, &axes, &backend) == TOF_OK);
  CHECK(image_shape[0] == 8);
  CHECK(image_shape[2] == 12);
  CHECK(data_shape[0] == 9);
  CHECK(data_shape[1] == 9);
  CHECK(data_shape[2] == 14);
  CHECK(axes == 3);
  CHECK(backend == TOF_CPU);
  const auto x = random_numbers(small_voxels, 1), y = random_numbers(turn_pixels, 2);
  std::vector<float> ax(turn_pixels, -1), aty(small_voxels, -1), step(small_voxels, -1), sensitivity(small_voxels, -1);
  REQUIRE(tof_forward(op.get(), x.data(), ax.data(), nullptr) == TOF_OK);
  REQUIRE(tof_adjoint(op.get(), y.data(), aty.data(), nullptr) == TOF_OK);
  CHECK(dot(ax, y) == approx(dot(x, aty)).epsilon(1e-5));

  const CameraTurn turn;
  auto set = std::make_shared<ViewSet>();
  set->size[0] = 14, set->size[1] = 9;
  set->pixel_mm = {7, 8, 0};
  std::vector<ViewRecord> records;
  std::vector<std::int32_t> index;
  for (int v = 0; v < 9; ++v) {
    set->places.push_back(
        {.angle_deg = 40.0F * static_cast<float>(v), .radius_mm = 120 + static_cast<float>(v), .duration_s = 10});
    records.push_back({.view = v});
    index.push_back(v);
  }
  Grid grid{{12, 10, 8}, {8, 9, 10}, {-44, -40.5F, -35}};
  const auto projector = make_rotation_projector(
      grid, *set,
      {.psf = GaussianPsfModel{.slope = 0.02F, .sigma0_mm = 2}, .form = PsfForm::separable, .counts_per_decay = 1},
      Backend::cpu);
  Views views;
  views.views = 9, views.count = turn_pixels, views.set = set.get(), views.records = records.data(),
  views.index = index.data();
  std::vector<float> direct(turn_pixels);
  projector->forward(views, x.data(), direct.data());
  CHECK(std::memcmp(direct.data(), ax.data(), ax.size() * sizeof(float)) == 0);

  tof_tally tally{.size = sizeof(tof_tally), .rejected = 7};
  REQUIRE(tof_em_step(op.get(), x.data(), ax.data(), nullptr, nullptr, step.data(), &tally, nullptr) == TOF_OK);
  REQUIRE(tof_sensitivity(op.get(), nullptr, sensitivity.data(), nullptr) == TOF_OK);
  CHECK(tally.rejected == -1);
  for (std::size_t k = 0; k < small_voxels; ++k)  // the image explains its own projections
    CHECK(step[k] == approx(sensitivity[k]).epsilon(1e-4));
}

TEST_CASE(
    "an operator of lines with time of flight has its adjoint, and its EM step is that of both; a plan keeps bits") {
  const Lines lines;
  for (const char* projector : {"joseph_projector", "tor_projector"}) {
    CAPTURE(projector);
    const char* parameters = std::string_view(projector) == "tor_projector" ? "{tube_width_voxels: 3, fwhm_mm: 8}" : "";
    tof_operator* made = nullptr;
    REQUIRE_MESSAGE(
        tof_operator_of_events(projector, parameters, &small_grid, &lines.events, nullptr, 0, TOF_CPU, &made) == TOF_OK,
        tof_error());
    const Op op(made);
    const auto x = random_numbers(small_voxels, 1), y = random_numbers(500, 2);
    std::vector<float> ax(500), aty(small_voxels), planned(500), ratio(500), back(small_voxels), step(small_voxels);
    REQUIRE(tof_forward(op.get(), x.data(), ax.data(), nullptr) == TOF_OK);
    REQUIRE(tof_adjoint(op.get(), y.data(), aty.data(), nullptr) == TOF_OK);
    CHECK(dot(ax, y) == approx(dot(x, aty)).epsilon(1e-5));
    for (std::size_t i = 0; i < 500; ++i) ratio[i] = 1 / (ax[i] + 0.5F);
    const std::vector<float> background(500, 0.5F);
    REQUIRE(tof_adjoint(op.get(), ratio.data(), back.data(), nullptr) == TOF_OK);
    tof_tally tally{.size = sizeof(tof_tally), .rejected = 7};
    REQUIRE(tof_em_step(op.get(), x.data(), nullptr, nullptr, background.data(), step.data(), &tally, nullptr) ==
            TOF_OK);
    CHECK(tally.rejected == 0);
    for (std::size_t k = 0; k < small_voxels; ++k) CHECK(step[k] == approx(back[k]).epsilon(1e-4));
    REQUIRE(tof_plan(op.get(), nullptr) == TOF_OK);
    REQUIRE(tof_forward(op.get(), x.data(), planned.data(), nullptr) == TOF_OK);
    CHECK(planned == ax);
  }
}

TEST_CASE("a sinogram's bins are the events in them, bit for bit, in stretches of any number of lines") {
  constexpr int bins = 5;
  Lines lines;
  lines.events.tof_mm = nullptr;
  std::vector<float> ends[6], tof_mm;
  for (std::int64_t i = 0; i < lines.events.count; ++i)
    for (int bin = 0; bin < bins; ++bin) {
      for (std::size_t end = 0; end < 6; ++end) ends[end].push_back(lines.ends[end][static_cast<std::size_t>(i)]);
      tof_mm.push_back(20.0F * static_cast<float>(bin - 2));
    }
  tof_events one_by_one{.size = sizeof(tof_events), .count = 500 * bins, .tof_sigma_mm = 30, .tof_bin_mm = 20};
  one_by_one.x1 = ends[0].data(), one_by_one.y1 = ends[1].data(), one_by_one.z1 = ends[2].data();
  one_by_one.x2 = ends[3].data(), one_by_one.y2 = ends[4].data(), one_by_one.z2 = ends[5].data();
  one_by_one.tof_mm = tof_mm.data();
  tof_operator *of_lines = nullptr, *of_events = nullptr;
  REQUIRE_MESSAGE(tof_operator_of_lines("joseph_projector", "deterministic: true", &small_grid, &lines.events, bins,
                                        TOF_CPU, &of_lines) == TOF_OK,
                  tof_error());
  const Op sinogram(of_lines);
  REQUIRE(tof_operator_of_events("joseph_projector", "deterministic: true", &small_grid, &one_by_one, nullptr, 0,
                                 TOF_CPU, &of_events) == TOF_OK);
  const Op events(of_events);
  std::int64_t shape[4];
  std::int32_t axes = 0;
  REQUIRE(tof_operator_shape(of_lines, nullptr, shape, &axes, nullptr) == TOF_OK);
  CHECK(axes == 2);
  CHECK(shape[0] == 500);
  CHECK(shape[1] == bins);
  const auto x = random_numbers(small_voxels, 1), y = random_numbers(500 * bins, 2);
  std::vector<float> ax(500 * bins), same(500 * bins), aty(small_voxels), same_back(small_voxels);
  REQUIRE(tof_forward(of_lines, x.data(), ax.data(), nullptr) == TOF_OK);
  REQUIRE(tof_forward(of_events, x.data(), same.data(), nullptr) == TOF_OK);
  CHECK(ax == same);
  REQUIRE(tof_adjoint(of_lines, y.data(), aty.data(), nullptr) == TOF_OK);
  REQUIRE(tof_adjoint(of_events, y.data(), same_back.data(), nullptr) == TOF_OK);
  CHECK(aty == same_back);
  CHECK(dot(ax, y) == approx(dot(x, aty)).epsilon(1e-5));

  // m y / (m A x + b), and 0 where nothing is expected.
  std::vector<float> ratio(500 * bins), step(small_voxels), back(small_voxels), sensitivity(small_voxels);
  const std::vector<float> half(500 * bins, 0.5F), background(500 * bins, 0.25F);
  for (std::size_t i = 0; i < ratio.size(); ++i) ratio[i] = 0.5F * y[i] / (0.5F * ax[i] + 0.25F);
  REQUIRE(tof_em_step(of_lines, x.data(), y.data(), half.data(), background.data(), step.data(), nullptr, nullptr) ==
          TOF_OK);
  REQUIRE(tof_adjoint(of_lines, ratio.data(), back.data(), nullptr) == TOF_OK);
  for (std::size_t k = 0; k < small_voxels; ++k) CHECK(step[k] == approx(back[k]).epsilon(1e-5));
  REQUIRE(tof_sensitivity(of_lines, half.data(), sensitivity.data(), nullptr) == TOF_OK);
  REQUIRE(tof_adjoint(of_lines, half.data(), back.data(), nullptr) == TOF_OK);
  CHECK(sensitivity == back);

  tof_operator* part = nullptr;
  REQUIRE(tof_operator_part(of_lines, 1, 3, &part) == TOF_OK);
  const Op middle(part);
  std::vector<float> some(167 * bins);
  REQUIRE(tof_forward(part, x.data(), some.data(), nullptr) == TOF_OK);
  CHECK(std::memcmp(some.data(), ax.data() + 166 * bins, some.size() * sizeof(float)) == 0);

  const auto said = [&](tof_events given, std::int32_t of_bins) {
    tof_operator* none = nullptr;
    CHECK(tof_operator_of_lines("joseph_projector", "", &small_grid, &given, of_bins, TOF_CPU, &none) == TOF_INVALID);
    CHECK(none == nullptr);
    return std::string(tof_error());
  };
  CHECK(said(lines.events, -1) == "bins is -1: it must be in [0, 10000]");
  CHECK(said(one_by_one, 3) == "lines.tof_mm is given: a sinogram's lines have bins");
  tof_events no_sigma = lines.events;
  no_sigma.tof_sigma_mm = 0;
  CHECK(said(no_sigma, 3) == "lines.tof_sigma_mm and tof_bin_mm are 0 and 20: bins need both");
  CHECK(tof_em_step(of_lines, x.data(), nullptr, nullptr, nullptr, step.data(), nullptr, nullptr) == TOF_INVALID);
  CHECK(std::string(tof_error()) == "counts is null: an EM step of a sinogram needs its counts");
}

TEST_CASE("the EM update in C is osem_update's: of a whole, and of a part that sees less") {
  const Op op = spect_operator();
  const auto random = random_numbers(2 * small_voxels, 4);
  const std::vector<float> step(random.begin(), random.begin() + small_voxels);
  std::vector<float> image(random.begin() + small_voxels, random.end()), s(small_voxels, 2), whole(small_voxels, 4);
  s[3] = 0;                // that the whole does not see either
  whole[3] = 0, s[7] = 0;  // that only this part does not see
  const std::vector<float> before = image;
  const auto update = [&](const float* of_whole) {
    return tof_em_update(op.get(), step.data(), s.data(), of_whole, image.data(), nullptr);
  };
  REQUIRE_MESSAGE(update(nullptr) == TOF_OK, tof_error());
  for (std::size_t v = 0; v < image.size(); ++v) CHECK(image[v] == (s[v] > 0 ? before[v] * 0.5F * step[v] : 0));
  image = before;
  REQUIRE_MESSAGE(update(whole.data()) == TOF_OK, tof_error());
  CHECK(image[3] == 0);
  CHECK(image[7] == before[7]);
  CHECK(image[8] == before[8] * 0.5F * step[8]);

  const auto refused = [&](tof_status status, const char* words) {
    CHECK(status == TOF_INVALID);
    CHECK_MESSAGE(std::string(tof_error()).find(words) != std::string::npos, tof_error());
  };
  refused(tof_em_update(op.get(), nullptr, s.data(), nullptr, image.data(), nullptr), "step is null");
  refused(tof_em_update(nullptr, step.data(), s.data(), nullptr, image.data(), nullptr), "op");
  s[5] = std::numeric_limits<float>::quiet_NaN();
  refused(update(nullptr), "not finite");
  s.assign(s.size(), 0);
  refused(update(nullptr), "sensitivity");
}

TEST_CASE("a reference takes and gives double, by the definition; others refuse it") {
  Lines lines;
  Grid grid{{12, 10, 8}, {8, 9, 10}, {-44, -40.5F, -35}};
  const auto reference = make_joseph_reference(grid, {});
  EventView view{.count = lines.events.count};
  for (std::size_t end = 0; end < 6; ++end) view.ends[end] = lines.ends[end].data();
  view.tof_mm = lines.tof_mm.data();
  view.tof = {.sigma_mm = lines.events.tof_sigma_mm, .bin_width_mm = lines.events.tof_bin_mm};
  const auto count = static_cast<std::size_t>(view.count);
  std::vector<double> x(small_voxels), y(count), back(small_voxels), forward(count);
  for (std::size_t v = 0; v < x.size(); ++v) x[v] = 1 + 1e-9 * static_cast<double>(v);  // floats would all be 1
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = 1 - 1e-9 * static_cast<double>(i);

  tof_operator* made = nullptr;
  REQUIRE_MESSAGE(tof_operator_of_events("joseph_projector", nullptr, &small_grid, &lines.events, nullptr, 0,
                                         TOF_REFERENCE, &made) == TOF_OK,
                  tof_error());
  const Op exact(made);
  tof_backend backend = TOF_CPU;
  REQUIRE(tof_operator_shape(made, nullptr, nullptr, nullptr, &backend) == TOF_OK);
  CHECK(backend == TOF_REFERENCE);
  REQUIRE(tof_forward_double(made, x.data(), forward.data()) == TOF_OK);
  REQUIRE(tof_adjoint_double(made, y.data(), back.data()) == TOF_OK);
  CHECK(forward == reference->forward(view, x));
  CHECK(back == reference->back(view, y));
  tof_operator* part = nullptr;
  REQUIRE(tof_operator_part(made, 1, 2, &part) == TOF_OK);
  const Op second(part);
  std::vector<double> half(count / 2);
  REQUIRE(tof_forward_double(part, x.data(), half.data()) == TOF_OK);
  CHECK(half == std::vector<double>(forward.begin() + static_cast<std::ptrdiff_t>(count / 2), forward.end()));

  // In single precision it is the reference too.
  const std::vector<float> image = random_numbers(small_voxels, 3);
  std::vector<float> found(count), expected(count);
  REQUIRE(tof_forward(made, image.data(), found.data(), nullptr) == TOF_OK);
  reference->forward(view, image.data(), expected.data());
  CHECK(found == expected);

  CHECK(tof_forward_double(made, x.data(), nullptr) == TOF_INVALID);
  CHECK(tof_adjoint_double(made, x.data(), x.data()) == TOF_INVALID);
  const Op fast = spect_operator();
  std::vector<double> views(turn_pixels);
  CHECK(tof_forward_double(fast.get(), x.data(), views.data()) == TOF_INVALID);
  CHECK(std::string(tof_error()) == "op works in single precision: make it with TOF_REFERENCE for double");
}

TEST_CASE("without tof an operator takes its events as lines, and a sinogram has no bins") {
  const Lines lines;
  tof_events flat = lines.events;
  flat.tof_mm = nullptr;
  tof_operator *without = nullptr, *of_lines = nullptr, *none = nullptr;
  REQUIRE(tof_operator_of_events("joseph_projector", "tof: false", &small_grid, &lines.events, nullptr, 0, TOF_CPU,
                                 &without) == TOF_OK);
  const Op op(without);
  REQUIRE(tof_operator_of_events("joseph_projector", "", &small_grid, &flat, nullptr, 0, TOF_CPU, &of_lines) == TOF_OK);
  const Op expected(of_lines);
  const auto x = random_numbers(small_voxels, 1);
  std::vector<float> ax(500), same(500);
  REQUIRE(tof_forward(without, x.data(), ax.data(), nullptr) == TOF_OK);
  REQUIRE(tof_forward(of_lines, x.data(), same.data(), nullptr) == TOF_OK);
  CHECK(ax == same);
  CHECK(tof_operator_of_lines("joseph_projector", "tof: false", &small_grid, &flat, 3, TOF_CPU, &none) == TOF_INVALID);
  CHECK(std::string(tof_error()) == "bins is 3, and tof is false: give 0 bins for lines without ToF");
}

TEST_CASE("a caller of an earlier header, whose structs are shorter, is served") {
  Lines lines;
  tof_events shorter = lines.events;
  shorter.size = offsetof(tof_events, multiplicative);
  shorter.multiplicative = reinterpret_cast<const float*>(8);  // not of that version: never looked at
  tof_operator* made = nullptr;
  CHECK_MESSAGE(
      tof_operator_of_events("joseph_projector", "", &small_grid, &shorter, nullptr, 0, TOF_CPU, &made) == TOF_OK,
      tof_error());
  const Op op(made);
}

TEST_CASE(
    "without a scanner every list-mode projector is made or refused in one line, whatever it would learn of one") {
  const Lines lines;
  for (const ProjectorKind& kind : table_of<ProjectorKind>())
    for (const bool has_tof : {true, false}) {
      CAPTURE(kind.name);
      tof_events events = lines.events;
      if (!has_tof) events.tof_mm = nullptr;
      tof_operator* made = nullptr;
      const tof_status status =
          tof_operator_of_events(kind.name.c_str(), nullptr, &small_grid, &events, nullptr, 0, TOF_CPU, &made);
      const Op op(made);
      if (kind.name == "joseph_projector" || kind.name == "tor_projector") CHECK_MESSAGE(status == TOF_OK, tof_error());
      if (status != TOF_OK) CHECK(std::string(tof_error()).find('\n') == std::string::npos);
    }
}

TEST_CASE("parts of an operator are its data: views interleaved, events one after the other") {
  const Op whole = spect_operator();
  const auto x = random_numbers(small_voxels, 1);
  std::vector<float> all(turn_pixels);
  REQUIRE(tof_forward(whole.get(), x.data(), all.data(), nullptr) == TOF_OK);
  for (int part = 0; part < 2; ++part) {
    tof_operator* made = nullptr;
    REQUIRE(tof_operator_part(whole.get(), part, 2, &made) == TOF_OK);
    const Op op(made);
    std::vector<std::int64_t> indices(part == 0 ? 5 : 4);
    REQUIRE(tof_operator_indices(op.get(), indices.data(), static_cast<std::int64_t>(indices.size())) == TOF_OK);
    std::vector<float> some(indices.size() * 14 * 9);
    REQUIRE(tof_forward(op.get(), x.data(), some.data(), nullptr) == TOF_OK);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      CHECK(indices[i] == static_cast<std::int64_t>(2 * i) + part);
      CHECK(std::memcmp(some.data() + i * 126, all.data() + indices[i] * 126, 126 * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("an array takes the place of a file: attenuation weakens what lies behind it") {
  const CameraTurn turn;
  const std::vector<float> water(small_voxels, 0.15F);
  const tof_array mu{.size = sizeof(tof_array), .name = "mu", .grid = small_grid, .voxels = water.data()};
  tof_operator* made = nullptr;
  REQUIRE_MESSAGE(tof_operator_of_views("rotation_projector", "mu_map: memory:mu", &small_grid, &turn.views, &mu, 1,
                                        TOF_CPU, &made) == TOF_OK,
                  tof_error());
  const Op weak(made), strong = spect_operator("");
  const std::vector<float> x(small_voxels, 1);
  std::vector<float> less(turn_pixels), more(turn_pixels);
  REQUIRE(tof_forward(weak.get(), x.data(), less.data(), nullptr) == TOF_OK);
  REQUIRE(tof_forward(strong.get(), x.data(), more.data(), nullptr) == TOF_OK);
  const std::vector<float> ones(turn_pixels, 1);
  CHECK(dot(less, ones) < 0.7 * dot(more, ones));
  CHECK(tof_operator_of_views("rotation_projector", "mu_map: memory:other", &small_grid, &turn.views, &mu, 1, TOF_CPU,
                              &made) != TOF_OK);
  CHECK(std::string(tof_error()) == "memory:other: no array of that name was given");
}

TEST_CASE("a handle that was dropped is an error in every call, and can be dropped again") {
  tof_operator* op = spect_operator().release();
  tof_operator_drop(op);
  std::vector<float> image(small_voxels), data(turn_pixels);
  for (const tof_status status :
       {tof_forward(op, image.data(), data.data(), nullptr), tof_adjoint(op, data.data(), image.data(), nullptr),
        tof_plan(op, nullptr), tof_sensitivity(op, nullptr, image.data(), nullptr),
        tof_operator_shape(op, nullptr, nullptr, nullptr, nullptr)}) {
    CHECK(status == TOF_INVALID);
    CHECK(std::string(tof_error()) == "op is no handle of this library, or was dropped before");
  }
  CHECK(std::string(tof_operator_report(op)).empty());
  tof_operator_drop(op);
  tof_operator_drop(nullptr);
}

TEST_CASE("on a GPU an operator works where its arrays lie, and refuses those of the host") {
  if (!gpu_or_skip()) return;
  const CameraTurn turn;
  tof_operator* made = nullptr;
  REQUIRE_MESSAGE(tof_operator_of_views("rotation_projector", "psf: {slope: 0.02, sigma0_mm: 2}", &small_grid,
                                        &turn.views, nullptr, 0, TOF_CUDA, &made) == TOF_OK,
                  tof_error());
  const Op there(made), here = spect_operator();
  const auto x = random_numbers(small_voxels, 1);
  std::vector<float> expected(turn_pixels), back(small_voxels);
  REQUIRE(tof_forward(here.get(), x.data(), expected.data(), nullptr) == TOF_OK);
  const auto image = Buffer<float>::from(x).to(Memory::device);
  Buffer<float> data(Memory::device, turn_pixels), again(Memory::device, small_voxels);
  REQUIRE_MESSAGE(tof_forward(there.get(), image.data(), data.data(), nullptr) == TOF_OK, tof_error());
  const auto found = data.to_vector();
  const float most = *std::ranges::max_element(expected);
  for (std::size_t i = 0; i < turn_pixels; ++i) CHECK(std::abs(found[i] - expected[i]) < 2e-6F * most);
  REQUIRE(tof_adjoint(there.get(), data.data(), again.data(), nullptr) == TOF_OK);
  CHECK(dot(again.to_vector(), x) == approx(dot(found, found)).epsilon(1e-5));
  std::vector<float> s(small_voxels, 2), updated = x;
  const auto sensitivity = Buffer<float>::from(s).to(Memory::device);
  auto moved = Buffer<float>::from(x).to(Memory::device);
  const auto step = again.to_vector();
  REQUIRE(tof_em_update(here.get(), step.data(), s.data(), nullptr, updated.data(), nullptr) == TOF_OK);
  REQUIRE(tof_em_update(there.get(), again.data(), sensitivity.data(), sensitivity.data(), moved.data(), nullptr) ==
          TOF_OK);
  const auto on_device = moved.to_vector();
  for (std::size_t v = 0; v < small_voxels; ++v) CHECK(on_device[v] == approx(updated[v]).epsilon(1e-6));
  CHECK(tof_em_update(there.get(), again.data(), s.data(), nullptr, moved.data(), nullptr) == TOF_INVALID);
  CHECK(tof_forward(there.get(), x.data(), data.data(), nullptr) == TOF_INVALID);
  CHECK(std::string(tof_error()).find("image lies in the host's memory, and the operator works on the GPU") == 0);
  CHECK(tof_forward(here.get(), image.data(), expected.data(), nullptr) == TOF_INVALID);
  CHECK(std::string(tof_error()).find("image lies in the GPU's memory, and the operator works on the CPU") == 0);
}

TEST_CASE("on a GPU a sinogram's bins are those of the CPU, and wrong counts are found there") {
  if (!gpu_or_skip()) return;
  constexpr int bins = 5;
  Lines lines;
  lines.events.tof_mm = nullptr;
  Buffer<float> ends[6];
  tof_events there = lines.events;
  const float** const pointers[] = {&there.x1, &there.y1, &there.z1, &there.x2, &there.y2, &there.z2};
  for (std::size_t end = 0; end < 6; ++end) {
    ends[end] = Buffer<float>::from(lines.ends[end]).to(Memory::device);
    *pointers[end] = ends[end].data();
  }
  tof_operator *of_host = nullptr, *of_device = nullptr;
  REQUIRE(tof_operator_of_lines("joseph_projector", "", &small_grid, &lines.events, bins, TOF_CPU, &of_host) == TOF_OK);
  const Op host(of_host);
  REQUIRE_MESSAGE(
      tof_operator_of_lines("joseph_projector", "", &small_grid, &there, bins, TOF_CUDA, &of_device) == TOF_OK,
      std::string(tof_error()));
  const Op device(of_device);
  const auto x = random_numbers(small_voxels, 1);
  std::vector<float> expected(500 * bins), step(small_voxels);
  REQUIRE(tof_forward(of_host, x.data(), expected.data(), nullptr) == TOF_OK);
  const auto image = Buffer<float>::from(x).to(Memory::device);
  Buffer<float> data(Memory::device, 500 * bins), update(Memory::device, small_voxels);
  REQUIRE_MESSAGE(tof_forward(of_device, image.data(), data.data(), nullptr) == TOF_OK, std::string(tof_error()));
  const auto found = data.to_vector();
  const float most = *std::ranges::max_element(expected);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(found[i] - expected[i]) < 1e-5F * most);
  auto counts = expected;
  REQUIRE(tof_em_step(of_host, x.data(), counts.data(), nullptr, nullptr, step.data(), nullptr, nullptr) == TOF_OK);
  REQUIRE_MESSAGE(
      tof_em_step(of_device, image.data(), data.data(), nullptr, nullptr, update.data(), nullptr, nullptr) == TOF_OK,
      std::string(tof_error()));
  const auto updated = update.to_vector();
  const float most_seen = *std::ranges::max_element(step);
  for (std::size_t k = 0; k < small_voxels; ++k) CHECK(std::abs(updated[k] - step[k]) < 1e-4F * most_seen);
  counts[11] = -2;
  const auto wrong = Buffer<float>::from(counts).to(Memory::device);
  CHECK(tof_em_step(of_device, image.data(), wrong.data(), nullptr, nullptr, update.data(), nullptr, nullptr) ==
        TOF_INVALID);
  CHECK(std::string(tof_error()) == "counts[2, 1] is -2: it must be finite and at least 0");
}

TEST_CASE("what the program warns of goes to the host, and nothing to the terminal") {
  std::string heard;
  const auto hear = [](void* user, std::int32_t level, const char* line) {
    static_cast<std::string*>(user)->append(std::to_string(level) + " " + line + "\n");
  };
  REQUIRE(tof_log(hear, &heard, "warning") == TOF_OK);
  (void)spect_operator("");
  CHECK(heard.starts_with("3 rotation_projector: no point spread"));
  heard.clear();
  REQUIRE(tof_log(hear, &heard, "off") == TOF_OK);
  (void)spect_operator("");
  CHECK(heard.empty());
  CHECK(tof_log(hear, &heard, "loud") == TOF_INVALID);
  int calls = 0;
  const auto fail = [](void* user, std::int32_t, const char*) {
    ++*static_cast<int*>(user);
    throw std::runtime_error("mine");
  };
  REQUIRE(tof_log(fail, &calls, "warning") == TOF_OK);
  (void)spect_operator("");
  (void)spect_operator("");
  CHECK(calls == 1);
  REQUIRE(tof_log(nullptr, nullptr, "warning") == TOF_OK);
}

TEST_CASE("a wrong argument is told in one line with its name, and nothing is made") {
  const CameraTurn turn;
  const Lines lines;
  tof_operator* op = nullptr;
  const auto said = [&](tof_status status) {
    CHECK(status != TOF_OK);
    CHECK(op == nullptr);
    const std::string text = tof_error();
    CHECK(text.find('\n') == std::string::npos);
    return text;
  };
  const auto views_said = [&](const char* projector, const char* parameters, tof_grid grid, tof_views views) {
    return said(tof_operator_of_views(projector, parameters, &grid, &views, nullptr, 0, TOF_CPU, &op));
  };
  CHECK(views_said("rotating_projector", "", small_grid, turn.views).find("did you mean 'rotation_projector'?") !=
        std::string::npos);
  CHECK(views_said("rotation_projector", "{psf_from: none}", small_grid, turn.views).find("did you mean 'psf_form'?") !=
        std::string::npos);
  CHECK(views_said("rotation_projector", "{psf: {slope: -1}}", small_grid, turn.views).find("slope") !=
        std::string::npos);
  CHECK(views_said("rotation_projector", "{psf: ", small_grid, turn.views).find("parameters:1") != std::string::npos);
  tof_grid grid = small_grid;
  grid.voxels[1] = 0;
  CHECK(views_said("rotation_projector", "", grid, turn.views).find("grid: ") == 0);
  grid = small_grid;
  grid.size = 4;
  CHECK(views_said("rotation_projector", "", grid, turn.views).find("grid.size is 4") == 0);
  tof_views views = turn.views;
  views.radius_mm = nullptr;
  CHECK(views_said("rotation_projector", "", small_grid, views) == "views.radius_mm is null");
  views = turn.views;
  views.views = 0;
  CHECK(views_said("rotation_projector", "", small_grid, views).find("views.views is 0") == 0);

  const auto events_said = [&](tof_events events) {
    return said(tof_operator_of_events("joseph_projector", nullptr, &small_grid, &events, nullptr, 0, TOF_CPU, &op));
  };
  tof_events events = lines.events;
  events.count = 0;
  CHECK(events_said(events).find("events.count is 0") == 0);
  events = lines.events;
  events.z2 = nullptr;
  CHECK(events_said(events) == "events need detector1 and detector2, or all of x1 y1 z1 x2 y2 z2");
  events = lines.events;
  events.tof_sigma_mm = 0;
  CHECK(events_said(events).find("events.tof_mm is given, and neither") == 0);
  events.tof_sigma_mm = -30;
  CHECK(events_said(events) == "events.tof_sigma_mm and tof_bin_mm are -30 and 20: give lengths, or 0");
  std::vector<float> bad(500, std::numeric_limits<float>::quiet_NaN());
  events = lines.events;
  events.y1 = bad.data();
  CHECK(events_said(events) == "events.y1[0] is nan: only finite numbers are taken");
  const std::vector<std::uint32_t> detectors(500, 1'000'000);
  events = lines.events;
  events.detector1 = events.detector2 = detectors.data();
  CHECK(events_said(events) == "events have detectors, and events.scanner is null: name the scanner");
  events.scanner = "demo_ring";
  CHECK(events_said(events).find("events.detector1[0] is 1000000, and the scanner has ") == 0);
  events.scanner = "demo_rings";
  CHECK(events_said(events).find("demo_rings") != std::string::npos);

  const Op made = spect_operator();
  std::vector<float> image(small_voxels), data(turn_pixels);
  CHECK(tof_forward(nullptr, image.data(), data.data(), nullptr) == TOF_INVALID);
  CHECK(tof_forward(made.get(), nullptr, data.data(), nullptr) == TOF_INVALID);
  CHECK(std::string(tof_error()) == "image is null");
  CHECK(tof_em_step(made.get(), image.data(), nullptr, nullptr, nullptr, data.data(), nullptr, nullptr) == TOF_INVALID);
  CHECK(std::string(tof_error()) == "counts is null: an EM step of views needs their counts");
  for (const auto& [wrong, words] : {std::pair(-1.0F, "counts[0, 0, 7] is -1: it must be finite and at least 0"),
                                     std::pair(std::numeric_limits<float>::quiet_NaN(),
                                               "counts[0, 0, 7] is nan: it must be finite and at least 0")}) {
    data[7] = wrong;
    std::vector<float> step(small_voxels);
    CHECK(tof_em_step(made.get(), image.data(), data.data(), nullptr, nullptr, step.data(), nullptr, nullptr) ==
          TOF_INVALID);
    CHECK(std::string(tof_error()) == words);
  }
  CHECK(tof_operator_part(made.get(), 0, 10, &op) == TOF_INVALID);
  CHECK(std::string(tof_error()) == "parts is 10: it must be in [1, 9], as many as there are data");
  std::string of_other;
  std::thread([&] { of_other = tof_error(); }).join();
  CHECK(of_other.empty());
}
// SPDX-License-Identifier: Apache-2.0
