// What gadgets that group views do with each message of them: checks that it belongs to the scan, gives each view its
// weight, and keeps what an image of all so far shows.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "core/gadget.hpp"
#include "gadgets/subset/subset_quantity.hpp"
#include "gadgets/views.hpp"

namespace tofstream {

inline constexpr auto* reference_s_of_views_words =
    "Length of scan time whose decays the image counts: 1 makes it an activity";
inline constexpr auto* keeps_views_note =
    "holds all views of the scan, 4 B a pixel, and as much again for scatter or efficiencies that come with them";

class ViewIntake {
 public:
  explicit ViewIntake(double reference_s) : reference_s_(reference_s) {}

  /// The views in host memory, weighted with their time; nothing for a scatter window, whose views are not
  /// reconstructed. Throws std::runtime_error for views of another camera or scan than the first, and for views without
  /// counts.
  std::optional<ViewBatch> take(const ViewBatch& views, Context& context);
  /// A batch without views, which names the camera. Null set before the first views.
  ViewBatch announcement() const { return {.set = set_, .reference_s = reference_s_}; }
  const std::shared_ptr<const ViewSet>& set() const { return set_; }
  /// What an image of all views so far shows.
  std::shared_ptr<const Quantity> quantity() { return quantity_.get(is_timed_ ? reference_s_ : 0); }
  /// At the end of the stream: warns of views that never came.
  void require_all(Context& context) const;

 private:
  double reference_s_;
  std::shared_ptr<const ViewSet> set_;
  void note(const ViewRecord& record, Context& context);

  std::vector<double> exposure_;  // of all that came of each view of the set; 0: nothing
  bool is_timed_ = true;
  bool said_window_ = false, said_again_ = false;
  SubsetQuantity quantity_;
};

/// The views of a batch in host memory, each in a batch of its own.
std::vector<ViewBatch> single_views(const ViewBatch& batch);

/// The same views in as few batches as hold them, in their order, in the given memory.
std::vector<std::shared_ptr<const ViewBatch>> joined(const std::vector<const ViewBatch*>& views, Memory memory);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
