// What comes back of a projector whose image went through operators on its way (Estimate::through): A = P O_n ... O_1,
// so the update needs O_1^T ... O_n^T of the back projection and of the sensitivity.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gadgets/payloads.hpp"
#include "gadgets/per_image.hpp"

namespace tofstream {

class AdjointImages {
 public:
  /// Applies the adjoints, the last operator's first, to the back projection, the sensitivity and the support. Those of
  /// a sensitivity are kept as long as it is sent. Throws as ImageOperator does.
  void apply(const std::vector<AppliedOperator>& through, Projected& projected) {
    if (through.empty()) return;
    if (!(through == through_)) kept_ = {};
    through_ = through;
    projected.back_projection = adjoint_of(projected.back_projection);
    projected.sensitivity = kept(projected.sensitivity);
    if (projected.support) projected.support = kept(projected.support);
    for (const AppliedOperator& applied : through)
      if (applied.is_basis) projected.coefficients_of += (projected.coefficients_of.empty() ? "" : ", ") + applied.name;
  }

 private:
  using ImagePointer = std::shared_ptr<const Image>;

  ImagePointer adjoint_of(ImagePointer image) const {
    for (auto applied = through_.rbegin(); applied != through_.rend(); ++applied)
      image = std::make_shared<const Image>(applied->image_operator->adjoint(*image));
    return image;
  }

  ImagePointer kept(const ImagePointer& image) {
    return kept_.of(image, [&] { return adjoint_of(image); });
  }

  std::vector<AppliedOperator> through_;
  PerImage<ImagePointer> kept_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
