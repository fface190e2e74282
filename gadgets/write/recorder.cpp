// Writes the frames of a live stream to a journal (share/doc/journal.md): recording without reconstruction.
#include <filesystem>
#include <memory>

#include "core/gadget.hpp"
#include "gadgets/wire/journal_option.hpp"
#include "gadgets/wire/raw_frame.hpp"

namespace tofstream {
namespace {

struct Recorder {
  struct Params {
    std::filesystem::path journal;
    bool resume = false;
    int segment_mib = JournalOption{}.segment_mib;
    int sync_ms = JournalOption{}.sync_ms;
  };
  static constexpr auto params = describe(
      param<&Params::journal>("journal", required, journal_is_operators, "Folder of the journal"),
      param<&Params::resume>("resume", "A journal that holds frames is continued"),
      param<&Params::segment_mib>("segment_mib", range(1, 1 << 20), unit("MiB"), "Size of the journal's files"),
      param<&Params::sync_ms>("sync_ms", range(-1, 3600000), unit("ms"), sync_words));
  static constexpr bool own_thread = true;
  static MemoryNeed memory(const Params&) { return {}; }

  Recorder(const Params& p, Context& context)
      : journal_(open_journal({p.journal, p.resume, p.segment_mib, p.sync_ms}, context)) {}

  void process(const RawFrame& frame, Context& context) {
    journal_->append_frame(frame.data, frame.ingress_ns);
    context.books().written(frame.events);
    ++frames_;
  }

  void flush(Context& context) {
    journal_->sync();
    context.report("journal", journal_->folder().string());
    context.report("journal_frames", frames_);
    context.report("journal_bytes", static_cast<std::int64_t>(journal_->written_bytes()));
  }

 private:
  const std::shared_ptr<journal::Writer> journal_;
  std::int64_t frames_ = 0;
};

TOFSTREAM_GADGET(Recorder, "recorder", "Keeps the frames of a live stream in a journal, as they came");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
