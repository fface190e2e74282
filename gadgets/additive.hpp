// What is expected of data beside what the image explains, where it is estimated from the image itself: the contract of
// the input `additive` of projectors. An estimator is a gadget that reads the same subsets and estimates as the
// projector, and gives it one message for each pair of them:
//
//     scatter:   {use: single_scatter, from: {events: subsets, image: estimate}}
//     projected: {use: tor_projector, from: {events: subsets, image: estimate, additive: scatter}}
#pragma once

#include <memory>

#include "gadgets/payloads.hpp"

namespace tofstream {

/// Terms that are renewed while a reconstruction runs. `Data`: see Subset.
template <class Data>
class AdditiveTerms {
 public:
  virtual ~AdditiveTerms() = default;
  /// to[i] = the additive term of each datum as the batch's view has it (c / m of events, counts of views): what the
  /// batch came with and these terms together. `to`: batch.count floats in the batch's memory; complete on return.
  /// For several threads at once. Throws std::invalid_argument for data that they are not made for.
  virtual void write(const Data& batch, float* to) const = 0;
};

/// The terms for one subset against one estimate.
template <class Data>
struct Additive {
  std::shared_ptr<const Image> of;                   // the estimate's image; null for an announcement
  std::shared_ptr<const AdditiveTerms<Data>> terms;  // null: none yet; the same pointer: the same terms
  NamedCorrection corrects;                          // what they correct for: made, or when it will be
};

template <>
struct PayloadName<Additive<EventBatch>> {
  static constexpr auto value = "additive terms of events";
};
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
