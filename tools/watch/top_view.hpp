// A running reconstruction as a page of text: what `tofstream top` shows.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace tofstream {

/// The page of one status (status_json), lines ended by '\n' and cut at `columns`; rates are since the status `before`,
/// a null value of which leaves them out.
std::string top_view(const nlohmann::ordered_json& status, const nlohmann::ordered_json& before, std::size_t columns);

/// A number in few characters: 0, 812, 3.24k, 15.7M, 2.00G.
std::string short_number(double value);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
