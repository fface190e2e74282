// Forward and back projection of events whose plan is made: against the double-precision reference and the projections
// without a plan, for values of any sign and size.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "kernels/ring/blob/blob_projector.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/simulate/workloads.hpp"
#include "kernels/ring/tor/tor.hpp"
#include "tests/kernels/blob_support.hpp"
#include "tests/kernels/line_support.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

using Numbers = std::vector<float>;

/// An operator on each backend; `path` is a GPU's.
struct Operator {
  std::string what;
  Grid grid;
  std::function<std::unique_ptr<Projector>(const Grid&, Backend, CudaPath, bool deterministic)> make;
  std::function<std::unique_ptr<Projector>(const Grid&)> make_reference;
};

Operator joseph(const Grid& grid) {
  return {"Joseph", grid,
          [](const Grid& g, Backend backend, CudaPath path, bool deterministic) {
            return make_joseph_projector(g, {.cuda_path = path, .deterministic = deterministic}, backend);
          },
          [](const Grid& g) { return make_joseph_reference(g, {}); }};
}

Operator tor(const Grid& grid, float radius_mm, Normalise normalise = Normalise::none) {
  const auto response = RadialResponse::gaussian(0.86f * radius_mm, radius_mm);
  return {"TOR", grid,
          [=](const Grid& g, Backend backend, CudaPath path, bool deterministic) {
            return make_tor_projector(
                g, {.response = response, .cuda_path = path, .deterministic = deterministic, .normalise = normalise},
                backend);
          },
          [=](const Grid& g) { return make_tor_reference(g, {.response = response, .normalise = normalise}); }};
}

Operator blobs(const Grid& grid) {
  return {"blobs", grid,
          [](const Grid& g, Backend backend, CudaPath path, bool deterministic) {
            return make_blob_projector(g, {.cuda_path = path, .deterministic = deterministic}, backend);
          },
          [](const Grid& g) { return make_blob_reference(g, {}); }};
}

std::vector<Operator> operators() {
  const Grid voxels = Grid::centred(21, 18, 14, {4, 4, 4});
  return {joseph(voxels), tor(voxels, 6), tor(voxels, 6, Normalise::slice), tor(voxels, 20),
          blobs(blob_grid(15, 12, 9, 8.15f))};
}

/// A projector with events that it has planned where it plans any, in its memory.
class Planned {
 public:
  Planned(const Operator& of, const EventBatch& batch, Backend backend, CudaPath path, bool deterministic = false)
      : projector_(of.make(of.grid, backend, path, deterministic)),
        memory_(memory_of(backend)),
        events_(batch.to(memory_)),
        plan_(projector_->plan(events_.view())) {}

  Projector& projector() { return *projector_; }
  bool has_plan() const { return plan_ != nullptr; }
  void drop_plan() { plan_.reset(); }

  Numbers forward(const Numbers& image) const {
    const Buffer<float> x = there(image);
    Buffer<float> expectation = there(Numbers(static_cast<std::size_t>(events_.count), NAN));  // all are written
    projector_->planned_forward(plan_.get(), events_.view(), x.data(), expectation.data());
    return expectation.to_vector();
  }
  Numbers direct_forward(const Numbers& image) const {
    const Buffer<float> x = there(image);
    Buffer<float> expectation(memory_, events_.count);
    projector_->forward(events_.view(), x.data(), expectation.data());
    return expectation.to_vector();
  }
  /// `values` empty stands for null; added to `before` in each voxel.
  Numbers back(const Numbers& values, float before = 0) const {
    const Buffer<float> y = there(values);
    Buffer<float> image = there(Numbers(static_cast<std::size_t>(projector_->grid().voxels()), before));
    projector_->planned_back(plan_.get(), events_.view(), values.empty() ? nullptr : y.data(), image.data());
    return image.to_vector();
  }
  Numbers direct_back(const Numbers& values) const {
    const Buffer<float> y = there(values);
    auto image = Buffer<float>::zeros(memory_, projector_->grid().voxels());
    projector_->back(events_.view(), y.data(), image.data());
    return image.to_vector();
  }
  Numbers em(const Numbers& image) const { return em_and_tally(image).first; }
  std::pair<Numbers, EmTally> em_and_tally(const Numbers& image) const {
    const Buffer<float> x = there(image);
    auto sums = Buffer<float>::zeros(memory_, projector_->grid().voxels());
    const EmTally tally = projector_->planned_em_step(plan_.get(), events_.view(), x.data(), sums.data());
    return {sums.to_vector(), tally};
  }

