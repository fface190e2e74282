#include "tools/watch/chrome_trace.hpp"

#include <sstream>
#include <utility>

#include <fmt/format.h>

namespace tofstream {
namespace {

constexpr int process = 1;
constexpr std::size_t piece_bytes = 1 << 20;

const char* name_of(Observer::CallKind kind) {
  switch (kind) {
    case Observer::CallKind::start:
      return "start";
    case Observer::CallKind::process:
      return "process";
    case Observer::CallKind::idle:
      return "idle";
    case Observer::CallKind::flush:
      return "flush";
    case Observer::CallKind::run:
      return "run";
  }
  return "";
}

double microseconds(Observer::Clock::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

}  // namespace

ChromeTrace::ChromeTrace(const std::filesystem::path& path) : file_(path), began_(Clock::now()) {}

void ChromeTrace::run_begins(const Pipeline& pipeline) {
  pipeline_ = &pipeline;
  const std::lock_guard lock(mutex_);
  write({{"name", "process_name"},
         {"ph", "M"},
         {"pid", process},
         {"args", {{"name", fmt::format("tofstream {}", pipeline.name)}}}});
}

void ChromeTrace::run_ends() {
  const std::lock_guard lock(mutex_);
  text_ += "\n]\n";
  flush();
  file_.commit();
}

void ChromeTrace::call_ends(std::size_t gadget, CallKind kind, const MessageInfo& info, Clock::time_point began,
                            Clock::time_point ended) {
  Json arguments = Json::object();
  if (kind == CallKind::process)
    arguments = {{"message", info.sequence}, {"origin", info.origin}, {"events", info.end_event - info.first_event}};
  const std::lock_guard lock(mutex_);
  add_slice(pipeline_->gadgets[gadget].name, name_of(kind), track_of_this_thread(gadget), began, ended,
            std::move(arguments));
}

void ChromeTrace::waited(std::size_t gadget, WaitKind kind, Clock::time_point began, Clock::time_point ended) {
  const std::lock_guard lock(mutex_);
  add_slice(kind == WaitKind::for_input ? "waits for input" : "waits for room", "wait", track_of_this_thread(gadget),
            began, ended, Json::object());
}

void ChromeTrace::span(std::size_t gadget, std::string_view where, std::string_view name, Clock::time_point began,
                       Clock::time_point ended) {
  const std::string label = fmt::format("{}: {}", where, pipeline_->gadgets[gadget].name);
  const std::lock_guard lock(mutex_);
  add_slice(std::string(name), "span", track(fmt::format("span {}", label), label), began, ended, Json::object());
}

// A gadget with its own thread names it; the workers of the flow graph are numbered.
int ChromeTrace::track_of_this_thread(std::size_t gadget) {
  std::ostringstream id;
  id << std::this_thread::get_id();
  const PipelineGadget& g = pipeline_->gadgets[gadget];
  return track(fmt::format("thread {}", id.str()), g.info->own_thread ? g.name : "worker");
}

int ChromeTrace::track(const std::string& key, const std::string& name) {
  const auto [place, is_new] = tracks_.try_emplace(key, static_cast<int>(tracks_.size()) + 1);
  if (is_new)
    write({{"name", "thread_name"},
           {"ph", "M"},
           {"pid", process},
           {"tid", place->second},
           {"args", {{"name", fmt::format("{} {}", name, place->second)}}}});
  return place->second;
}

void ChromeTrace::add_slice(const std::string& name, const char* category, int track, Clock::time_point began,
                            Clock::time_point ended, Json arguments) {
  write({{"name", name},
         {"cat", category},
         {"ph", "X"},
         {"pid", process},
         {"tid", track},
         {"ts", microseconds(began - began_)},
         {"dur", microseconds(ended - began)},
         {"args", std::move(arguments)}});
}

void ChromeTrace::write(const Json& event) {
  text_ += std::exchange(has_events_, true) ? ",\n" : "[\n";
  text_ += event.dump();
  if (text_.size() > piece_bytes) flush();
}

void ChromeTrace::flush() {
  file_.write(text_);
  text_.clear();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
