// `tofstream replay`: a journal's frames to an endpoint, or into a pipeline, at the pace at which they came in.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/private_folder.hpp"
#include "core/pipeline/pipeline.hpp"
#include "gadgets/stream_ends.hpp"
#include "gadgets/wire/frame_sender.hpp"
#include "gadgets/wire/journal_replay.hpp"
#include "gadgets/wire/replay_clock.hpp"
#include "tools/command/commands.hpp"
#include "tools/command/key_options.hpp"
#include "tools/command/running.hpp"
#include "tools/command/signal_watch.hpp"
#include "tools/command/suggestions.hpp"

namespace tofstream::command {

namespace {

using Clock = std::chrono::steady_clock;

struct ReplayOptions {
  std::string journal, pipeline, pattern = "push";
  FrameSender::Settings to{.endpoint = "tcp://127.0.0.1:5555"};
  double speed = 1, from_s = 0;
  std::uint64_t from_event = 0;
  PipelineOptions pipeline_options;
  RunSettings settings;
};

struct Sent {
  std::uint64_t frames = 0, bytes = 0;
  std::optional<std::uint64_t> monitors = {};  // that joined, where they may
  bool is_interrupted = false;
  std::uint64_t frames_left = 0;     // not sent, since it was interrupted
  bool are_all_left_counted = true;  // else there are more of them
};

Sent send(JournalReplay& frames, const ReplayOptions& options, FrameSender& sender, const std::stop_token& stop) {
  ReplayClock clock(options.speed);
  Sent sent;
  while (const auto frame = frames.next()) {
    if (!frames.is_ahead()) clock.wait_for(frame->ingress_ns, stop);
    if (stop.stop_requested() || !sender.send({frame->data.begin(), frame->data.end()})) {
      sent.frames_left = 1;
      break;
    }
    ++sent.frames;
    sent.bytes += frame->data.size();
  }
  return sent;
}

// A long journal is not read to its end for that.
void count_left(JournalReplay& frames, Sent& sent) {
  for (const auto end = Clock::now() + std::chrono::seconds(1); Clock::now() < end; ++sent.frames_left)
    if (!frames.next()) return;
  sent.are_all_left_counted = false;
}

std::string words_of(const Sent& sent, double seconds) {
  std::string words = fmt::format("{} frames, {} bytes in {:.3g} s", sent.frames, sent.bytes, seconds);
  if (sent.monitors) words += fmt::format("; {} monitors joined", *sent.monitors);
  if (!sent.is_interrupted) return words;
  return fmt::format("interrupted: sent {}; not sent: {}{} frames{}", words,
                     sent.are_all_left_counted ? "" : "more than ", sent.frames_left,
                     sent.frames > 0 ? "; the last of those sent may not have arrived" : "");
}

nlohmann::ordered_json json_of(const Sent& sent, double seconds, const journal::Reader::Counts& counts) {
  nlohmann::ordered_json said{{"frames", sent.frames}, {"bytes", sent.bytes}, {"seconds", seconds}};
  if (sent.monitors) said["monitors"] = *sent.monitors;
  if (sent.is_interrupted) said["frames_not_sent"] = sent.frames_left;
  said["missing_entries"] = counts.missing_entries;
  said["damaged_bytes"] = counts.damaged_bytes;
  return said;
}

void replay_to_endpoint(JournalReplay& frames, ReplayOptions options) {
  const auto began = Clock::now();
  options.to.pattern = options.pattern == "pub" ? SendPattern::pub : SendPattern::push;
  options.to.warn = [](std::string_view text) { fmt::print(stderr, "warning: {}\n", text); };
  options.to.say_waiting = [](std::string_view) {};  // a warning says it once, and nobody asks for more
  std::stop_source interrupt;
  const SignalWatch signals([&] { interrupt.request_stop(); }, [] { std::_Exit(exit_abort); });
  auto sender = from_input([&] { return std::make_unique<FrameSender>(options.to, interrupt.get_token()); });
  Sent sent = send(frames, options, *sender, interrupt.get_token());
  if (options.to.pattern == SendPattern::pub) sent.monitors = sender->subscriptions();
  sender.reset();  // what it has taken is sent, or the interrupt has come
  sent.is_interrupted = interrupt.stop_requested();
  if (sent.frames_left > 0) count_left(frames, sent);
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  const auto& counts = frames.counts();
  if (options.settings.json)
    fmt::print("{}\n", json_of(sent, seconds, counts).dump(2));
  else
    fmt::print("{}\n", words_of(sent, seconds));
  if (counts.damaged_places > 0 && !options.settings.quiet)
    fmt::print(stderr, "warning: the journal is damaged in {} places: {} of its entries are lost\n",
               counts.damaged_places, counts.missing_entries);
}

// The name of the pipeline's one source of a live stream.
std::string live_source(const Pipeline& pipeline) {
  std::string name;
  for (const PipelineGadget& gadget : pipeline.gadgets) {
    if (gadget.info->stream_end != takes_live_stream) continue;
    if (!name.empty()) throw InputError("the pipeline has several live sources: replay to an endpoint instead");
    name = gadget.name;
  }
  if (name.empty())
    throw InputError(
        fmt::format("the pipeline has no {} to replay to; a pipeline that begins with journal_source is run: tofstream "
                    "run PIPELINE --input JOURNAL",
                    gadgets_at(takes_live_stream)));
  return name;
}

// Blocks them in this thread and those that it makes: run_pipeline waits for them.
void block_interrupts() {
  sigset_t signals{};
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

void replay_to_pipeline(JournalReplay& frames, ReplayOptions options) {
  const PrivateTemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder.path() / "socket").string();
  const std::string source = live_source(load(options.pipeline, options.pipeline_options));
  for (const char* set : {"endpoint={}", "pattern=pull", "keys={{own: '', allowed: ''}}"})  // here nobody else comes
    options.pipeline_options.sets.push_back(source + "." + fmt::format(fmt::runtime(set), endpoint));
  Pipeline pipeline = load(options.pipeline, options.pipeline_options);
  block_interrupts();
  const std::jthread sender([&](const std::stop_token& stop) {
    FrameSender to({.endpoint = endpoint}, stop);
    send(frames, options, to, stop);
  });
  run_pipeline(std::move(pipeline), options.settings);
}

void replay(const ReplayOptions& options) {
  auto frames = from_input([&] {
    return std::make_unique<JournalReplay>(options.journal, journal::ReplayFrom{options.from_event, options.from_s});
  });
  if (!options.pipeline.empty() && (options.to.keys.any() || options.pattern != "push"))
    throw InputError("keys and a pattern are for --endpoint: a pipeline that is run here needs none");
  if (options.pipeline.empty())
    replay_to_endpoint(*frames, options);
  else
    replay_to_pipeline(*frames, options);
}

}  // namespace

void add_replay(Command& app) {
  auto& command = app.add_command("replay", "Send a recorded stream again, live, or into a pipeline");
  auto options = std::make_shared<ReplayOptions>();
  command.add_option("journal", options->journal, "Folder of the journal").required();
  command.add_option("--endpoint", options->to.endpoint, "Where the receiver is; of pub: where monitors connect")
      .shows_default();
  command
      .add_option("--pattern", options->pattern,
                  "push: sends to one receiver, and waits for it; pub: sends to monitors, and waits for none")
      .one_of({"push", "pub"})
      .shows_default();
  add_key_options(command, options->to.keys, true, true);
  command.add_option("--pipeline", options->pipeline, "Run this live pipeline on it, instead of sending it elsewhere")
      .suggests(suggest_shared("pipelines"));
  command.add_option("--set", options->pipeline_options.sets, "Override a parameter of the pipeline, as for run")
      .one_a_time()
      .suggests(suggest_settings)
      .takes_no_files();
  command.add_option("--backend", options->pipeline_options.backend, "Backend of the pipeline: cpu, cuda or auto")
      .suggests({"auto", "cpu", "cuda"});
  add_ranks_option(command, options->pipeline_options);
  add_output_options(command, options->settings);
  command
      .add_option("--speed", options->speed,
                  "Pace, as a multiple of that at which the frames came in; 0: as fast as the receiver takes them")
      .within(0.0, 1e6)
      .shows_default();
  command.add_option("--from-event", options->from_event, "Begin with the frame that holds this event, from 0");
  command.add_option("--from-s", options->from_s, "Begin with the frame that holds this scan time").not_negative();
  command.add_flag("--json", options->settings.json, "Print JSON");
  command.add_flag("--quiet", options->settings.quiet, "No progress");
  command.footer(
      "Example: tofstream replay monday.journal --speed 10 --pipeline live_osem --out again\n"
      "An interrupt ends it. To an endpoint, the last line then says what was not sent.");
  command.on_run([options] { replay(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
