// A running pipeline's images: see output_tap.hpp.
#include "tools/c/output_tap.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget/registry.hpp"
#include "tools/c/guard.hpp"

namespace tofstream::c_api {

void OutputTap::put(const std::shared_ptr<const Estimate>& estimate, std::uint64_t events) {
  const std::lock_guard lock(mutex_);
  newest_ = {estimate, events};
  came_.notify_all();
}

void OutputTap::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  came_.notify_all();
}

TappedImage OutputTap::take(std::chrono::duration<double> wait) {
  std::unique_lock lock(mutex_);
  came_.wait_for(lock, wait, [&] { return is_closed_ || newest_.estimate; });
  return std::exchange(newest_, {});
}

namespace {

// An output of the pipeline that gives images.
struct ImageOutput {
  std::size_t gadget = 0, port = 0;
  std::string name;  // as a user writes it
};

std::vector<ImageOutput> image_outputs(const Pipeline& pipeline) {
  std::vector<ImageOutput> found;
  for (std::size_t g = 0; g < pipeline.gadgets.size(); ++g) {
    const auto& outputs = pipeline.gadgets[g].info->outputs;
    for (std::size_t p = 0; p < outputs.size(); ++p) {
      if (!outputs[p].payload->same_as(payload_type<Estimate>())) continue;
      const std::string& gadget = pipeline.gadgets[g].name;
      found.push_back({g, p, outputs.size() == 1 ? gadget : gadget + "." + outputs[p].name});
    }
  }
  return found;
}

// The gadget itself, whose images are seen on their way.
class TappedGadget final : public GadgetInstance {
 public:
  TappedGadget(std::unique_ptr<GadgetInstance> inner, std::size_t port, std::shared_ptr<OutputTap> tap)
      : inner_(std::move(inner)), port_(port), tap_(std::move(tap)) {}

  void start(EmitTarget& to, Context& context, const void* params) override {
    Seen seen(*this, to, context);
    inner_->start(seen, context, params);
  }
  void process(std::span<Payload> inputs, EmitTarget& to, Context& context, const void* params) override {
    Seen seen(*this, to, context);
    inner_->process(inputs, seen, context, params);
  }
  void flush(EmitTarget& to, Context& context, const void* params) override {
    Seen seen(*this, to, context);
    inner_->flush(seen, context, params);
  }
  bool idle(EmitTarget& to, Context& context, const void* params) override {
    Seen seen(*this, to, context);
    return inner_->idle(seen, context, params);
  }
  void run(EmitTarget& to, const std::stop_token& stop, Context& context, const void* params) override {
    Seen seen(*this, to, context);
    inner_->run(seen, stop, context, params);
  }
  void update(const void* params) override { inner_->update(params); }

 private:
  class Seen final : public EmitTarget {
   public:
    Seen(TappedGadget& gadget, EmitTarget& to, Context& context) : gadget_(gadget), to_(to), context_(context) {}
    void emit(std::size_t port, Payload payload) override {
      if (port == gadget_.port_) gadget_.see(std::static_pointer_cast<const Estimate>(payload.data), context_);
      to_.emit(port, std::move(payload));
    }

   private:
    TappedGadget& gadget_;
    EmitTarget& to_;
    Context& context_;
  };

  // The start image shows nothing yet.
  void see(const std::shared_ptr<const Estimate>& estimate, Context& context) {
    if (!estimate->is_announcement() && estimate->step.iteration > 0) tap_->put(estimate, context.message().end_event);
  }

  const std::unique_ptr<GadgetInstance> inner_;
  const std::size_t port_;
  const std::shared_ptr<OutputTap> tap_;
};

void tap_gadget(PipelineGadget& gadget, std::size_t port, const std::shared_ptr<OutputTap>& tap) {
  auto info = std::make_shared<GadgetInfo>(*gadget.info);
  info->construct = [inner = info->construct, port, tap](const std::shared_ptr<const void>& params, Context& context) {
    return std::make_unique<TappedGadget>(inner(params, context), port, tap);
  };
  gadget.info = info.get();
  gadget.specialised = std::move(info);
}

}  // namespace

void connect_tap(Pipeline& pipeline, const std::string& output, const std::shared_ptr<OutputTap>& tap) {
  const auto known = image_outputs(pipeline);
  if (output.empty()) {
    if (!known.empty()) tap_gadget(pipeline.gadgets[known.back().gadget], known.back().port, tap);
    return;
  }
  const auto found = std::ranges::find(known, output, &ImageOutput::name);
  if (found == known.end()) {
    std::string names;
    for (const ImageOutput& one : known) names += (names.empty() ? "" : ", ") + one.name;
    throw Wrong(fmt::format("output is '{}', which is no output of '{}' with images; {}", output, pipeline.name,
                            names.empty() ? "it has none" : "these are: " + names));
  }
  tap_gadget(pipeline.gadgets[found->gadget], found->port, tap);
}

}  // namespace tofstream::c_api
// SPDX-License-Identifier: Apache-2.0
