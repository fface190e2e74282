// The order of a live run's updates as it is written into the run's folder. A scan continues even if it can no longer
// be written, as on a full disk.
#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "core/gadget.hpp"
#include "gadgets/io/update_log.hpp"

namespace tofstream {

inline constexpr auto* order_words =
    "Name in the output folder of the file that records the order of updates; none: no file";

class OrderFile {
 public:
  /// `name`: in the run's folder; empty: no file is written.
  OrderFile(std::filesystem::path name, Context& context);

  /// To be called before the update is made, so that any estimate that was seen or kept is in the order. `passed`: the
  /// updates of an order that is followed, so far; those before this one come first in the file.
  void write(const UpdateRecord& record, std::span<const UpdateRecord> passed, Context& context);
  /// The reconstruction ended normally.
  void end(Context& context);

 private:
  template <class Write>
  void attempt(const Write& write, Context& context);

  std::filesystem::path name_;
  std::optional<UpdateLogWriter> log_;
  bool is_broken_ = false;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
