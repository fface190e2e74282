// One client of the server: see session.hpp.
#include "tools/serve/session.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/base/log.hpp"
#include "gadgets/step/updates_figure.hpp"

namespace tofstream::serve {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::milliseconds pause_between_looks{500};

std::int64_t updates_of(const RunReport& report) {
  std::int64_t most = 0;
  for (const GadgetReport& gadget : report.gadgets)
    if (const auto found = gadget.figures.find(updates_figure); found != gadget.figures.end())
      if (const auto* updates = std::get_if<std::int64_t>(&found->second)) most = std::max(most, *updates);
  return most;
}

// Why a run may not go on; empty where it may.
std::string excess_of(const RunReport& report, const RunLimits& limits) {
  if (limits.seconds > 0 && report.seconds > limits.seconds)
    return fmt::format("the run takes longer than the {:g} s that this server allows (--max-seconds), and is dropped",
                       limits.seconds);
  if (limits.updates > 0 && static_cast<double>(updates_of(report)) > limits.updates)
    return fmt::format(
        "the run makes more than the {:g} updates that this server allows (--max-updates), and is dropped: lower "
        "iterations, or make subsets larger",
        limits.updates);
  return {};
}

Json progress_of(const RunReport& report) {
  Json gadgets = Json::object();
  for (const GadgetReport& gadget : report.gadgets)
    if (const Progress& progress = gadget.progress; progress.done > 0)
      gadgets[gadget.name] = {{"done", progress.done}, {"total", progress.total}, {"unit", progress.unit}};
  return {{"state", outcome(report)},
          {"seconds", report.seconds},
          {"received", report.books.received},
          {"gadgets", std::move(gadgets)}};
}

}  // namespace

void Session::start(EngineOptions options, std::function<void()> wake) {
  program_log().info("{}: {} begins{}", name_, pipeline_name_,
                     gpus_.empty() ? "" : fmt::format(", on GPU {}", fmt::join(gpus_, ", ")));
  run_ = std::make_unique<ServedRun>(std::move(*pipeline_), std::move(options), std::move(wake));
  pipeline_.reset();
}

void Session::request_stop() {
  if (is_running()) run_->request_stop();
}

void Session::abort() {
  link_->close();
  if (is_running())
    run_->abort();
  else
    is_over_ = true;
}

void Session::vanish() {
  if (std::exchange(is_gone_, true)) return;
  if (!is_over_) program_log().info("{}: the client has vanished; its run is dropped", name_);
  outbox_.clear();
  abort();
}

void Session::fail(const std::string& why, bool another_may) {
  if (std::exchange(has_failed_, true)) return;
  program_log().info("{}: {}", name_, why);
  say(make_refusal({why}, another_may));
  abort();
}

bool Session::pump() {
  if (!is_running()) return false;
  // Read first, so that what the run gave before its end is sent before the end.
  const bool has_ended = run_->is_over();
  if (!is_gone_ && !has_failed_) {
    if (const std::uint64_t credit = link_->take_credit(); credit > 0) say(make_credit(credit));
    // Images for a slow client wait in the run, which knows how many it may keep.
    while (has_ended || outbox_.empty()) {
      auto image = link_->next_image();
      if (!image) break;
      say(std::move(*image));
    }
    if (!has_ended && Clock::now() - looked_ >= pause_between_looks) look();
  }
  if (!has_ended) return false;
  const RunReport& report = run_->report();
  if (!is_gone_ && !has_failed_) say(make_json_message(Kind::done, Json::parse(run_json(report))));
  program_log().info("{}: {}", name_, report.errors.empty() ? outcome(report) : report.errors.front().text());
  const bool left_threads = !report.still_running.empty();
  is_over_ = true;
  run_.reset();
  return left_threads;
}

// A slow client is not told more than it takes, but its run has the same limits.
void Session::look() {
  looked_ = Clock::now();
  const RunReport report = run_->snapshot();
  if (const std::string excess = excess_of(report, limits_); !excess.empty()) return fail(excess);
  if (outbox_.empty()) say(make_json_message(Kind::progress, progress_of(report)));
}

// What the first word to a client and a dispatcher says of the run.
Json Session::introduction() const {
  Json json{{"session", name_}, {"memory_bytes", host_bytes_}, {"gpu_memory_bytes", device_bytes_}};
  if (!gpus_.empty()) json["gpus"] = gpus_;
  return json;
}

void Session::tell_place(std::size_t place) {
  if (std::exchange(place_, place) == place) return;
  Json json = introduction();
  json["place"] = place;
  say(make_json_message(Kind::waiting, json));
}

void Session::say_accepted(std::size_t largest_frame) {
  Json json = introduction();
  json["largest_frame"] = largest_frame;
  say(make_json_message(Kind::accepted, json));
}

Json Session::status() const {
  Json status{{"session", name_}, {"pipeline", pipeline_name_}};
  if (!gpus_.empty()) status["gpus"] = gpus_;
  if (is_running())
    status.update(progress_of(run_->snapshot()));
  else
    status["state"] = is_over_ ? "over" : "waiting";
  return status;
}

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
