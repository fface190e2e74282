#include "core/base/did_you_mean.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace tofstream {

namespace {

// Edits (insert, delete, replace, swap of neighbours) that turn a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

// delay for delay_ms, fwhm_mm for psf_fwhm_mm
bool is_part(std::string_view name, std::string_view candidate) {
  constexpr std::size_t shortest = 3;
  if (name.size() < shortest || name.size() >= candidate.size()) return false;
  const std::size_t rest = candidate.size() - name.size();
  return candidate.starts_with(name) || (candidate.ends_with(name) && candidate[rest - 1] == '_');
}

}  // namespace

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr std::size_t longest = 100;  // a name; more is no misspelling, and the distance is quadratic
  constexpr std::size_t most_named = 3;
  std::size_t best = std::max<std::size_t>(1, std::min<std::size_t>(name.size(), longest) / 3) + 1;
  std::set<std::string> nearest;  // sorted, and each once
  for (const std::string& candidate : candidates) {
    if (name.size() > longest || candidate.size() > longest) continue;
    const std::size_t distance = is_part(name, candidate) ? 1 : edit_distance(name, candidate);
    if (distance > best || (distance == best && nearest.empty())) continue;
    if (distance < best) nearest.clear();
    best = distance;
    nearest.insert(candidate);
  }
  if (nearest.empty()) return "";
  std::string named;
  std::size_t count = 0;
  for (const std::string& candidate : nearest)
    if (++count <= most_named) named += (count > 1 ? " or '" : "'") + candidate + "'";
  return ", did you mean " + named + "?";
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