 private:
  Buffer<float> there(const Numbers& numbers) const { return Buffer<float>::from(numbers).to(memory_); }

  std::unique_ptr<Projector> projector_;
  Memory memory_;
  EventBatch events_;
  std::unique_ptr<EventPlan> plan_;
};

double norm_of(const Numbers& numbers) {
  return std::sqrt(inner(numbers, numbers));
}

float largest_of(const Numbers& numbers) {
  float largest = 0;
  for (const float number : numbers) largest = std::max(largest, std::abs(number));
  return largest;
}

Numbers plus(Numbers numbers, float number) {
  for (float& each : numbers) each += number;
  return numbers;
}

/// Everything that holds of planned projections on any backend. Images and values have both signs, so expectations do.
/// `by_tiles`: on a GPU there is a plan.
void check_operator(const Operator& of, const EventBatch& batch, Backend backend, CudaPath path, bool by_tiles = true) {
  CAPTURE(of.what);
  CAPTURE(batch.tof.sigma_mm);
  CAPTURE(batch.tof.bin_width_mm);
  const auto x = random_numbers(of.grid.voxels(), 1, -0.5f, 1), y = random_numbers(batch.count, 2, -1, 1);
  Planned planned(of, batch, backend, path);
  CHECK(planned.has_plan() == (backend == Backend::cuda && by_tiles));
  const auto reference = of.make_reference(of.grid);
  Numbers expected_forward(y.size()), expected_back(x.size(), 0.0f);
  reference->forward(batch.view(), x.data(), expected_forward.data());
  reference->back(batch.view(), y.data(), expected_back.data());

  const Numbers forward = planned.forward(x), back = planned.back(y);
  // Terms of either sign cancel. A tile's coordinates are floats, and it takes the response of a wide bin by pieces: see
  // tor_agreement.cpp.
  const double tolerance = backend == Backend::cuda ? 1.5e-4 : 2e-5;
  CHECK(error_of_range(forward, expected_forward) < tolerance);
  CHECK(error_of_range(back, expected_back) < tolerance);
  CHECK(rms_of_range(forward, expected_forward) < 0.2 * tolerance);
  CHECK(rms_of_range(back, expected_back) < 0.2 * tolerance);
  CHECK(error_of_range(forward, planned.direct_forward(x)) < tolerance);
  CHECK(error_of_range(back, planned.direct_back(y)) < tolerance);
  CHECK(std::abs(inner(forward, y) - inner(x, back)) < 1e-5 * norm_of(forward) * norm_of(y));
  const float before = largest_of(back);  // more would leave the sums few digits
  CHECK(error_of_range(planned.back(y, before), plus(back, before)) < 1e-5);
  const Numbers ones(y.size(), 1.0f);
  const double order = backend == Backend::cuda ? 3e-6 : 1e-6;  // of additions, which atomics do in any
  CHECK(error_of_range(planned.back({}), planned.back(ones)) < order);
  planned.drop_plan();
  CHECK(error_of_range(planned.forward(x), planned.direct_forward(x)) < 1e-6);
  CHECK(error_of_range(planned.back(y), planned.direct_back(y)) < order);
}

/// Without ToF, with ToF whose ends lie in the image and beyond it, with narrow and with wide bins.
void check_operators(Backend backend, CudaPath path) {
  for (const Operator& of : operators())
    for (const TofModel& tof : {TofModel{}, TofModel{40.5f, 0}, TofModel{7.1f, 0}, TofModel{15, 3}, TofModel{30, 40}}) {
      // By slice, tiles take ToF where they walk windows: not beside so short a response.
      if (of.what == "TOR" && tof.sigma_mm > 0 && tof.sigma_mm < 20 && backend == Backend::cuda) {
        const Planned planned(of, batch_of(random_lines(of.grid, 100, 8), tof), backend, path);
        if (!planned.has_plan()) continue;
      }
      std::vector<Lor> lors = random_lines(of.grid, 150, 42);
      lors.push_back({{500, -400, 0}, {500, 400, 0}, 0});    // misses
      lors.push_back({{-400, 0.5f, 1}, {400, 1, 2}, 5000});  // meets the image far from its ToF centre
      lors.push_back({{-400, NAN, 0}, {400, 0, 0}, 0});
      check_operator(of, batch_of(lors, tof), backend, path);
    }
}

