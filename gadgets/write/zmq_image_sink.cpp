// Publishes estimates over ZeroMQ (XPUB, bound) to any number of subscribers (share/doc/images-on-the-wire.md). A new
// subscriber is sent the last image at once; a slow one misses images; none delays the reconstruction.
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <zmq.hpp>

#include "core/gadget.hpp"
#include "gadgets/io/random_identity.hpp"
#include "gadgets/stop_descriptor.hpp"
#include "gadgets/stream_ends.hpp"
#include "gadgets/wire/socket_guard.hpp"
#include "gadgets/wire/wait_for_any.hpp"
#include "gadgets/write/estimate_image.hpp"

namespace tofstream {
namespace {

using Bytes = std::vector<std::byte>;
using Shared = std::shared_ptr<const Bytes>;

// The socket and its thread. It takes images and keeps the last one for later subscribers.
class Publisher {
 public:
  Publisher(SocketGuard::Settings settings, int high_water_mark, double linger_s)
      : socket_(zmq_, zmq::socket_type::xpub), guard_(zmq_, socket_, settings) {
    socket_.set(zmq::sockopt::sndhwm, high_water_mark);
    socket_.set(zmq::sockopt::linger, static_cast<int>(1000 * linger_s));
    socket_.set(zmq::sockopt::xpub_verbose, true);  // each subscriber is heard, not only the first
    try {
      socket_.bind(settings.endpoint);
    } catch (const zmq::error_t& error) {
      throw std::runtime_error(
          fmt::format("cannot publish images at {}: {}; name another endpoint where another "
                      "program publishes there",
                      settings.endpoint, error.what()));
    }
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }
  ~Publisher() {
    thread_.request_stop();
    thread_.join();
  }
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  /// Sends the image to all present subscribers; later ones are sent the last image.
  void publish(Bytes image) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::make_shared<const Bytes>(std::move(image)));
    came_.raise();
  }

  std::int64_t late_joiners() const {
    const std::lock_guard lock(mutex_);
    return late_joiners_;
  }

 private:
  void serve(const std::stop_token& stop) {
    const StopDescriptor stopped(stop);
    zmq::pollitem_t items[] = {{socket_.handle(), 0, ZMQ_POLLIN, 0},
                               {nullptr, came_.number(), ZMQ_POLLIN, 0},
                               {nullptr, stopped.number(), ZMQ_POLLIN, 0}};
    for (;;) {
      const bool is_last = stop.stop_requested();  // read first, so that images handed over before the stop are sent
      send_waiting();
      greet_subscribers();
      if (is_last) return;
      wait_for_any(items, std::chrono::milliseconds(-1));
    }
  }

  void send_waiting() {
    std::vector<Shared> images;
    {
      const std::lock_guard lock(mutex_);
      images.swap(waiting_);
      came_.clear();
    }
    for (const Shared& image : images) send(last_ = image);
  }

  // A subscription is a byte 1, then the prefix. All subscribers get the image again, and know it by its number.
  void greet_subscribers() {
    zmq::message_t message;
    std::int64_t joined = 0;
    while (socket_.recv(message, zmq::recv_flags::dontwait))
      if (message.size() > 0 && *static_cast<const unsigned char*>(message.data()) == 1) ++joined;
    if (joined == 0 || !last_) return;
    send(last_);
    const std::lock_guard lock(mutex_);
    late_joiners_ += joined;
  }

  // No copy is made: the message keeps the image alive.
  void send(const Shared& image) {
    const auto let_go = [](void*, void* held) { delete static_cast<Shared*>(held); };
    auto held = std::make_unique<Shared>(image);
    zmq::message_t message(const_cast<std::byte*>(image->data()), image->size(), let_go, held.get());
    held.release();  // NOLINT(bugprone-unused-return-value): the message deletes it
    static_cast<void>(socket_.send(message, zmq::send_flags::dontwait));
  }

  zmq::context_t zmq_;
  zmq::socket_t socket_;
  SocketGuard guard_;
  EventDescriptor came_;
  Shared last_;  // used by the thread only
  mutable std::mutex mutex_;
  std::vector<Shared> waiting_;
  std::int64_t late_joiners_ = 0;
  std::jthread thread_;
};

struct ZmqImageSink {
  struct Params {
    std::string endpoint = "tcp://127.0.0.1:5556";
    KeyParams keys;
    Every every = Every::update;
    int high_water_mark = 4;
    double linger_s = 2;
  };
  static constexpr auto params = describe(
      param<&Params::endpoint>(
          "endpoint", "Where subscribers connect: tcp://127.0.0.1:PORT, ipc://PATH, or with keys tcp://*:PORT"),
      param<&Params::keys>("keys", key_words),
      param<&Params::every>("every", "Publish only the final image, or also that of each iteration or update"),
      param<&Params::high_water_mark>("high_water_mark", range(1, 1 << 16),
                                      "Images that wait in ZeroMQ for a slow subscriber; it misses the others"),
      param<&Params::linger_s>("linger_s", range(0, 3600), unit("s"),
                               "How long to wait, at the end, for subscribers to take the remaining images"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static constexpr auto stream_end = sends_images;
  // The message of the last image, and one in the making.
  static MemoryNeed memory(std::span<const std::size_t> inputs) {
    return {.host_bytes = 2 * inputs[0],
            .copy_bytes = inputs[0],
            .lower = "image.size",
            .note = "and what waits in ZeroMQ: high_water_mark images for each subscriber"};
  }

  ZmqImageSink(const Params& p, Context& context) : p_(p) {
    publisher_ = std::make_unique<Publisher>(
        SocketGuard::Settings{.end = SocketEnd::binds,
                              .endpoint = p.endpoint,
                              .keys = p.keys,
                              .warn = [log = context.log()](std::string_view text) { log.warning(text); }},
        p.high_water_mark, p.linger_s);
  }

  void process(std::shared_ptr<const Estimate> estimate, Context& context) {
    require_voxels(*estimate);
    last_ = std::move(estimate);
    events_.take_in(context.message());
    if (is_due(*last_, p_.every)) publish(false, context);
  }

  void flush(Context& context) {
    if (last_ && last_->step.iteration > 0) publish(true, context);
    context.report("late_joiners", publisher_->late_joiners());
  }

 private:
  void publish(bool is_final, Context& context) {
    publisher_->publish(estimate_image(*last_, events_.events(), run_, is_final));
    context.report("images", ++images_);
  }

  const Params p_;
  const std::uint64_t run_ = random_identity();
  std::unique_ptr<Publisher> publisher_;
  std::shared_ptr<const Estimate> last_;
  EventSpan events_;
  std::int64_t images_ = 0;
};

TOFSTREAM_GADGET(ZmqImageSink, "zmq_image_sink", "Publishes each estimate over ZeroMQ to whoever subscribes");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
