// The strip projector in double precision, straight from its definition (Bialas et al. 2015, eq. 7; jpet.md): the
// pixels of the event's box are asked for their P one by one.
#include "kernels/project/reference.hpp"

#include "kernels/strip/kernel-inl.hpp"
#include "kernels/strip/sensitivity.hpp"
#include "kernels/strip/strip.hpp"
#include "kernels/strip/strip_backends.hpp"

namespace tofstream {

namespace {

template <StripForm form>
double density(const StripEventTerms<double>& event, double dy, double dz, const StripAngles<double>& angles) {
  using namespace single_lane;
  const auto row = strip_row<double>(event, dy);
  return strip_density<form, double>(event, row.at<form>(event, dz - dy * event.tan), angles);
}

class StripReference final : public ReferenceProjector {
 public:
  StripReference(const Grid& grid, const StripSettings& settings) : ReferenceProjector(grid), settings_(settings) {
    validate(grid, settings);
  }

  float reach_mm() const override { return std::numeric_limits<float>::infinity(); }

  void for_each_voxel(const EventView& events, std::int64_t i, const Visit& visit) const override {
    require_strip_events(events);
    const auto event = StripEventTerms<double>::make(settings_.form, settings_.geometry, settings_.resolution,
                                                     strip_response<double>(events, i));
    const StripBox box = strip_box(event, grid());
    for (int k = box.z_first; k <= box.z_last; ++k)
      for (int j = box.y_first; j <= box.y_last; ++j) {
        const double y = static_cast<double>(grid().origin_mm.y) + j * static_cast<double>(grid().voxel_mm.y);
        const double z = static_cast<double>(grid().origin_mm.z) + k * static_cast<double>(grid().voxel_mm.z);
        if (event.in_ellipse(y - event.y, z - event.z)) visit(grid().index(0, j, k), weight(event, y, z));
      }
  }
  std::optional<Image> closed_form_sensitivity() const override {
    return strip_sensitivity_image(settings_.geometry, grid());
  }

 private:
  double weight(const StripEventTerms<double>& event, double y, double z) const {
    const double dy = y - event.y, dz = z - event.z;
    switch (settings_.form) {
      case StripForm::full:
        return density<StripForm::full>(event, dy, dz, strip_angles(settings_.geometry, y, z));
      case StripForm::eq7:
        return density<StripForm::eq7>(event, dy, dz, {});
      case StripForm::gaussian:
        break;
    }
    return density<StripForm::gaussian>(event, dy, dz, {});
  }

  StripSettings settings_;
};

}  // namespace

std::unique_ptr<ReferenceProjector> make_strip_reference(const Grid& grid, const StripSettings& settings) {
  return std::make_unique<StripReference>(grid, settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
