#include "tools/watch/nvtx_ranges.hpp"

#ifdef TOFSTREAM_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace tofstream {

#ifdef TOFSTREAM_NVTX
namespace {

class NvtxRanges final : public Observer {
 public:
  void run_begins(const Pipeline& pipeline) override { pipeline_ = &pipeline; }
  void call_begins(std::size_t gadget, CallKind, const MessageInfo&) override {
    nvtxRangePushA(pipeline_->gadgets[gadget].name.c_str());
  }
  void call_ends(std::size_t, CallKind, const MessageInfo&, Clock::time_point, Clock::time_point) override {
    nvtxRangePop();
  }

 private:
  const Pipeline* pipeline_ = nullptr;
};

}  // namespace

std::unique_ptr<Observer> make_nvtx_ranges() {
  return std::make_unique<NvtxRanges>();
}
#else
std::unique_ptr<Observer> make_nvtx_ranges() {
  return nullptr;
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
