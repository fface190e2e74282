// An operator behind the C interface: a projector with data of its own kind.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gadgets/io/memory_images.hpp"
#include "gadgets/step/event_views.hpp"
#include "kernels/device/work_stream.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/types/grid.hpp"
#include "tools/c/tofstream.h"

namespace tofstream::c_api {

/// Where a projector works, and whether it is the reference in double precision.
struct Processor {
  Backend backend = Backend::cpu;
  bool is_reference = false;
};

class Operator {
 public:
  Operator() = default;
  virtual ~Operator() = default;
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  virtual const Grid& grid() const = 0;
  virtual Backend backend() const = 0;
  /// data_axes() numbers, then 1.
  virtual std::array<std::int64_t, 4> data_shape() const = 0;
  virtual int data_axes() const = 0;
  /// Which data of the whole these are: views, lines or events.
  virtual std::vector<std::int64_t> indices() const = 0;

  virtual void forward(const float* image, float* data, Stream stream) = 0;
  /// Adds to the image.
  virtual void back(const float* data, float* image, Stream stream) = 0;
  virtual void plan(Stream stream) = 0;
  /// Adds to the image; the number of data rejected, -1 where they are not counted.
  virtual std::int64_t em_step(const float* image, const float* y, const float* multiplicative, const float* additive,
                               float* accumulator, Stream stream) = 0;
  /// Adds to the image.
  virtual void add_sensitivity(const float* multiplicative, float* image, Stream stream) = 0;
  /// In double precision, of a reference. Others throw Wrong.
  virtual bool is_reference() const = 0;
  virtual std::vector<double> forward(std::span<const double> image) = 0;
  virtual std::vector<double> back(std::span<const double> data) = 0;
  virtual std::unique_ptr<Operator> part(int part, int parts) const = 0;
  /// For histo-images: data = the events' histo-images. Other operators throw Wrong.
  virtual LaidDown deposit(const EventView& events, bool nearest, float* data, Stream stream);
  /// For histo-images: data = what the scanner's lines make of each point (EventViews::terms). Others throw Wrong.
  virtual LinesOfViews terms(const Scanner& scanner, const ScannerLinesSettings& settings, float* data, Stream stream);
  /// For histo-images: data = the randoms expected at each point (EventViews::randoms). Other operators throw Wrong.
  virtual void randoms(const RandomsOfViews& randoms, float* data, Stream stream);
};

struct Made {
  std::unique_ptr<Operator> op;
  std::string report;
};

/// They throw Wrong, and what reading parameters, scanners and making a projector throw.
Made operator_of_events(const char* projector, const char* parameters, const tof_grid& grid, const tof_events& events,
                        std::shared_ptr<const NamedImages> arrays, Processor on);
Made operator_of_lines(const char* projector, const char* parameters, const tof_grid& grid, const tof_events& given,
                       std::int32_t bins, Processor on);
Made operator_of_views(const char* projector, const char* parameters, const tof_grid& grid, const tof_views& views,
                       Processor on);
Made operator_of_directions(const char* projector, const char* parameters, const tof_grid& grid,
                            const tof_directions& directions, Processor on);

/// Throws Wrong for a grid that cannot be.
Grid grid_of(const tof_grid& given, const char* argument);

}  // namespace tofstream::c_api

struct tof_operator {
  std::shared_ptr<tofstream::WorkStream> work;  // parts, which share a projector, share it; it outlives all of them
  tofstream::c_api::Made made;
};

namespace tofstream::c_api {

/// Copies. Throws Wrong for an array that cannot be, or is not in host memory.
std::shared_ptr<const NamedImages> images_of(const tof_array* arrays, std::size_t count);

/// Whether its projector works on a GPU.
bool is_on_device(const tof_operator& op);

/// Calls queue(stream) where the operator's work is queued between the caller's.
template <class Queue>
void on_stream(const tof_operator& op, void* callers, const Queue& queue) {
  op.work->run(is_on_device(op) ? static_cast<Stream>(callers) : nullptr, queue);
}

}  // namespace tofstream::c_api
// SPDX-License-Identifier: Apache-2.0
