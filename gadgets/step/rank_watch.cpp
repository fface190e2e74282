// Ranks that fail or hang: see rank_watch.hpp.
#include "gadgets/step/rank_watch.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/run/run_control.hpp"

namespace tofstream {

namespace {

const PipelineGadget* gadget_in_pipeline(Context& context) {
  const RunControl* const control = context.control();
  if (!control) return nullptr;
  const auto& gadgets = control->pipeline().gadgets;
  const auto found = std::ranges::find(gadgets, context.name(), &PipelineGadget::name);
  return found == gadgets.end() ? nullptr : &*found;
}

}  // namespace

void wait_for_rank(std::future<void>& working, const RankProgress& progress,
                   const std::function<std::chrono::steady_clock::duration()>& patience, const std::string& rank,
                   Context& context) {
  constexpr std::chrono::milliseconds look_around{100};
  const auto asked = RankProgress::Clock::now();
  while (working.wait_for(look_around) != std::future_status::ready) {
    const auto still_for = RankProgress::Clock::now() - std::max(asked, progress.at());
    if (still_for <= patience()) continue;
    const std::string what = fmt::format("{}: it hangs: its thread has got no further for {:.0f} s", rank,
                                         std::chrono::duration<double>(still_for).count());
    const PipelineGadget* const gadget = gadget_in_pipeline(context);
    if (gadget)
      context.control()->fail({gadget->name, what, gadget->where, std::nullopt});
    else
      context.log().warning(what);
    return working.wait();
  }
}

FaultSettings fault_of_ranks(Context& context) {
  const PipelineGadget* const gadget = gadget_in_pipeline(context);
  return gadget && gadget->fault.rank.value_or(0) > 0 ? gadget->fault : FaultSettings{};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
