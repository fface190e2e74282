// Writes the estimate from time to time, so that a killed reconstruction can be resumed from it.
#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/io/checkpoint.hpp"
#include "gadgets/update/estimate_checkpoint.hpp"
#include "gadgets/write/estimate_writer.hpp"

namespace tofstream {
namespace {

struct CheckpointWriter {
  struct Params {
    std::filesystem::path file = checkpoint_name;
    double every_s = 10;
  };
  static constexpr auto params = describe(
      param<&Params::file>("file", in_run_folder,
                           "Name in the output folder; an older checkpoint is replaced. Frames and gates add their "
                           "number: each has one, as soon as its image is complete"),
      param<&Params::every_s>("every_s", range(0, 86400), unit("s"),
                              "Shortest time between two checkpoints of one image; 0: one of each estimate"));
  static constexpr bool own_thread = true;
  static MemoryNeed memory(std::span<const std::size_t> inputs) {
    return {.copy_bytes = inputs[0], .lower = "image.size"};
  }

  CheckpointWriter(const Params& p, Context& context) : p_(p) { context.output_file(p.file); }

  void process(std::shared_ptr<const Estimate> estimate, Context& context) {
    if (!estimate->through.empty())
      throw std::runtime_error(
          fmt::format("the image went through {}, and a run is resumed from what the update made: let the checkpoint "
                      "read the update's estimate",
                      estimate->through.back().name));
    if (estimate->step.is_joint && estimate->step.frame.number > 0)
      throw std::runtime_error(
          "the images are of frames that are reconstructed together, and a run is resumed from their coefficients: let "
          "the checkpoint read `coefficients` of parametric_update");
    if (estimate->step.frame.number > 0) {
      if (estimate->step.ends_frame())
        write(*estimate, frame_checkpoint(p_.file, estimate->step.frame.number), context);
      return;
    }
    const Estimate& resumed = estimate->resumes_at ? *estimate->resumes_at : *estimate;
    if (resumed.step.iteration == 0) return;  // the start image needs no checkpoint
    if (estimate->resumes_at && resumed.step.update == update_) return;
    const auto now = std::chrono::steady_clock::now();
    if (written_ + failed_ > 0 && now - last_ < std::chrono::duration<double>(p_.every_s)) return;
    last_ = now;
    write(resumed, p_.file, context);
  }

 private:
  void write(const Estimate& estimate, const std::filesystem::path& file, Context& context) {
    try {
      write_checkpoint(context.output_file(file), checkpoint_step_of(estimate), *on_host(estimate),
                       estimate.quantity.get());
    } catch (const std::system_error& error) {
      note_failure(error, context);
      return;
    }
    update_ = estimate.step.update;
    context.report("checkpoints", ++written_);
    context.report("update", update_);
  }

  // A scan continues even without checkpoints, as on a full disk; the previous one stays.
  void note_failure(const std::system_error& error, Context& context) {
    context.report("failed", ++failed_);
    if (failed_ == 1)
      context.log().warning(fmt::format("this checkpoint was not written, later ones will be tried: {}", error.what()));
  }

  Params p_;
  std::chrono::steady_clock::time_point last_;
  std::int64_t update_ = -1;  // of the last checkpoint
  std::int64_t written_ = 0, failed_ = 0;
};

TOFSTREAM_GADGET(CheckpointWriter, "checkpoint_writer",
                 "Writes checkpoints of the estimate, from which a run can be resumed");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
