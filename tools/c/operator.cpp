// The calls of operators: see tofstream.h.
#include "tools/c/operator.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gadgets/io/memory_images.hpp"
#include "kernels/project/wrong_count.hpp"
#include "tools/c/event_arrays.hpp"
#include "tools/c/guard.hpp"

namespace tofstream::c_api {

std::shared_ptr<const NamedImages> images_of(const tof_array* arrays, std::size_t count) {
  NamedImages images;
  if (count > 0) require_given(arrays, "arrays");
  for (std::size_t i = 0; i < count; ++i) {
    require_size(arrays[i].size, sizeof(tof_array), sizeof(tof_array), "arrays");
    require_given(arrays[i].name, "arrays.name");
    require_given(arrays[i].voxels, "arrays.voxels");
    require_memory(arrays[i].voxels, false, "arrays.voxels");
    Image image = Image::zeros(grid_of(arrays[i].grid, "arrays.grid"));
    std::copy_n(arrays[i].voxels, image.grid.voxels(), image.voxels.data());
    images.insert_or_assign(arrays[i].name, std::move(image));
  }
  return std::make_shared<const NamedImages>(std::move(images));
}

bool is_on_device(const tof_operator& op) {
  return op.made.op->backend() == Backend::cuda;
}

namespace {

Processor processor_of(tof_backend given) {
  switch (given) {
    case TOF_CPU:
      return {};
    case TOF_CUDA:
      require_cuda();
      return {.backend = Backend::cuda};
    case TOF_AUTO:
      return {.backend = why_no_cuda().empty() ? Backend::cuda : Backend::cpu};
    case TOF_REFERENCE:
      return {.is_reference = true};
  }
  throw Wrong(
      fmt::format("backend is {}: it is TOF_CPU, TOF_CUDA, TOF_AUTO or TOF_REFERENCE", static_cast<int>(given)));
}

void give(Made made, std::shared_ptr<WorkStream> work, tof_operator** out) {
  note_handle(*out = new tof_operator{std::move(work), std::move(made)});
}
void give(Made made, tof_operator** out) {
  give(std::move(made), std::make_shared<WorkStream>(), out);
}

// Throws Wrong unless the operator and the arrays are there, in its memory.
template <class Number>
Operator& checked(tof_operator* op, const Number* in, const char* in_name, const Number* out, const char* out_name) {
  require_handle(op, "op");
  require_given(in, in_name);
  require_given(out, out_name);
  require_memory(in, is_on_device(*op), in_name);
  require_memory(out, is_on_device(*op), out_name);
  if (in == out) throw Wrong(fmt::format("{} and {} are one array", in_name, out_name));
  return *op->made.op;
}

std::int64_t data_of(const Operator& op) {
  const auto shape = op.data_shape();
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

// "[1, 2, 3]": where a datum lies in the operator's shape.
std::string place_in_words(const Operator& op, std::int64_t place) {
  const auto shape = op.data_shape();
  std::array<std::int64_t, 4> along{};
  for (std::size_t axis = along.size(); axis-- > 0; place /= shape[axis]) along[axis] = place % shape[axis];
  return fmt::format("[{}]", fmt::join(along.begin(), along.begin() + op.data_axes(), ", "));
}

// Throws Wrong for data, where they are given, of which one is negative or not finite.
void check_data(const tof_operator& handle, const float* data, const char* name, Stream stream) {
  require_memory(data, is_on_device(handle), name);
  if (!data) return;
  const Operator& op = *handle.made.op;
  const std::int64_t wrong = first_wrong_count(data, data_of(op), op.backend(), stream);
  if (wrong < 0) return;
  float value = 0;
  detail::copy(&value, Memory::host, data + wrong, memory_of(op.backend()), sizeof(value), stream);
  synchronize(stream);
  throw Wrong(fmt::format("{}{} is {}: it must be finite and at least 0", name, place_in_words(op, wrong), value));
}

void clear_image(const Operator& op, float* image, Stream stream) {
  detail::zero(image, memory_of(op.backend()), static_cast<std::size_t>(op.grid().voxels()) * sizeof(float), stream);
}

}  // namespace

Grid grid_of(const tof_grid& given, const char* argument) {
  require_size(given.size, sizeof(tof_grid), sizeof(tof_grid), argument);
  Grid grid;
  for (int axis = 0; axis < 3; ++axis) {
    grid.size[axis] = given.voxels[axis];
    grid.voxel_mm.set(axis, given.voxel_mm[axis]);
    grid.origin_mm.set(axis, given.origin_mm[axis]);
  }
  grid.blob = {.radius_mm = given.blob_radius_mm, .alpha = given.blob_alpha};
  try {
    if (!grid.has_blobs()) validate(grid);
  } catch (const std::invalid_argument& wrong) {
    throw Wrong(fmt::format("{}: {}", argument, wrong.what()));
  }
  return grid;
}

}  // namespace tofstream::c_api

using namespace tofstream;
using namespace tofstream::c_api;

extern "C" {

tof_status tof_scanner_detectors(const char* scanner, float* positions, int64_t* count) {
  return guarded([&] {
    require_given(scanner, "scanner");
    require_given(count, "count");
    const RecordedBy by = recorded_by(scanner);
    const std::int64_t detectors = by.scanner->detectors->size(), room = std::exchange(*count, detectors);
    if (!positions) return;
    if (room < detectors) throw Wrong(fmt::format("count is {}, and '{}' has {} detectors", room, scanner, detectors));
    for (std::int64_t i = 0; i < detectors; ++i) {
      const Vec3 at = by.scanner->detectors->position(static_cast<std::uint32_t>(i));
      for (int axis = 0; axis < 3; ++axis) positions[3 * i + axis] = at[axis];
    }
  });
}

tof_status tof_operator_of_events(const char* projector, const char* parameters, const tof_grid* grid,
                                  const tof_events* events, const tof_array* arrays, size_t array_count,
                                  tof_backend backend, tof_operator** made) {
  return guarded([&] {
    require_given(grid, "grid");
    require_given(events, "events");
    require_given(made, "made");
    const auto images = images_of(arrays, array_count);
    const MemoryImages known(images);
    give(operator_of_events(projector, parameters, *grid, *events, images, processor_of(backend)), made);
  });
}

tof_status tof_operator_of_lines(const char* projector, const char* parameters, const tof_grid* grid,
                                 const tof_events* lines, int32_t bins, tof_backend backend, tof_operator** made) {
  return guarded([&] {
    require_given(grid, "grid");
    require_given(lines, "lines");
    require_given(made, "made");
    give(operator_of_lines(projector, parameters, *grid, *lines, bins, processor_of(backend)), made);
  });
}

tof_status tof_operator_of_views(const char* projector, const char* parameters, const tof_grid* grid,
                                 const tof_views* views, const tof_array* arrays, size_t array_count,
                                 tof_backend backend, tof_operator** made) {
  return guarded([&] {
    require_given(grid, "grid");
    require_given(views, "views");
    require_given(made, "made");
    const MemoryImages images(images_of(arrays, array_count));
    give(operator_of_views(projector, parameters, *grid, *views, processor_of(backend)), made);
  });
}

tof_status tof_operator_of_directions(const char* projector, const char* parameters, const tof_grid* grid,
                                      const tof_directions* directions, tof_backend backend, tof_operator** made) {
  return guarded([&] {
    require_given(grid, "grid");
    require_given(directions, "directions");
    require_given(made, "made");
    give(operator_of_directions(projector, parameters, *grid, *directions, processor_of(backend)), made);
  });
}

tof_status tof_operator_part(const tof_operator* whole, int32_t part, int32_t parts, tof_operator** made) {
  return guarded([&] {
    require_handle(whole, "whole");
    require_given(made, "made");
    const std::int64_t data = whole->made.op->data_shape()[0];
    if (parts < 1 || parts > data)
      throw Wrong(fmt::format("parts is {}: it must be in [1, {}], as many as there are data", parts, data));
    if (part < 0 || part >= parts) throw Wrong(fmt::format("part is {}: it must be in [0, {}]", part, parts - 1));
    give({whole->made.op->part(part, parts), whole->made.report}, whole->work, made);
  });
}

tof_status tof_operator_indices(const tof_operator* op, int64_t* indices, int64_t count) {
  return guarded([&] {
    require_handle(op, "op");
    require_given(indices, "indices");
    const auto all = op->made.op->indices();
    if (count != static_cast<std::int64_t>(all.size()))
      throw Wrong(fmt::format("count is {}, and the operator has {} data", count, all.size()));
    std::ranges::copy(all, indices);
  });
}

void tof_operator_drop(tof_operator* op) {
  if (forget_handle(op)) delete op;
}

tof_status tof_operator_shape(const tof_operator* op, int64_t image[3], int64_t data[4], int32_t* data_axes,
                              tof_backend* backend) {
  return guarded([&] {
    require_handle(op, "op");
    const Grid& grid = op->made.op->grid();
    const auto shape = op->made.op->data_shape();
    for (std::size_t axis = 0; image && axis < 3; ++axis)
      image[axis] = grid.size[2 - axis] * (axis == 0 ? grid.lattices() : 1);
    if (data) std::ranges::copy(shape, data);
    if (data_axes) *data_axes = op->made.op->data_axes();
    if (backend) *backend = op->made.op->is_reference() ? TOF_REFERENCE : is_on_device(*op) ? TOF_CUDA : TOF_CPU;
  });
}

const char* tof_operator_report(const tof_operator* op) {
  return is_handle(op) ? op->made.report.c_str() : "";
}

tof_status tof_forward(tof_operator* op, const float* image, float* data, void* stream) {
  return guarded([&] {
    Operator& projector = checked(op, image, "image", data, "data");
    on_stream(*op, stream, [&](Stream here) { projector.forward(image, data, here); });
  });
}

tof_status tof_adjoint(tof_operator* op, const float* data, float* image, void* stream) {
  return guarded([&] {
    Operator& projector = checked(op, data, "data", image, "image");
    on_stream(*op, stream, [&](Stream here) {
      clear_image(projector, image, here);
      projector.back(data, image, here);
    });
  });
}

tof_status tof_forward_double(tof_operator* op, const double* image, double* data) {
  return guarded([&] {
    Operator& reference = checked(op, image, "image", data, "data");
    std::ranges::copy(reference.forward(std::span(image, static_cast<std::size_t>(reference.grid().voxels()))), data);
  });
}

tof_status tof_adjoint_double(tof_operator* op, const double* data, double* image) {
  return guarded([&] {
    Operator& reference = checked(op, data, "data", image, "image");
    std::ranges::copy(reference.back(std::span(data, static_cast<std::size_t>(data_of(reference)))), image);
  });
}

tof_status tof_plan(tof_operator* op, void* stream) {
  return guarded([&] {
    require_handle(op, "op");
    on_stream(*op, stream, [&](Stream here) { op->made.op->plan(here); });
  });
}

tof_status tof_em_step(tof_operator* op, const float* image, const float* counts, const float* multiplicative,
                       const float* additive, float* image_out, tof_tally* tally, void* stream) {
  return guarded([&] {
    Operator& projector = checked(op, image, "image", image_out, "image_out");
    if (tally) require_size(tally->size, sizeof(tof_tally), sizeof(tof_tally), "tally");
    on_stream(*op, stream, [&](Stream here) {
      check_data(*op, counts, "counts", here);
      check_data(*op, multiplicative, "multiplicative", here);
      check_data(*op, additive, "additive", here);
      clear_image(projector, image_out, here);
      const std::int64_t rejected = projector.em_step(image, counts, multiplicative, additive, image_out, here);
      if (tally) tally->rejected = rejected;
    });
  });
}

tof_status tof_sensitivity(tof_operator* op, const float* multiplicative, float* image, void* stream) {
  return guarded([&] {
    require_handle(op, "op");
    require_given(image, "image");
    require_memory(image, is_on_device(*op), "image");
    on_stream(*op, stream, [&](Stream here) {
      check_data(*op, multiplicative, "multiplicative", here);
      clear_image(*op->made.op, image, here);
      op->made.op->add_sensitivity(multiplicative, image, here);
    });
  });
}

}  // extern "C"
// SPDX-License-Identifier: Apache-2.0
