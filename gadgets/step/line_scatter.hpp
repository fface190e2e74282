// Scatter of a scanner's lines, by the kind of scanner: for gadgets that lay expected counts down along lines instead of
// giving each event its own. A family registers how its scanners' scatter is read and estimated by TOFSTREAM_KIND.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/plugin/kind_table.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/image.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

class LineScatter {
 public:
  virtual ~LineScatter() = default;
  /// values[i] = the scatter of line i at its ToF: counts per s and mm of ToF, of a line of efficiency 1 that is not
  /// attenuated again. Lines end where the scanner's do; they and the values (lines.count floats) lie in `memory`.
  /// Queued on the stream. For several threads at once.
  virtual void density(const EventView& lines, float* values, Memory memory, Stream stream = nullptr) const = 0;
  /// Writes it, times `scale`, so that read() of its kind gives it again. Throws as write_scatter does.
  virtual void write(const std::filesystem::path& file, double scale) const = 0;
};

struct ImageScatterSettings {
  double point_mm = 20;       // distance between the places at which photons are scattered
  double multiple_error = 0;  // relative error of what is scattered more than once; 0: that is not estimated
};

/// What is known of coincidences with more than one scatter that are part of an estimate.
struct MultipleScatterPart {
  double share = 0;           // of all scatter
  double relative_error = 0;  // of that share, see MultipleScatter
  std::int64_t decays = 0;    // that were followed
  double seconds = 0;         // that it took
};

/// Called now and then with the fraction that is done of a part, in [0, 1], and its words; may throw to end it.
using ImageScatterProgress = std::function<void(double done, const char* of)>;

/// Estimates the scatter of images.
class ImageScatter {
 public:
  virtual ~ImageScatter() = default;
  /// Places at which photons are scattered.
  virtual std::int64_t points() const = 0;
  struct Made {
    std::shared_ptr<const LineScatter> scatter;
    std::optional<MultipleScatterPart> multiple;  // where it is estimated
  };
  /// Counts in as many seconds as the image counts decays in. `activity`: in voxels, on the host.
  virtual Made of(const Image& activity, Backend backend, const ImageScatterProgress& progress) const = 0;
};

struct LineScatterKind {
  std::string name;
  /// Whether it knows the scatter of the scanner's lines.
  bool (*knows)(const Scanner& scanner) = nullptr;
  /// How far from the axis lines end, in mm.
  double (*radius_mm)(const Scanner& scanner) = nullptr;
  /// From a file, by ToF. Throws std::runtime_error, one line, for another file.
  std::shared_ptr<const LineScatter> (*read)(const std::filesystem::path& file) = nullptr;
  /// For matter on any grid, on the host. Throws std::invalid_argument, one line, where nothing is scattered or the
  /// scanner does not say what it needs.
  std::unique_ptr<ImageScatter> (*of_images)(const Scanner& scanner, const Image& mu_per_mm,
                                             const ImageScatterSettings& settings) = nullptr;

  static constexpr KindWords called = {"scatter of lines", "kinds of scatter of lines", "name"};
  const std::string& id() const { return name; }
  std::string problem() const {
    return !name.empty() && knows && radius_mm && read && of_images
               ? ""
               : "the scatter of lines '" + name + "' lacks its name, knows, radius_mm, read or of_images";
  }
};

extern template KindTable<LineScatterKind>& table_of<LineScatterKind>();
extern template struct KindRegistration<LineScatterKind>;

/// The kind that knows the scanner. Throws std::runtime_error where none does.
const LineScatterKind& scatter_of(const Scanner& scanner);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
