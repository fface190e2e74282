// Scatter of scanners with a table of detectors: a coarse estimate, as event_corrections reads it and single_scatter
// makes it.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/ring/io/scatter_nifti.hpp"
#include "gadgets/ring/pair_multiple_scatter.hpp"
#include "gadgets/step/line_scatter.hpp"
#include "kernels/ring/correct/line_scatter.hpp"
#include "kernels/ring/scatter/scatter_scanner.hpp"

namespace tofstream {
namespace {

class PairScatter final : public LineScatter {
 public:
  explicit PairScatter(ScatterEstimate estimate)
      : lookup_(std::make_shared<const ScatterEstimate>(std::move(estimate))) {}

  void density(const EventView& lines, float* values, Memory memory, Stream stream) const override {
    lookup_.look_up(lines, values, memory, stream);
  }
  void write(const std::filesystem::path& file, double scale) const override {
    ScatterEstimate scaled = lookup_.estimate();
    for (float& value : scaled.values) value *= static_cast<float>(scale);
    write_scatter(file, scaled);
  }

 private:
  LineScatterLookup lookup_;
};

class PairImageScatter final : public ImageScatter {
 public:
  PairImageScatter(const Scanner& scanner, const Image& mu_per_mm, const ImageScatterSettings& settings)
      : scanner_(scatter_scanner(scanner)),
        scatter_(mu_per_mm, scanner_.detectors, settings.point_mm),
        multiple_error_(settings.multiple_error) {
    if (multiple_error_ > 0) mu_ = mu_per_mm;
    if (!(scanner_.tof_sigma_mm > 0))
      throw std::invalid_argument(fmt::format("scatter by ToF: scanner {} states no ToF resolution", scanner.name));
  }

  std::int64_t points() const override { return scatter_.points(); }
  Made of(const Image& activity, Backend backend, const ImageScatterProgress& progress) const override {
    const ScatterSampling sampling = ScatterSampling::of(reach_of_scatter_lines * scanner_.detectors.radius_mm,
                                                         scanner_.half_length_mm, scanner_.tof_sigma_mm);
    ScatterEstimate estimate = scatter_.estimate(activity, sampling, backend, [&](std::int64_t done) {
      progress(static_cast<double>(done) / static_cast<double>(points()), "of single scatter");
    });
    Made made;
    if (mu_)
      made.multiple = add_multiple_scatter(estimate, activity, *mu_, scanner_.detectors, sampling, multiple_error_,
                                           backend, progress);
    made.scatter = std::make_shared<const PairScatter>(std::move(estimate));
    return made;
  }

 private:
  ScatterScanner scanner_;
  SingleScatter scatter_;
  double multiple_error_;
  std::optional<Image> mu_;  // where what is scattered more than once is estimated
};

bool has_pairs_of_detectors(const Scanner& scanner) {
  return scanner.detectors && !scanner.types.empty();
}

double mean_radius_mm(const Scanner& scanner) {
  double sum = 0;
  const std::int64_t count = scanner.detectors->size();
  for (std::int64_t d = 0; d < count; ++d) {
    const Vec3 at = scanner.detectors->position(static_cast<std::uint32_t>(d));
    sum += static_cast<double>(std::hypot(at.x, at.y));
  }
  return sum / static_cast<double>(std::max<std::int64_t>(count, 1));
}

std::shared_ptr<const LineScatter> read_pair_scatter(const std::filesystem::path& file) {
  ScatterEstimate estimate = read_scatter(file);
  if (!estimate.has_tof())
    throw std::runtime_error(fmt::format(
        "{}: the scatter estimate has no ToF (one sample of it), and histo-images need it by ToF", file.string()));
  return std::make_shared<const PairScatter>(std::move(estimate));
}

std::unique_ptr<ImageScatter> pair_scatter_of_images(const Scanner& scanner, const Image& mu_per_mm,
                                                     const ImageScatterSettings& settings) {
  return std::make_unique<PairImageScatter>(scanner, mu_per_mm, settings);
}

TOFSTREAM_KIND(LineScatterKind, LineScatterKind{.name = "pairs of detectors",
                                                .knows = has_pairs_of_detectors,
                                                .radius_mm = mean_radius_mm,
                                                .read = read_pair_scatter,
                                                .of_images = pair_scatter_of_images});

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
