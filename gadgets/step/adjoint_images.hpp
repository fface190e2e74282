// What comes back of a projector whose image went through operators on its way (Estimate::through): A = P O_n ... O_1,
// so the update needs O_1^T ... O_n^T of the back projection and of the sensitivity.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gadgets/payloads.hpp"
#include "gadgets/per_image.hpp"
#include "kernels/em/image_sum.hpp"

namespace tofstream {

/// The gadgets among them whose coefficients the update makes; empty: it makes the image.
inline std::string coefficients_of(const std::vector<AppliedOperator>& through) {
  std::string names;
  for (const AppliedOperator& applied : through)
    if (applied.is_basis) names += (names.empty() ? "" : ", ") + applied.name;
  return names;
}

class AdjointImages {
 public:
  /// Applies the adjoints, the last operator's first, to the back projection, the sensitivity and the support. Those of
  /// a sensitivity are kept as long as it is sent. Where subsets go through different operators, which then have a
  /// mean, the sensitivity becomes the subset's own share of the whole, T_k/T O_k^T s, and the support is their sum, the
  /// mean's adjoint of s. Throws as ImageOperator does.
  void apply(const std::vector<AppliedOperator>& through, Projected& projected) {
    if (through.empty()) return;
    Kept& kept = kept_of(through);
    projected.back_projection = adjoint_of(through, projected.back_projection);
    const ImagePointer subset = projected.sensitivity, whole = projected.support ? projected.support : subset;
    projected.sensitivity = kept.adjoints.of(subset, [&] { return adjoint_of(through, subset); });
    if (const AppliedOperator* const changing = changing_one(through)) {
      projected.support = means_.of(whole, [&] { return adjoint_of(through, whole, true); });
      projected.sensitivity = kept.share_of(projected.sensitivity, projected.time_fraction / changing->time);
      projected.time_fraction = changing->time;
    } else if (projected.support) {
      projected.support = kept.adjoints.of(whole, [&] { return adjoint_of(through, whole); });
    }
    projected.coefficients_of = coefficients_of(through);
  }

 private:
  using ImagePointer = std::shared_ptr<const Image>;

  struct Share {
    ImagePointer of, image;
    double share = 1;
  };

  // What operators in a row gave.
  struct Kept {
    std::vector<AppliedOperator> through;
    PerImage<ImagePointer> adjoints;
    std::vector<Share> shares;

    ImagePointer share_of(const ImagePointer& image, double share) {
      for (const Share& known : shares)
        if (known.of == image && known.share == share) return known.image;
      std::erase_if(shares, [&](const Share& known) { return known.of != image; });  // that is not sent again
      auto scaled = std::make_shared<Image>(Image::zeros(image->grid, image->voxels.memory()));
      add_difference(*scaled, share, *image);
      return shares.emplace_back(Share{image, std::move(scaled), share}).image;
    }
  };

  static const AppliedOperator* changing_one(const std::vector<AppliedOperator>& through) {
    for (const AppliedOperator& applied : through)
      if (applied.mean) return &applied;
    return nullptr;
  }

  // All operators that take turns are kept; where they do not, the last alone.
  Kept& kept_of(const std::vector<AppliedOperator>& through) {
    const auto known = std::ranges::find(kept_, through, &Kept::through);
    if (known != kept_.end()) return *known;
    const AppliedOperator* const changing = changing_one(through);
    const AppliedOperator* const before = kept_.empty() ? nullptr : changing_one(kept_.front().through);
    if (!changing || !before || changing->mean != before->mean) kept_.clear(), means_ = {};
    return kept_.emplace_back(Kept{through, {}, {}});
  }

  // `of_all`: where an operator changes, by its mean.
  static ImagePointer adjoint_of(const std::vector<AppliedOperator>& through, ImagePointer image, bool of_all = false) {
    for (auto applied = through.rbegin(); applied != through.rend(); ++applied) {
      const ImageOperator& by = of_all && applied->mean ? *applied->mean : *applied->image_operator;
      image = std::make_shared<const Image>(by.adjoint(*image));
    }
    return image;
  }

  std::vector<Kept> kept_;
  PerImage<ImagePointer> means_;  // adjoints by what takes turns, all together
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