/// Lines along y that end inside the image, near its edge: as where the image's corners lie beyond the ring.
std::vector<Lor> lines_that_end_inside(const Grid& grid, int count) {
  const auto half = [&](int axis) { return 0.5f * static_cast<float>(grid.size[axis]) * grid.voxel_mm[axis]; };
  std::vector<Lor> lors;
  for (int k = 0; k < count; ++k) {
    const auto at = random_numbers(6, 100 + static_cast<std::uint64_t>(k));
    const float x = half(0) * (0.8f + 0.15f * at[0]), z = half(2) * (at[1] - 0.5f);
    lors.push_back({{x, -half(1) * (0.4f + 0.3f * at[2]), z},
                    {x + at[3], half(1) * (0.4f + 0.3f * at[4]), z + at[3]},
                    10 * (at[5] - 0.5f)});
  }
  return lors;
}

/// Lines of which `cut`, among the others, end inside the image.
struct PartlyCut {
  std::vector<Lor> lors;
  std::vector<bool> is_cut;

  PartlyCut(const Grid& grid, int count, int cut)
      : lors(random_lines(grid, count, 42)), is_cut(static_cast<std::size_t>(count), false) {
    const auto inside = lines_that_end_inside(grid, cut);
    for (int k = 0; k < cut; ++k) {
      const auto i = static_cast<std::size_t>((2 * k + 1) * count / (2 * cut));
      lors[i] = inside[static_cast<std::size_t>(k)];
      is_cut[i] = true;
    }
  }
};

/// ToF whose response ends beyond a line that ends inside the image.
constexpr TofModel far_reaching[] = {TofModel{}, TofModel{40.5f, 0}, TofModel{30, 40}};

/// Operators whose weights end with the line.
std::vector<Operator> tubes() {
  std::vector<Operator> all = operators();
  std::erase_if(all, [](const Operator& of) { return of.what == "Joseph"; });
  return all;
}

/// The lines between detectors, with terms: every other line that is cut has nothing additive.
EventBatch between_detectors(const PartlyCut& lines, const TofModel& tof) {
  EventBatch batch = batch_of(lines.lors, tof);
  std::vector<Vec3> positions;
  batch.detector1 = batch.detector2 = Buffer<std::uint32_t>(Memory::host, batch.count);
  batch.additive = batch.multiplicative = Buffer<float>(Memory::host, batch.count);
  int ended = 0;
  for (std::int64_t i = 0; i < batch.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    batch.detector1[i] = static_cast<std::uint32_t>(2 * i);
    batch.detector2[i] = static_cast<std::uint32_t>(2 * i + 1);
    positions.push_back(lines.lors[at].end1);
    positions.push_back(lines.lors[at].end2);
    const bool dark = lines.is_cut[at] && ended++ % 2 == 0;
    batch.additive[i] = dark ? 0.0f : 0.5f + 0.01f * static_cast<float>(i % 7);
    batch.multiplicative[i] = 1 + 0.01f * static_cast<float>(i % 5);
  }
  for (auto& end : batch.ends) end = {};
  batch.detectors = std::make_shared<const DetectorTable>(positions);
  return batch;
}

/// An image that is dark where lines end.
Numbers dark_near_the_ends(Numbers image, const Grid& grid) {
  for (std::size_t v = 0; v < image.size(); ++v)
    if (static_cast<int>(v) % grid.size[0] >= grid.size[0] / 2) image[v] = 0;
  return image;
}

/// EM steps with a plan and without one.
void check_em(const Operator& of, const EventBatch& batch, const Numbers& image, std::int64_t skipped,
              Backend backend) {
  Numbers expected(image.size(), 0.0f);
  const EmTally tally = of.make_reference(of.grid)->em_step(batch.view(), image.data(), expected.data());
  CHECK(tally.skipped == skipped);
  Planned planned(of, batch, backend, CudaPath::tiled);
  for (int run = 0; run < 3; ++run) {
    const auto [sums, found] = planned.em_and_tally(image);
    CHECK(error_of_range(sums, expected) < 1.5e-4);
    CHECK(rms_of_range(sums, expected) < 3e-5);
    CHECK(found.used == tally.used);
    CHECK(found.skipped == tally.skipped);
    CHECK(std::abs(found.log_sum - tally.log_sum) < 3e-5 * static_cast<double>(batch.count));
    if (run == 1) planned.drop_plan();
  }
}

