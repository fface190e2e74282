// The ends of a client's run: see served_ends.hpp.
#include "tools/serve/served_ends.hpp"

#include <utility>

#include "core/gadget/ports.hpp"
#include "core/report/report.hpp"
#include "core/run/run_control.hpp"
#include "gadgets/io/random_identity.hpp"
#include "gadgets/stream_ends.hpp"
#include "gadgets/wire/stream_receiver.hpp"
#include "gadgets/write/estimate_image.hpp"

namespace tofstream::serve {

namespace {

using Link = std::shared_ptr<SessionLink>;

// Replaces a source of a live stream.
class ClientSource final : public GadgetInstance {
 public:
  explicit ClientSource(Link link) : link_(std::move(link)) {}

  void run(EmitTarget& target, const std::stop_token& stop, Context& context, const void*) override {
    Emit<LiveStream> emit(target);
    StreamReceiver receiver(emit, context, {.on_new_stream = OnNewStream::ignore});  // a session is one stream
    // A client's frames come in order, or not at all: nothing is late.
    while (!receiver.has_ended()) {
      auto frame = context.wait_outside([&] { return link_->take(stop); });
      if (!frame) break;
      receiver.take(std::move(*frame));
    }
    link_->close();
    receiver.finish();
  }

 private:
  const Link link_;
};

// Replaces a sink that sends images.
class ClientImages final : public GadgetInstance {
 public:
  ClientImages(Link link, Every every) : link_(std::move(link)), every_(every) {}

  void process(std::span<Payload> inputs, EmitTarget&, Context& context, const void*) override {
    auto estimate = std::static_pointer_cast<const Estimate>(inputs[0].data);
    if (estimate->is_announcement()) return;
    last_ = std::move(estimate);
    require_voxels(*last_);
    events_.take_in(context.message());
    if (is_due(*last_, every_)) send(false, context);
  }

  void flush(EmitTarget&, Context& context, const void*) override {
    if (last_ && last_->step.iteration > 0) send(true, context);
  }

 private:
  void send(bool is_final, Context& context) {
    if (!link_->wants(is_final)) return;
    const auto image = estimate_image(*last_, events_.events(), run_, is_final);
    const std::string provenance = provenance_of(*last_, events_.events(), context);
    context.wait_outside([&] { link_->put_image(make_image(image, provenance), context.cancel_token()); });
    context.report("images", ++images_);
  }

  const Link link_;
  const Every every_;
  const std::uint64_t run_ = random_identity();
  std::shared_ptr<const Estimate> last_;
  EventSpan events_;
  std::int64_t images_ = 0;
};

Every every_of(const PipelineGadget& gadget) {
  const std::string text = parameter_text(gadget, "every");
  for (const auto& [value, name] : enum_names(Every{}).all)
    if (text == name) return value;
  return Every::update;
}

std::unique_ptr<GadgetInstance> make_end(const Link& link, const PipelineGadget& gadget) {
  if (gadget.info->kind == GadgetKind::source) return std::make_unique<ClientSource>(link);
  return std::make_unique<ClientImages>(link, every_of(gadget));
}

}  // namespace

std::string parameter_text(const PipelineGadget& gadget, std::string_view name) {
  const Value* value = gadget.resolved.find(name);
  return value ? value->text : "";
}

void connect_ends(Pipeline& pipeline, const std::shared_ptr<SessionLink>& link, std::size_t held_bytes) {
  for (PipelineGadget& gadget : pipeline.gadgets) {
    const bool is_source = gadget.info->stream_end == takes_live_stream;
    if (!is_source && gadget.info->stream_end != sends_images) continue;
    auto info = std::make_shared<GadgetInfo>(*gadget.info);
    info->construct = [link, gadget](const std::shared_ptr<const void>&, Context&) { return make_end(link, gadget); };
    if (is_source)
      info->memory = [held_bytes](const void*, std::span<const std::size_t>) {
        return MemoryNeed{.host_bytes = held_bytes, .lower = "the server's --window-mib"};
      };
    gadget.info = info.get();
    gadget.specialised = std::move(info);
  }
}

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
