// Shows the estimate and the run in a browser while it grows (share/doc/page.md).
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/monitor/live_page.hpp"
#include "gadgets/write/estimate_writer.hpp"

namespace tofstream {
namespace {

struct WebMonitor {
  struct Params {
    std::string address = "127.0.0.1:8080";
    bool is_public = false;
    std::vector<std::string> hosts;
    bool steering = true;
    double frames_per_s = 10;
    std::size_t most_voxels = 4'000'000;
    std::size_t past = 40;
    std::size_t connections = 64;
  };
  static constexpr auto params = describe(
      param<&Params::address>("address",
                              "Where the page is served: an address of this machine and a port; port 0: any"),
      param<&Params::is_public>(
          "public", "Allow an address that others can reach: anybody there may watch and steer, unencrypted"),
      param<&Params::hosts>("hosts", "Names of this machine that browsers may use, besides addresses and localhost"),
      param<&Params::steering>("steering", "Let the page stop the run and set live parameters; false: it only shows"),
      param<&Params::frames_per_s>("frames_per_s", range(0.1, 60), live, "Most images that are sent in a second"),
      param<&Params::most_voxels>("most_voxels", range(1000, 1e9),
                                  "An image of more voxels is sent with its voxels averaged"),
      param<&Params::past>("past", range(2, 1000), "Past estimates to keep for the time slider"),
      param<&Params::connections>("connections", range(1, 10000), "Most connections at a time"));
  // The past, two messages on their way, and those that are being made of the estimate.
  static MemoryNeed memory(const Params& p, std::span<const std::size_t> inputs) {
    const std::size_t message = std::min(p.most_voxels * sizeof(std::uint16_t), inputs[0] / 2);
    const std::size_t past = memory_product(p.past, LivePage::most_past_voxels * sizeof(std::uint16_t));
    return {.host_bytes = memory_sum(past, 2 * message),
            .call_bytes = memory_sum(message, inputs[0]),
            .copy_bytes = inputs[0],
            .lower = "past",
            .note = "besides, the last two estimates where they lie, and one image on its way to each browser"};
  }

  WebMonitor(const Params& p, Context& context)
      : page_({.web = {.address = web_address(p.address, p.is_public),
                       .host_names = p.hosts,
                       .connections = p.connections},
               .may_steer = p.steering,
               .most_voxels = p.most_voxels,
               .past = p.past},
              run_of(context), context.log()) {
    page_.set_frames_per_second(p.frames_per_s);
    context.report("url", page_.url());
    context.log().info(fmt::format("the run can be watched at {}", page_.url()));
  }

  void update(const Params& p) { page_.set_frames_per_second(p.frames_per_s); }

  void process(std::shared_ptr<const Estimate> estimate, Context& context) {
    require_voxels(*estimate);
    if (estimate->step.iteration > 0) page_.take(std::move(estimate), context.message());
  }

  void flush(Context& context) {
    page_.finish();
    context.report("images", static_cast<std::int64_t>(page_.images()));
    const LatencyFigures shown = page_.shown();
    if (shown.messages == 0) return;
    context.report("images_shown", static_cast<std::int64_t>(shown.messages));
    context.report("shown_p50_s", shown.p50_seconds);
    context.report("shown_p99_s", shown.p99_seconds);
  }

 private:
  static RunControl& run_of(const Context& context) {
    if (!context.control()) throw std::invalid_argument("web_monitor shows a run, and there is none");
    return *context.control();
  }

  LivePage page_;
};

TOFSTREAM_GADGET(WebMonitor, "web_monitor",
                 "Shows the estimate and the run in a browser, live, and steers it from there");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