void check_ends_inside(Backend backend) {
  for (const Operator& of : tubes())
    for (const TofModel& tof : far_reaching)
      for (const int cut : {0, 1, 30, 50}) {
        CAPTURE(cut);
        check_operator(of, batch_of(PartlyCut(of.grid, 200, cut).lors, tof), backend, CudaPath::tiled);
      }
}

void check_em_of_ends_inside(Backend backend) {
  for (const Operator& of : tubes())
    for (const TofModel& tof : far_reaching)
      for (const int cut : {0, 1, 30, 90}) {
        CAPTURE(of.what);
        CAPTURE(tof.sigma_mm);
        CAPTURE(cut);
        const EventBatch batch = between_detectors(PartlyCut(of.grid, 200, cut), tof);
        const Numbers lit = random_numbers(of.grid.voxels(), 1, 0.5f, 1.5f);
        check_em(of, batch, lit, 0, backend);
        check_em(of, batch, dark_near_the_ends(lit, of.grid), (cut + 1) / 2, backend);
      }
}

void check_nothing(Backend backend) {
  const Operator of = joseph(Grid::centred(20, 20, 20, {4, 4, 4}));
  const Planned empty(of, batch_of({}, {8, 0}), backend, CudaPath::automatic);
  CHECK(empty.forward(Numbers(8000, 1.0f)).empty());
  CHECK(empty.back({}, 2) == Numbers(8000, 2.0f));
  const std::vector<Lor> outside(300, Lor{{500, -400, 0}, {500, 400, 0}, 0});
  const Planned beside(of, batch_of(outside, {8, 0}), backend, CudaPath::tiled);
  CHECK(beside.forward(Numbers(8000, 1.0f)) == Numbers(300, 0.0f));
  CHECK(beside.back({}, 2) == Numbers(8000, 2.0f));
}

Numbers times(Numbers numbers, float factor) {
  for (float& number : numbers) number *= factor;
  return numbers;
}

bool same_bits(const Numbers& a, const Numbers& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Values of either sign, from 1e-6 to 1e6, as many of each power of ten.
Numbers values_of_all_sizes(std::int64_t count) {
  Numbers values = random_numbers(count, 3, -6, 6);
  const Numbers signs = random_numbers(count, 4, -1, 1);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::copysign(std::pow(10.0f, values[i]), signs[i]);
  return values;
}

/// The values whose size is in [low, 10 low), the others 0.
Numbers of_size(const Numbers& values, double low, bool magnitudes) {
  Numbers chosen(values.size(), 0.0f);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double size = std::abs(static_cast<double>(values[i]));
    if (size >= low && size < 10 * low) chosen[i] = magnitudes ? std::abs(values[i]) : values[i];
  }
  return chosen;
}

/// How far a back projection of all values is from the sum of those of each power of ten: RMS over voxels, each as a
/// share of what passes through it of either sign, where that is at least `least` times `unit`. Values are 1e-8 to 1e8
/// times the unit.
double error_beside_parts(const Planned& planned, const Numbers& values, double unit, double least) {
  const Numbers all = planned.back(values);
  std::vector<double> sum(all.size(), 0.0), passes(all.size(), 0.0);
  for (int power = -8; power < 8; ++power) {
    const double low = unit * std::pow(10.0, power);
    const Numbers part = planned.back(of_size(values, low, false)), passing = planned.back(of_size(values, low, true));
    for (std::size_t v = 0; v < all.size(); ++v) {
      sum[v] += static_cast<double>(part[v]);
      passes[v] += static_cast<double>(passing[v]);
    }
  }
  double squares = 0;
  int voxels = 0;
  for (std::size_t v = 0; v < all.size(); ++v) {
    if (passes[v] < least * unit) continue;
    ++voxels;
    squares += std::pow((static_cast<double>(all[v]) - sum[v]) / passes[v], 2);
  }
  CHECK(voxels > 1000);
  return std::sqrt(squares / voxels);
}

