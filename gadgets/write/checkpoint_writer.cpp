// Writes the estimate now and then, so that a reconstruction that is killed can go on from it.
#include <chrono>
#include <filesystem>
#include <memory>
#include <span>

#include "core/gadget.hpp"
#include "gadgets/formats/checkpoint.hpp"
#include "gadgets/write/estimate_writer.hpp"

namespace tofstream {
namespace {

struct CheckpointWriter {
  struct Params {
    std::filesystem::path file = checkpoint_name;
    double every_s = 10;
  };
  static constexpr auto params = describe(
      param<&Params::file>("file", "Name in the output folder; an older one is replaced"),
      param<&Params::every_s>("every_s", range(0, 86400), unit("s"), "Least time between two; 0: each estimate"));
  static constexpr bool own_thread = true;
  static MemoryNeed memory(std::span<const std::size_t> inputs) {
    return {.copy_bytes = inputs[0], .lower = "image.size"};
  }

  explicit CheckpointWriter(const Params& p) : p_(p) {}

  void process(std::shared_ptr<const Estimate> estimate, Context& context) {
    if (estimate->step.iteration == 0) return;  // the start image needs no checkpoint
    const auto now = std::chrono::steady_clock::now();
    if (written_ > 0 && now - last_ < std::chrono::duration<double>(p_.every_s)) return;
    write_checkpoint(context.output_dir() / p_.file, {estimate->step.update, estimate->step.iteration},
                     *on_host(*estimate));
    last_ = now;
    context.report("checkpoints", ++written_);
    context.report("update", estimate->step.update);
  }

 private:
  Params p_;
  std::chrono::steady_clock::time_point last_;
  std::int64_t written_ = 0;
};

TOFSTREAM_GADGET(CheckpointWriter, "checkpoint_writer", "Writes the estimate now and then, to resume from");

}  // namespace
}  // namespace tofstream
