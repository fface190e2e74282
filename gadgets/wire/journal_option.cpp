// Journals by parameters: see journal_option.hpp.
#include "gadgets/wire/journal_option.hpp"

#include <stdexcept>

#include <fmt/format.h>

namespace tofstream {

std::shared_ptr<journal::Writer> open_journal(const JournalOption& option, const Context& context) {
  journal::WriterOptions options{.segment_bytes = static_cast<std::uint64_t>(option.segment_mib) << 20U};
  options.sync_every.reset();
  if (option.sync_ms >= 0) options.sync_every = std::chrono::milliseconds(option.sync_ms);
  auto writer = journal::shared_writer(option.folder, options);
  if (writer->entries_before() > 0 && !option.resume)
    throw std::runtime_error(
        fmt::format("the journal {} already holds {} entries: continue it with resume (tofstream record --resume, or "
                    "--set {}.resume=true), or name another folder",
                    option.folder.string(), writer->entries_before(), context.name()));
  if (writer->cut_bytes() > 0)
    context.log().warning(fmt::format("the journal {} ended in the middle of an entry: {} bytes were cut off",
                                      option.folder.string(), writer->cut_bytes()));
  return writer;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
