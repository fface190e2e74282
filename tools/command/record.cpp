// `tofstream record`: a live stream into a journal, by the pipeline `record`.
#include <filesystem>
#include <fstream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/command/commands.hpp"
#include "tools/command/key_options.hpp"
#include "tools/command/option_sets.hpp"
#include "tools/command/running.hpp"

namespace tofstream::command {

namespace {

struct RecordOptions {
  std::string journal, endpoint = "tcp://127.0.0.1:5555";
  bool resume = false;
  int sync_ms = 1000;
  KeyParams keys;
  RunSettings settings;
};

// The pipeline of the run that a folder holds; empty: none, or nobody can tell.
std::string run_in(const std::filesystem::path& folder) {
  std::ifstream file(folder / "run.json");
  const auto run = nlohmann::json::parse(file, nullptr, false);
  return run.is_object() ? run.value("pipeline", "") : "";
}

void record(RecordOptions options) {
  if (options.journal.find("://") != std::string::npos)
    throw InputError(fmt::format("'{0}' is an endpoint, and a folder is wanted: tofstream record FOLDER --endpoint {0}",
                                 options.journal));
  OptionSets sets;
  const std::string journal = std::filesystem::absolute(options.journal).string();
  sets.add("--endpoint", "feed.endpoint", options.endpoint);
  sets.add("", "feed.journal", journal);
  sets.add("", "feed.resume", fmt::format("{}", options.resume));
  sets.add("--sync-ms", "feed.sync_ms", fmt::format("{}", options.sync_ms));
  if (!options.keys.own.empty()) sets.add("--key", "feed.keys.own", options.keys.own.string());
  if (!options.keys.allowed.empty()) sets.add("--allowed-keys", "feed.keys.allowed", options.keys.allowed.string());
  options.settings.output_dir = journal;
  if (const std::string run = run_in(journal); !run.empty() && run != "record")
    throw InputError(fmt::format("{} holds a run of '{}': name another folder for the journal", options.journal, run));
  options.settings.earlier_run = EarlierRun::resume;  // the journal says itself whether it may be continued
  run_pipeline(sets.load("record"), options.settings);
}

}  // namespace

void add_record(Command& app) {
  auto& command = app.add_command("record", "Record a live stream in a journal");
  auto options = std::make_shared<RecordOptions>();
  command.add_option("journal", options->journal, "Folder of the journal, made if missing").required();
  command.add_option("--endpoint", options->endpoint, "Where the sender connects").shows_default();
  add_key_options(command, options->keys, true, false);
  command.add_flag("--resume", options->resume, "Continue a journal that already holds frames");
  command
      .add_option("--sync-ms", options->sync_ms,
                  "How often to write to the disk; 0: after each frame; -1: when the system decides")
      .shows_default();
  command.add_flag("--json", options->settings.json, "Print JSON");
  command.add_flag("--quiet", options->settings.quiet, "No progress");
  command.footer(
      "Example: tofstream record monday.journal --endpoint tcp://127.0.0.1:5555\n"
      "Ends with the stream, or at the first interrupt. Then: tofstream inspect monday.journal\n"
      "From another machine, with keys (tofstream docs network): --endpoint tcp://*:5555 --key me.secret.yaml "
      "--allowed-keys senders");
  command.on_run([options] { record(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
