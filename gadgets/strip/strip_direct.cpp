// Direct reconstruction of two strips' events as a gadget: one image, at the end of the stream.
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/subset/subset_quantity.hpp"
#include "kernels/em/em_update.hpp"
#include "kernels/math/units.hpp"
#include "kernels/strip/direct.hpp"
#include "kernels/strip/sensitivity.hpp"
#include "kernels/strip/strip_scanner.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {
namespace {

struct StripDirect {
  struct Params {
    ImageParams image;
    double reference_s = 1;
    float sensitivity_floor = 1e-3f;
  };
  static constexpr auto params =
      describe(param<&Params::image>("image", "The image to fill: one voxel along x"),
               param<&Params::reference_s>("reference_s", range(0, 1e9), unit("s"), reference_words),
               param<&Params::sensitivity_floor>("sensitivity_floor", range(0, 1),
                                                 "Voxels less sensitive than this fraction of the maximum become 0"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static MemoryNeed memory(const Params& p) {
    return {.host_bytes = 2 * p.image.bytes(),
            .message_bytes = p.image.bytes(),
            .is_limit = p.image.is_auto(),
            .lower = "image.size"};
  }

  explicit StripDirect(const Params& p) : p_(p) {
    if (!p.image.is_auto()) begin_on(p.image.grid());
  }

  void process(const EventBatch& batch, Context& context) {
    quantity_.add(batch.quantity);
    if (batch.count == 0) return;
    if (!batch.scanner) throw std::runtime_error("the events do not say which scanner recorded them");
    if (!scanner_) {
      scanner_ = batch.scanner;
      strips_ = strip_geometry(*scanner_);
      if (p_.image.is_auto()) begin_on(p_.image.grid(scanner_.get()));
    }
    const std::int64_t outside = add_direct(strips_, batch.view(), counts_);
    seconds_ += batch.duration_s;
    context.books().reconstructed(batch.event_count() - static_cast<std::uint64_t>(outside));
    if (outside > 0) context.books().rejected(static_cast<std::uint64_t>(outside), "outside the image");
  }

  void flush(Emit<Estimate>& emit) {
    if (!scanner_) return;
    const double time_fraction = p_.reference_s > 0 && seconds_ > 0 ? seconds_ / p_.reference_s : 1;
    const double mL = mL_per_mm3 * static_cast<double>(counts_.grid.voxel_volume());
    const Image inverse = inverse_sensitivity(strip_sensitivity_image(strips_, counts_.grid), p_.sensitivity_floor);
    Image image = Image::filled(counts_.grid, 1);
    em_update(image, inverse, counts_, time_fraction * mL);
    const double reference_s = seconds_ > 0 && p_.reference_s == 0 ? seconds_ : p_.reference_s;
    emit(Estimate{.step = {.ends_iteration = true, .last = true},
                  .image = std::make_shared<const Image>(std::move(image)),
                  .quantity = quantity_.get(seconds_ > 0 ? reference_s : 0),
                  .modality = Modality::pet});
  }

 private:
  void begin_on(const Grid& grid) {
    validate(grid);
    if (grid.size[0] != 1)
      throw std::invalid_argument(
          fmt::format("image.size is [{}, ...]: an image of two strips has one voxel along x", grid.size[0]));
    counts_ = Image::zeros(grid);
  }

  Params p_;
  Image counts_;
  std::shared_ptr<const Scanner> scanner_;
  StripGeometry strips_;
  SubsetQuantity quantity_;
  double seconds_ = 0;
};

TOFSTREAM_GADGET(StripDirect, "strip_direct",
                 "Reconstructs two strips' events directly: each event counts at the point that it measures");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
