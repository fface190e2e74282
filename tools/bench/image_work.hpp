// What benchmarks of work on whole images share: options, a row for each work, and what memory alone would take.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernels/types/image.hpp"
#include "tools/bench/bench.hpp"

namespace tofstream::command {

struct ImageWork {
  std::string name;
  std::function<void()> run;
  double images = 0;       // that are read and written, each once: the floor. 0: none is stated
  double bound_s = 0;      // of 12 million voxels, on a GPU; 0: none
  double bound_cpu_s = 0;  // likewise, on the CPU
};

/// The rows of one backend, printed as they come.
class ImageRows {
 public:
  /// Measures the copy of an image, from which floors are made.
  ImageRows(const Grid& grid, Backend backend, int repeats, bool prints, nlohmann::ordered_json& rows);

  const Grid& grid() const { return grid_; }
  Backend backend() const { return backend_; }
  Memory memory() const { return memory_of(backend_); }
  /// Runs the work several times and keeps the median.
  void add(const ImageWork& work);
  /// The same; then on CUDA compares what it made with the CPU's, which must agree to 1e-6 (normalised RMS).
  void add(const ImageWork& work, const Image& made, const std::function<Image()>& on_cpu);

 private:
  nlohmann::ordered_json row_of(const ImageWork& work) const;
  void keep(nlohmann::ordered_json row);

  Grid grid_;
  Backend backend_;
  int repeats_;
  bool prints_;
  nlohmann::ordered_json& rows_;
  double copy_ms_ = 0;
};

/// Declares the options of the benchmark `name`, which measures with `measure` on each backend and writes the report.
std::function<void()> declare_image_bench(Command& line, const std::string& name, const std::string& workload,
                                          std::function<void(ImageRows&)> measure);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
