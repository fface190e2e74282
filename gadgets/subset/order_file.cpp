// The file of a live run's order: see order_file.hpp.
#include "gadgets/subset/order_file.hpp"

#include <algorithm>
#include <cstddef>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace tofstream {

OrderFile::OrderFile(std::filesystem::path name, Context& context) : name_(std::move(name)) {
  if (!name_.empty()) context.output_file(name_);
}

void OrderFile::write(const UpdateRecord& record, std::span<const UpdateRecord> passed, Context& context) {
  if (name_.empty()) return;
  attempt(
      [&] {
        const auto before =
            passed.first(std::min<std::size_t>(passed.size(), static_cast<std::size_t>(record.update) - 1));
        if (!log_) log_.emplace(context.output_file(name_), before);
        log_->append(record);
      },
      context);
}

void OrderFile::end(Context& context) {
  if (log_) attempt([&] { log_->end(); }, context);
}

template <class Write>
void OrderFile::attempt(const Write& write, Context& context) {
  if (is_broken_) return;
  try {
    write();
  } catch (const std::system_error& error) {
    is_broken_ = true;
    context.report("order_broken", true);
    context.log().warning(fmt::format("the order of updates is no longer written: {}", error.what()));
  }
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
