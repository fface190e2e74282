// Writes views as Interfile in the dialect that STIR reads. Both files appear by rename.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/gadget.hpp"
#include "gadgets/spect/io/interfile_write.hpp"
#include "gadgets/views.hpp"

namespace tofstream {
namespace {

struct ProjectionsWriter {
  struct Params {
    std::filesystem::path file = "views.hs";
  };
  static constexpr auto params = describe(param<&Params::file>(
      "file", in_run_folder, "Name of the header in the output folder; the counts' file beside it ends in .s"));
  static constexpr bool own_thread = true;
  static MemoryNeed memory(const Params& /*p*/) { return {}; }

  ProjectionsWriter(const Params& p, Context& context) : path_(context.output_file(p.file)) {
    (void)context.output_file(formats::InterfileWriter::data_of(p.file));
  }

  void process(const ViewBatch& batch, Context& context) {
    if (batch.window != 0) return;  // scatter windows are not what is reconstructed
    if (!writer_) start(batch, context);
    warn_of_corrections(batch, context);
    if (batch.counts.empty()) throw std::runtime_error("views without counts came: nothing of them can be written");
    writer_->write(on_host(batch.memory()) ? batch : copy_of(batch));
    context.books().written(batch.event_count());
  }

  void flush(Context& context) {
    if (!writer_) return context.log().warning("no views came: no file is written");
    writer_->commit();
    context.report("file", path_.string());
  }

 private:
  void start(const ViewBatch& batch, Context& context) {
    writer_ =
        std::make_unique<formats::InterfileWriter>(path_, batch.set, batch.quantity ? *batch.quantity : Quantity{});
    for (const std::string& note : writer_->notes()) context.log().warning(note);
  }

  void warn_of_corrections(const ViewBatch& batch, Context& context) {
    const bool is_corrected =
        !batch.additive.empty() || !batch.multiplicative.empty() ||
        std::ranges::any_of(batch.records, [](const ViewRecord& record) { return record.exposure != 1; }) ||
        (batch.quantity && std::ranges::any_of(batch.quantity->corrections, [](const CorrectionRecord& record) {
           return record.state == CorrectionState::made;
         }));
    if (is_corrected && !std::exchange(has_warned_, true))
      context.log().warning(
          "Interfile holds counts alone, and does not say how they were corrected: what was done to the counts "
          "themselves "
          "(as DICOM's Corrected Image says) stays done, and what was not must be made again where the file is read");
  }

  static ViewBatch copy_of(const ViewBatch& batch) {
    ViewBatch copy = batch.to(Memory::host);
    synchronize(nullptr);
    return copy;
  }

  std::filesystem::path path_;
  std::unique_ptr<formats::InterfileWriter> writer_;
  bool has_warned_ = false;
};

TOFSTREAM_GADGET(ProjectionsWriter, "projections_writer", "Writes views as Interfile, as STIR reads it");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
