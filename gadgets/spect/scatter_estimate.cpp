// Scatter of views: see scatter_estimate.hpp.
#include "gadgets/spect/scatter_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "core/base/printable.hpp"

namespace tofstream {

namespace {

constexpr float same_limit_keV = 0.5f;

bool has_limits(const EnergyWindow& window, const std::array<float, 2>& limits) {
  return std::abs(window.low_keV - limits[0]) <= same_limit_keV &&
         std::abs(window.high_keV - limits[1]) <= same_limit_keV;
}

float middle_keV(const EnergyWindow& window) {
  return 0.5f * (window.low_keV + window.high_keV);
}

// How far a window's middle lies beyond the photopeak's limit; negative: within, or on the other side.
float beyond_keV(const EnergyWindow& photopeak, const EnergyWindow& window, bool is_below) {
  return is_below ? photopeak.low_keV - middle_keV(window) : middle_keV(window) - photopeak.high_keV;
}

std::string energies_in_words(const EnergyWindow& window) {
  return fmt::format("{:g} to {:g} keV", window.low_keV, window.high_keV);
}

void require_known_energies(const ViewSet& set) {
  if (set.windows.size() < 2)
    throw std::runtime_error(
        "scatter.from: windows needs views of further energy windows, and the scan has one: name their files "
        "(lower_window and upper_window of projections_source), or take scatter.from: file");
  for (std::size_t w = 0; w < set.windows.size(); ++w)
    if (!(set.windows[w].high_keV > set.windows[w].low_keV))
      throw std::runtime_error(fmt::format(
          "scatter from energy windows needs their widths, and energy window {} states no limits: give them "
          "to the source (windows_keV of projections_source)",
          w + 1));
}

}  // namespace

WindowScatter::WindowScatter(const ViewScatterParams& p) : p_(p) {
  if (p.factor && p.upper_keV)
    throw std::invalid_argument("scatter: factor is of the window below alone, so upper_keV does not go with it");
}

int WindowScatter::chosen_window(const ViewSet& set, bool is_below,
                                 const std::optional<std::array<float, 2>>& wanted) const {
  const EnergyWindow& photopeak = set.windows.front();
  int nearest = 0;
  float least = 0;
  for (std::size_t w = 1; w < set.windows.size(); ++w) {
    const float beyond = beyond_keV(photopeak, set.windows[w], is_below);
    if (beyond < 0 || (wanted && !has_limits(set.windows[w], *wanted))) continue;
    if (nearest == 0 || beyond < least) {
      nearest = static_cast<int>(w);
      least = beyond;
    }
  }
  const char* side = is_below ? "below" : "above";
  if (nearest == 0 && wanted)
    throw std::runtime_error(fmt::format("the scan has no energy window of {:g} to {:g} keV {} the photopeak's ({})",
                                         (*wanted)[0], (*wanted)[1], side, energies_in_words(photopeak)));
  return nearest;
}

void WindowScatter::prepare(const ViewSet& set) {
  if (lower_ != 0) return;
  require_known_energies(set);
  const auto& windows = set.windows;
  lower_ = chosen_window(set, true, p_.lower_keV);
  if (lower_ == 0)
    throw std::runtime_error(
        fmt::format("the scan has no energy window below the photopeak's ({}), from which scatter could be taken: is "
                    "`window` of projections_source right?",
                    energies_in_words(windows.front())));
  if (!p_.factor) upper_ = chosen_window(set, false, p_.upper_keV);
  const EnergyWindow& lower = windows[static_cast<std::size_t>(lower_)];
  words_ = fmt::format("from the energy window of {}", energies_in_words(lower));
  if (p_.factor) {
    weights_ = {*p_.factor, 0};
  } else if (upper_ == 0) {
    weights_ = triangle_weights(windows.front(), lower);
  } else {
    const EnergyWindow& upper = windows[static_cast<std::size_t>(upper_)];
    weights_ = triple_window_weights(windows.front(), lower, upper);
    words_ += fmt::format(" and that of {}", energies_in_words(upper));
  }
  if (upper_ == 0) words_ += fmt::format(", times {:.4g}", weights_.lower);
}

std::vector<ViewWithScatter> WindowScatter::take(ViewBatch view) {
  prepare(*view.set);
  std::vector<ViewWithScatter> complete;
  if (view.window != 0 && view.window != lower_ && view.window != upper_) return complete;
  const int number = view.records.front().view;
  Waiting& waiting = waiting_[number];
  (view.window == 0        ? waiting.photopeak
   : view.window == lower_ ? waiting.lower
                           : waiting.upper)
      .push_back(std::move(view));
  while (!waiting.photopeak.empty() && !waiting.lower.empty() && (upper_ == 0 || !waiting.upper.empty()))
    complete.push_back(completed(waiting));
  if (waiting.photopeak.empty() && waiting.lower.empty() && waiting.upper.empty()) waiting_.erase(number);
  return complete;
}

ViewWithScatter WindowScatter::completed(Waiting& waiting) const {
  ViewWithScatter result{.view = std::move(waiting.photopeak.front()), .scatter = {}};
  waiting.photopeak.pop_front();
  result.scatter = Buffer<float>(Memory::host, result.view.count);
  const ViewBatch& lower = waiting.lower.front();
  if (upper_ == 0) {
    estimate_scatter(weights_, lower.counts.span(), {}, result.scatter.span());
  } else {
    estimate_scatter(weights_, lower.counts.span(), waiting.upper.front().counts.span(), result.scatter.span());
    waiting.upper.pop_front();
  }
  waiting.lower.pop_front();
  return result;
}

std::vector<ViewBatch> WindowScatter::left() const {
  std::vector<ViewBatch> views;
  for (const auto& [number, waiting] : waiting_)
    for (const ViewBatch& view : waiting.photopeak) views.push_back(view.without_arrays());
  return views;
}

FileScatter::FileScatter(const ViewScatterParams& p)
    : path_(p.file), words_(fmt::format("expected counts from {}", p.file.string())) {
  constexpr double any_radius_mm = 1000;  // radii are not compared
  reader_ = formats::open_views(p.file, {.start_angle_deg = p.read_as.start_angle_deg,
                                         .direction = p.read_as.direction,
                                         .radius_mm = any_radius_mm,
                                         .flip_u = p.read_as.flip_u,
                                         .flip_w = p.read_as.flip_w,
                                         .zero = p.read_as.zero,
                                         .negative = p.read_as.negative});
}

Buffer<float> FileScatter::of(const ViewBatch& view) {
  if (view.set != compared_) read(*view.set);
  compared_ = view.set;
  return views_.at(view.records.front().view).to(Memory::host);
}

void FileScatter::read(const ViewSet& scan) {
  const std::string other = formats::other_scan_in_words(scan, *reader_->set());
  if (!other.empty())
    throw std::runtime_error(
        fmt::format("{}: it {}: expected scatter is of the scan's own views, in counts of their time (where the scan's "
                    "angles were overridden, scatter.read_as overrides the file's)",
                    printable(path_.string()), other));
  while (auto view = reader_->next())
    if (view->window == 0) views_[view->records.front().view] = std::move(view->counts);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
