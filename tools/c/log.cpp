// What the program would write to a terminal goes to a callback of the host process, or nowhere.
#include "core/base/log.hpp"

#include <memory>
#include <mutex>
#include <string>

#include <spdlog/sinks/base_sink.h>

#include "tools/c/guard.hpp"

namespace tofstream::c_api {
namespace {

class CallbackSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void set(tof_log_call call, void* user) {
    const std::lock_guard lock(mutex_);
    call_ = call;
    user_ = user;
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (!call_) return;
    const std::string line = one_line({message.payload.data(), message.payload.size()});
    if (!returns([&] { call_(user_, static_cast<std::int32_t>(message.level), line.c_str()); })) call_ = nullptr;
  }
  void flush_() override {}

  tof_log_call call_ = nullptr;
  void* user_ = nullptr;
};

// In place of the terminal, from when the library is loaded.
const std::shared_ptr<CallbackSink> callback_sink = [] {
  auto sink = std::make_shared<CallbackSink>();
  program_log().sinks() = {sink};
  return sink;
}();

}  // namespace
}  // namespace tofstream::c_api

using namespace tofstream;
using namespace tofstream::c_api;

extern "C" tof_status tof_log(tof_log_call call, void* user, const char* level) {
  return guarded([&] {
    require_given(level, "level");
    set_log_level(level);
    callback_sink->set(call, user);
  });
}
// SPDX-License-Identifier: Apache-2.0
