// What a projector's images are: see image_quantity.hpp.
#include "gadgets/step/image_quantity.hpp"

#include <cstddef>

#include <fmt/format.h>

namespace tofstream {

std::shared_ptr<const Quantity> ImageQuantity::of(const std::shared_ptr<const Quantity>& events,
                                                  const NamedCorrection* by_terms, Context& context) {
  if (!events) return nullptr;
  const auto correction = by_terms ? std::optional(*by_terms) : std::nullopt;
  if (events == events_ && correction == by_terms_) return image_;
  auto image = std::make_shared<Quantity>(*events);
  if (correction) (*image)[correction->correction] = correction->record;
  if (sensitivity_.is_left_out) {
    image->unit.clear();
    image->scale = "the image is not divided by the sensitivity";
  }
  add_attenuation(*image, context);
  warn_of_what_is_missing(*image, context);
  events_ = events;
  by_terms_ = correction;
  return image_ = std::move(image);
}

// Events and sensitivity need the same mu map. Without randoms and scatter the events' attenuation cancels.
void ImageQuantity::add_attenuation(Quantity& image, Context& context) {
  const AttenuatedBy& here = sensitivity_.attenuation;
  const AttenuatedBy& there = image.attenuated_by;
  if (!here.mu_map.empty()) {
    CorrectionRecord& record = image[Correction::attenuation];
    if (record.state == CorrectionState::not_needed) {  // simulated data may say so
      const std::string needless =
          fmt::format("the data were not attenuated ({}), and the sensitivity holds {}", record.how, here.mu_map);
      image.marks.push_back(needless);
      warn_once(needless + ": the image is too high; leave out `mu_map`", context);
    }
    record = {CorrectionState::made, here.mu_map};
  }
  if (there.gadget.empty() || (there.mu_map.empty() == here.mu_map.empty() && there.checksum == here.checksum)) return;
  const auto has = [](const AttenuatedBy& map) {
    return fmt::format("{} {}", map.gadget, map.mu_map.empty() ? "has none" : "has " + map.mu_map);
  };
  const std::string differ = fmt::format("not the same mu map: {}, {}", has(there), has(here));
  const auto is_made = [&](Correction c) { return image[c].state == CorrectionState::made; };
  const bool cancels = there.mu_map.empty() && !is_made(Correction::randoms) && !is_made(Correction::scatter);
  if (!cancels) image.marks.push_back(differ);
  warn_once(differ + ": give both the same, by `mu_map` (and `hardware_mu_map`) at the pipeline's top", context);
}

void ImageQuantity::warn_of_what_is_missing(const Quantity& image, Context& context) {
  for (const std::string& gadget : image.rejecting)
    warn_once(gadget +
                  " leaves out valid events, which the sensitivity still includes: from now on the image is "
                  "marked as not quantitative",
              context);
  for (std::size_t c = 0; c < correction_count; ++c) {
    const CorrectionRecord& record = image.corrections[c];
    if (record.state != CorrectionState::called_for) continue;
    const auto name = name_of(static_cast<Correction>(c));
    warn_once(fmt::format("the data call for a correction for {} ({}), and the pipeline makes none: the image is not "
                          "quantitative ({})",
                          name, record.how, remedy_),
              context);
  }
}

void ImageQuantity::warn_once(const std::string& text, Context& context) {
  if (said_.insert(text).second) context.log().warning(text);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
