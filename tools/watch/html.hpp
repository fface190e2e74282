// Small pieces of HTML in which every value is escaped.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tofstream::html {

/// Text as it may stand within an element or a quoted attribute.
std::string escape(std::string_view text);

/// A table of texts, all escaped: `heads` above, one list for each row; without rows, nothing. Columns from the second
/// on are numbers, flush right, where `numbers`.
std::string table(const std::vector<std::string>& heads, const std::vector<std::vector<std::string>>& rows,
                  bool numbers = true);

/// What is known of a thing, as a table of two columns: what it is, and its value, all escaped. An empty value leaves its
/// row out.
std::string facts(const std::vector<std::pair<std::string, std::string>>& rows);

/// An image whose bytes are in the page itself; `mime` such as "image/png". `words` say what it shows.
std::string image(std::string_view mime, std::string_view bytes, std::string_view words);

}  // namespace tofstream::html
// SPDX-License-Identifier: Apache-2.0
