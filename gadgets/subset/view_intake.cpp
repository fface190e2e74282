// Views as they come to a gadget that groups them: see view_intake.hpp.
#include "gadgets/subset/view_intake.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "kernels/types/join_views.hpp"

namespace tofstream {

std::optional<ViewBatch> ViewIntake::take(const ViewBatch& views, Context& context) {
  if (views.window != 0) {
    if (!std::exchange(said_window_, true))
      context.log().info(
          "views of further energy windows came: they are not reconstructed (view_corrections takes "
          "scatter from them)");
    return std::nullopt;
  }
  if (!set_) {
    set_ = views.set;
    exposure_.resize(set_->places.size());
    const auto timed = std::ranges::count_if(set_->places, [](const ViewPlace& place) { return place.duration_s > 0; });
    is_timed_ = timed == std::ssize(set_->places);
    if (timed > 0 && !is_timed_)
      throw std::runtime_error(
          fmt::format("only {} of {} views state how long they took, so nobody knows how much the others weigh: state "
                      "the time of all or of none",
                      timed, set_->places.size()));
  }
  if (views.set != set_ && !(*views.set == *set_))
    throw std::runtime_error("views of another camera or scan came: a reconstruction takes the views of one");
  quantity_.add(views.quantity);
  if (views.records.empty()) return std::nullopt;
  if (!views.has_counts()) throw std::runtime_error("views without counts came: take them from a source of views");
  ViewBatch taken = views.to(Memory::host);
  synchronize(nullptr);
  taken.set = set_;
  taken.weigh(reference_s_);
  for (const ViewRecord& record : taken.records) note(record, context);
  return taken;
}

// A view may come in pieces, whose exposures are shares of its time. More than all of it is a second scan of that side.
void ViewIntake::note(const ViewRecord& record, Context& context) {
  constexpr double whole = 1 + 1e-6;
  double& exposure = exposure_[static_cast<std::size_t>(record.view)];
  exposure += record.exposure;
  if (exposure <= whole || std::exchange(said_again_, true)) return;
  const std::string line = fmt::format(
      "view {} came again: it counts as so much more time, with its counts. Pieces of a view have exposures that make "
      "1 "
      "together (the first such view)",
      record.view);
  context.report("view_again", line);
  context.log().warning(line);
}

void ViewIntake::require_all(Context& context) const {
  const auto missing = std::ranges::count(exposure_, 0.0);
  if (missing == 0) return;
  const auto first = std::ranges::find(exposure_, 0.0) - exposure_.begin();
  const std::string line = fmt::format(
      "{} of {} views never came (the first is view {}, at {:g} degrees): the image "
      "has streaks from the sides that are missing",
      missing, exposure_.size(), first, set_->places[static_cast<std::size_t>(first)].angle_deg);
  context.report("missing_views", line);
  context.log().warning(line);
}

std::vector<ViewBatch> single_views(const ViewBatch& batch) {
  std::vector<ViewBatch> views;
  const std::int64_t pixels = batch.set->pixels();
  for (std::size_t v = 0; v < batch.records.size(); ++v) {
    ViewBatch view = batch.without_arrays();
    view.count = pixels;
    view.records = {batch.records[v]};
    const auto part_of = [v](std::int64_t size) {
      return [=]<class T>(Buffer<T>& to, const Buffer<T>& from) {
        if (from.empty()) return;
        to = Buffer<T>(Memory::host, size);
        const auto begin = from.span().begin() + static_cast<std::ptrdiff_t>(v) * size;
        std::copy_n(begin, size, to.data());
      };
    };
    for_each_record_array_pair(view, batch, part_of(1));
    for_each_pixel_array_pair(view, batch, part_of(pixels));
    views.push_back(std::move(view));
  }
  return views;
}

std::vector<std::shared_ptr<const ViewBatch>> joined(const std::vector<const ViewBatch*>& views, Memory memory) {
  std::vector<std::shared_ptr<const ViewBatch>> batches;
  for (auto begin = views.begin(); begin != views.end();) {
    const auto end = std::find_if_not(begin, views.end(), [&](const ViewBatch* v) { return can_join(**begin, *v); });
    batches.push_back(std::make_shared<const ViewBatch>(join_views(std::span(begin, end), memory)));
    begin = end;
  }
  return batches;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
