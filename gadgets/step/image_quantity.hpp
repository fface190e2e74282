// What a projector's images are: the quantity that its events come with, and what its sensitivity corrects for.
// Whatever unexpectedly makes them not quantitative is logged once.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/gadget/context.hpp"
#include "kernels/types/quantity.hpp"

namespace tofstream {

/// What the projector divides by.
struct SensitivityHolds {
  AttenuatedBy attenuation;  // its gadget is the projector
  bool is_left_out = false;  // taken as 1
};

class ImageQuantity {
 public:
  /// `remedy`: how pipelines of this kind of data make the corrections that data call for, as warnings say it.
  void set(SensitivityHolds sensitivity, std::string remedy) {
    sensitivity_ = std::move(sensitivity);
    remedy_ = std::move(remedy);
  }
  /// What an image of events with this quantity shows; null where they have none. `by_terms`: see SystemModel.
  std::shared_ptr<const Quantity> of(const std::shared_ptr<const Quantity>& events, const NamedCorrection* by_terms,
                                     Context& context);

 private:
  void add_attenuation(Quantity& image, Context& context);
  void warn_of_what_is_missing(const Quantity& image, Context& context);
  void warn_once(const std::string& text, Context& context);

  SensitivityHolds sensitivity_;
  std::string remedy_;
  std::shared_ptr<const Quantity> events_, image_;
  std::optional<NamedCorrection> by_terms_;  // of image_
  std::set<std::string> said_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
