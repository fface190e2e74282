// The parts of Cui et al.'s scheme that run on the CPU: the layout of lines, and the windows of tiles of slices, walked
// on the host and compared with the double-precision reference.
#include "kernels/project/reference.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/tor/paper/scheme.hpp"
#include "kernels/ring/tor/paper/slices.hpp"
#include "kernels/ring/tor/tor_model.hpp"
#include "kernels/ring/tor/weight-inl.hpp"
#include "tests/kernels/line_support.hpp"

using namespace tofstream;
using namespace tofstream::testing;
using namespace tofstream::tor::paper;

namespace {

struct Walk {
  Grid grid;
  RadialResponse response;
  TofModel tof;
  std::int64_t words;  // of shared memory
};

/// What the kernels' loops visit for one line: visit(voxel of the image, weight).
template <bool fixed, class Visit>
void walk(const Walk& w, const tor::Pass& pass, const Lines& lines, std::int64_t i, Visit&& visit) {
  const SliceSpan span = lines.slices(i);
  const Slices slices = Slices::make(w.grid, span.axis, static_cast<double>(w.response.tube_radius_mm()), w.words);
  CHECK((slices.tile_words() <= w.words || slices.tile_rows == 1));
  const Line line = lines.line(i, span);
  const single_lane::TubeWeight<float, true, const float*, true> weight(pass, line.tube, 1.0f, nullptr);
  for (int slice = span.first; slice < span.end; ++slice)
    for (int tile = 0; tile < slices.tiles; ++tile) {
      const int begin = slices.tile_begin(tile), end = slices.tile_end(tile);
      CHECK(begin < end);
      const Crossing at = line.crossing(slice);
      if (!Slices::meets(line.tube, at, begin, end)) continue;
      const Window window = slices.window<fixed>(line.tube, at, begin, end);
      const auto use = [&](int column, int row, float value) {
        REQUIRE(column >= 0);
        REQUIRE(column < slices.columns);
        REQUIRE(row >= begin);
        REQUIRE(row < end);
        visit(slice * slices.slice_stride + row * slices.q_stride + column * slices.p_stride, value);
      };
      for_each_voxel<true>(window, at, weight, use);
    }
}

template <bool fixed>
void check_walk(const Walk& w, bool structure_of_arrays) {
  std::vector<Lor> lors = random_lines(w.grid, 80, 21);
  for (const Lor& lor : awkward_lines()) lors.push_back(lor);
  const EventBatch events = batch_of(lors, w.tof);
  const tor::Pass pass = tor::make_pass(tor::make_model(w.grid, {.response = w.response}), events.view(), true);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(events.count * Lines::words_a_line));
  const Lines lines(words.data(), events.count, structure_of_arrays);
  for (std::int64_t i = 0; i < events.count; ++i) lines.store(i, pass.tube(i), pass.scale(i, pass.tube(i)));
  const auto image = random_numbers(w.grid.voxels(), 3, 0.5f, 1.5f);
  const auto reference = make_tor_reference(w.grid, {.response = w.response, .cuda_path = CudaPath::paper});
  std::vector<float> found;
  for (std::int64_t i = 0; i < events.count; ++i) {
    double sum = 0;
    std::vector<int> visits(image.size(), 0);
    walk<fixed>(w, pass, lines, i, [&](std::int64_t voxel, float weight) {
      ++visits[static_cast<std::size_t>(voxel)];
      sum += static_cast<double>(weight * lines.scale(i)) * static_cast<double>(image[static_cast<std::size_t>(voxel)]);
    });
    CHECK(*std::ranges::max_element(visits) <= 1);
    found.push_back(static_cast<float>(sum));
  }
  CHECK(error_of_range(found, forward_of(*reference, events, image)) < 1e-5);
}

std::vector<Walk> walks() {
  const Grid odd = Grid::centred(21, 17, 13, {4, 4, 4}), anisotropic = Grid::centred(20, 27, 9, {2, 1, 4});
  const Grid off_centre{{7, 31, 5}, {3, 2, 6}, {10, -25, -8}};
  std::vector<Walk> result;
  for (const TofModel& tof : {TofModel{}, TofModel{40.5f, 0}, TofModel{7.1f, 12}})
    for (const float radius : {2.0f, 6.0f, 10.0f, 15.3f}) {
      const RadialResponse response = RadialResponse::gaussian(0.86f * radius, radius);
      result.push_back({odd, response, tof, 50'000});
      result.push_back({anisotropic, response, tof, 100});  // tiles of a few rows
      result.push_back({off_centre, response, tof, 1});     // of one
    }
  return result;
}

}  // namespace

TEST_CASE("the paper's lines and windows cover each voxel of a tube once and weigh it as the reference does") {
  for (const Walk& w : walks())
    for (const bool structure_of_arrays : {true, false}) {
      CAPTURE(w.grid.size[0]);
      CAPTURE(w.response.tube_radius_mm());
      CAPTURE(w.tof.sigma_mm);
      CAPTURE(structure_of_arrays);
      check_walk<true>(w, structure_of_arrays);
      check_walk<false>(w, structure_of_arrays);
    }
}

TEST_CASE("a tube three voxels wide has windows of five by five voxels, at most as many as the slice has") {
  const Slices slices = Slices::make(Grid::centred(75, 75, 26, {4, 4, 4}), 0, 6, 1 << 20);
  CHECK(slices.fixed_columns == 5);
  CHECK(slices.fixed_rows == 5);
  CHECK(slices.tiles == 1);
  CHECK(slices.row_stride == 75);
  const Slices few = Slices::make(Grid::centred(75, 3, 26, {4, 4, 4}), 0, 60, 1 << 20);
  CHECK(few.fixed_columns == 3);
  CHECK(few.fixed_rows == 26);
}

TEST_CASE("a span of slices survives its packing") {
  for (const SliceSpan span : {SliceSpan{0, 0, 0}, SliceSpan{1, 3, 4096}, SliceSpan{2, 4095, 4096}}) {
    const SliceSpan again = SliceSpan::unpacked(span.packed());
    CHECK(again.axis == span.axis);
    CHECK(again.first == span.first);
    CHECK(again.end == span.end);
  }
}

TEST_CASE("the paper's scheme refuses launches that no GPU takes, and a sort without the partition") {
  const auto refused = [](PaperScheme scheme) {
    CHECK_THROWS_AS(validate(scheme), std::invalid_argument);
    CHECK_THROWS_AS(
        make_tor_projector(Grid::centred(4, 4, 4, {4, 4, 4}),
                           {.response = RadialResponse::gaussian(5, 6), .cuda_path = CudaPath::paper, .paper = scheme},
                           Backend::cuda),
        std::invalid_argument);
  };
  CHECK_NOTHROW(validate(PaperScheme{}));
  for (const int threads : {0, 33, 2048}) refused({.threads = threads});
  refused({.blocks = -1});
  refused({.shared_bytes = -1});
  refused({.partition = false});
  CHECK_NOTHROW(validate(PaperScheme{.partition = false, .sort = false}));
}

TEST_CASE("Joseph's projector refuses the paper's scheme") {
  const Grid grid = Grid::centred(4, 4, 4, {4, 4, 4});
  CHECK_THROWS_AS(make_joseph_projector(grid, {.cuda_path = CudaPath::paper}, Backend::cpu), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