void check_sizes(Backend backend, bool deterministic) {
  CAPTURE(deterministic);
  const Operator of = joseph(Grid::centred(40, 40, 20, {4, 4, 4}));
  const EventBatch batch = batch_of(random_lines(of.grid, 20'000, 9), {8, 0});
  const Planned planned(of, batch, backend, CudaPath::tiled, deterministic);
  Numbers values = random_numbers(batch.count, 2, -1.5f, 1.5f);
  CHECK(error_beside_parts(planned, values, 1, 0.1) < 1e-5);
  // On a GPU what is far beyond the others goes another way, on coordinates that depart by 4e-6 voxels: so do its
  // weights, which in voxels that its line hardly meets are no more than that.
  const double far_beyond = backend == Backend::cuda ? 5e-4 : 1e-5;
  for (std::size_t i = 0; i < values.size(); i += 500) values[i] *= 1e7f;
  CHECK(error_beside_parts(planned, values, 1, 0.1) < far_beyond);
  values = values_of_all_sizes(batch.count);
  for (const float unit : {1.0f, 1e20f, 1e-20f})
    CHECK(error_beside_parts(planned, times(values, unit), static_cast<double>(unit), 100) < 0.2 * far_beyond);
}

}  // namespace

TEST_CASE("planned projections on the CPU are those of the reference and of direct calls") {
  check_operators(Backend::cpu, CudaPath::automatic);
}

TEST_CASE("planned projections on CUDA are those of the reference and of direct calls") {
  if (!gpu_or_skip()) return;
  check_operators(Backend::cuda, CudaPath::tiled);
}

TEST_CASE("planned projections on the CPU where some lines end inside the image") {
  check_ends_inside(Backend::cpu);
}

TEST_CASE("planned projections on CUDA where some lines end inside the image") {
  if (!gpu_or_skip()) return;
  check_ends_inside(Backend::cuda);
}

TEST_CASE(
    "planned projections on CUDA go the direct path where more than a quarter of the lines end inside the image") {
  if (!gpu_or_skip()) return;
  for (const Operator& of : tubes())
    check_operator(of, batch_of(PartlyCut(of.grid, 200, 51).lors), Backend::cuda, CudaPath::tiled, false);
}

TEST_CASE("EM steps on the CPU where some lines end inside the image count them and skip the dark ones") {
  check_em_of_ends_inside(Backend::cpu);
}

TEST_CASE("EM steps on CUDA where some lines end inside the image count them and skip the dark ones") {
  if (!gpu_or_skip()) return;
  check_em_of_ends_inside(Backend::cuda);
}

TEST_CASE("deterministic projections on CUDA refuse a single line that ends inside the image") {
  if (!gpu_or_skip()) return;
  for (const Operator& of : tubes()) {
    CAPTURE(of.what);
    const auto planned = [&](int cut) {
      return Planned(of, batch_of(PartlyCut(of.grid, 200, cut).lors), Backend::cuda, CudaPath::tiled, true);
    };
    CHECK(planned(0).has_plan());
    const Planned refused = planned(1);
    CHECK_FALSE(refused.has_plan());
    CHECK_THROWS_WITH_AS(refused.em(Numbers(static_cast<std::size_t>(of.grid.voxels()), 1.0f)),
                         doctest::Contains("no line that ends inside the image"), std::runtime_error);
  }
}

TEST_CASE("planned projections of no events, and of events that miss the image, on the CPU") {
  check_nothing(Backend::cpu);
}

TEST_CASE("planned projections of no events, and of events that miss the image, on CUDA") {
  if (!gpu_or_skip()) return;
  check_nothing(Backend::cuda);
}

TEST_CASE("planned projections on CUDA agree with the CPU's where paths cross tiles, and take turns with EM steps") {
  if (!gpu_or_skip()) return;
  const Grid w1 = find_workload("W1").grid;
  for (const Operator& of : {joseph(w1), tor(w1, 6), blobs(blob_grid(40, 36, 20, 6))})
    for (const TofModel& tof : {TofModel{40.5f, 0}, TofModel{}}) {
      CAPTURE(of.what);
      CAPTURE(tof.sigma_mm);
      const EventBatch batch = batch_of(random_lines(of.grid, 30'000, 7), tof);
      const auto x = random_numbers(of.grid.voxels(), 1, 0.5f, 1.5f), y = random_numbers(batch.count, 2, -0.5f, 1.5f);
      const Planned cpu(of, batch, Backend::cpu, CudaPath::automatic);
      const Planned gpu(of, batch, Backend::cuda, CudaPath::automatic);
      CHECK(gpu.has_plan());
      const Numbers forward = cpu.forward(x), back = cpu.back(y), em = gpu.em(x);
      for (int turn = 0; turn < 3; ++turn) {
        CHECK(rms_of_range(gpu.forward(x), forward) < 2e-5);  // rounding decides some voxels at a tube's wall
        CHECK(rms_of_range(gpu.back(y), back) < 1e-5);
        CHECK(rms_of_range(gpu.em(x), em) < 1e-6);
      }
      CHECK(inner(gpu.forward(x), y) == doctest::Approx(inner(x, gpu.back(y))).epsilon(1e-5));
    }
}

TEST_CASE("planned projections on CUDA go through all stretches of a plan") {
  if (!gpu_or_skip()) return;
  const Operator of = joseph(find_workload("W1").grid);
  const EventBatch batch = random_lors(find_workload("W1"), 3'200'000, 5);  // 3 times 2^20 at a time
  const auto x = random_numbers(of.grid.voxels(), 1, 0.5f, 1.5f), y = random_numbers(batch.count, 2, -0.5f, 1.5f);
  const Planned tiled(of, batch, Backend::cuda, CudaPath::automatic);
  const Planned direct(of, batch, Backend::cuda, CudaPath::direct);
  CHECK(tiled.has_plan());
  CHECK_FALSE(direct.has_plan());
  CHECK(rms_of_range(tiled.forward(x), direct.forward(x)) < 5e-6);
  CHECK(rms_of_range(tiled.back(y), direct.back(y)) < 1e-5);
}

TEST_CASE("deterministic planned projections on CUDA are the same bit for bit, and scale with their values") {
  if (!gpu_or_skip()) return;
  const Grid w1 = find_workload("W1").grid;
  for (const Operator& of : {joseph(w1), tor(w1, 6)}) {
    CAPTURE(of.what);
    const EventBatch batch = random_lors(find_workload("W1"), 30'000, 7);  // between detectors: none ends in the image
    const auto x = random_numbers(of.grid.voxels(), 1, -0.5f, 1.5f), mixed = random_numbers(batch.count, 2, -1, 1);
    const Numbers sizes = values_of_all_sizes(batch.count);
    const Planned first(of, batch, Backend::cuda, CudaPath::automatic, true);
    for (int run = 0; run < 4; ++run) {
      const Planned again(of, batch, Backend::cuda, CudaPath::automatic, true);
      CHECK(same_bits(again.forward(x), first.forward(x)));
      CHECK(same_bits(again.back({}), first.back({})));
      CHECK(same_bits(again.back(mixed), first.back(mixed)));
      CHECK(same_bits(again.back(sizes), first.back(sizes)));
    }
    // Powers of two change the exponents alone; these are whole bands of them.
    for (const float factor : {0x1p64f, 0x1p-64f})
      CHECK(same_bits(first.back(times(sizes, factor)), times(first.back(sizes), factor)));
    CHECK(error_of_range(first.back(times(mixed, -1)), times(first.back(mixed), -1)) < 1e-6);
  }
}

TEST_CASE("values far beyond the others' leave them their precision, whatever their sign, on the CPU") {
  check_sizes(Backend::cpu, false);
}

TEST_CASE("values far beyond the others' leave them their precision, whatever their sign, on CUDA") {
  if (!gpu_or_skip()) return;
  for (const bool deterministic : {false, true}) check_sizes(Backend::cuda, deterministic);
}

TEST_CASE("what is no number stays in the voxels that its event meets") {
  if (!gpu_or_skip()) return;
  const Operator of = joseph(Grid::centred(40, 40, 20, {4, 4, 4}));
  std::vector<Lor> lors = random_lines(of.grid, 20'000, 9);
  lors[77] = {{-400, 1, 2}, {400, 3, 4}, 0};
  const EventBatch batch = batch_of(lors, {8, 0});
  Numbers values = random_numbers(batch.count, 2, -1.5f, 1.5f), alone(values.size(), 0.0f);
  values[77] = NAN;
  alone[77] = 1;
  const Numbers met = Planned(of, batch, Backend::cpu, CudaPath::automatic).back(alone);
  for (const bool deterministic : {false, true}) {
    CAPTURE(deterministic);
    const Numbers back = Planned(of, batch, Backend::cuda, CudaPath::tiled, deterministic).back(values);
    int inside = 0, outside = 0;
    for (std::size_t v = 0; v < back.size(); ++v) {
      if (met[v] > 1e-3f && std::isnan(back[v])) ++inside;
      if (met[v] == 0 && std::isnan(back[v])) ++outside;
    }
    CHECK(inside > 10);
    CHECK(outside <= 4);  // rounding decides where the ToF response ends
  }
}
