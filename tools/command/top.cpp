// `tofstream top RUN`: a run as it goes, in the terminal: rates, queues, latency, books, progress.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/printable.hpp"
#include "tools/command/commands.hpp"
#include "tools/watch/control_client.hpp"
#include "tools/watch/report_html.hpp"
#include "tools/watch/top_view.hpp"

namespace tofstream::command {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t any_width = 10'000;

struct TopOptions {
  std::string run;
  double interval_s = 1;
  bool once = false, json = false;
};

Json status_of(ControlClient& client) {
  return client.ask({.action = ControlAction::status}).at("status");
}

std::size_t terminal_columns() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void show(const std::string& page, bool terminal) {
  // From the first line over what was there, each line and at last the page cleared to its end: nothing flickers.
  if (!terminal) {
    fmt::print("{}\n", page);
  } else {
    std::string lines = "\033[H";
    for (const char c : page) lines += c == '\n' ? std::string("\033[K\n") : std::string(1, c);
    fmt::print("{}\033[J", lines);
  }
  std::fflush(stdout);
}

// What is said of a run that has ended, from its folder: ": done", a line each for image and report. Only "\n" where there is no
// such folder.
std::string what_is_left(const std::filesystem::path& run) try {
  const auto folder = std::filesystem::is_directory(run) ? run : run.parent_path();
  std::ifstream file(folder / "run.json");
  const Json json = Json::parse(file);
  if (json.at("exit_code").is_null()) return ": it was killed\n";
  std::string text = fmt::format(": {}\n", json.at("outcome").get<std::string>());
  for (const auto& [name, gadget] : json.at("gadgets").items())
    if (const Json& figures = gadget.at("figures"); figures.contains("file"))
      text +=
          fmt::format("{}: {}\n", figures.contains("voxel_mm") ? "image" : "file", figures["file"].get<std::string>());
  if (std::filesystem::exists(folder / report_html_name))
    text += fmt::format("report: {}\n", (folder / report_html_name).string());
  return text;
} catch (const std::exception&) {
  return "\n";
}

void top(const TopOptions& options) {
  ControlClient client = from_input([&] { return ControlClient(options.run); });
  const bool terminal = ::isatty(STDOUT_FILENO) != 0 && !options.once && !options.json;
  const auto page = [&](const Json& now, const Json& before) {
    if (options.json) return now.dump(options.once ? 2 : -1);
    return printable_lines(top_view(now, before, terminal ? terminal_columns() : any_width));
  };
  Json before = from_input([&] { return status_of(client); });
  if (terminal) fmt::print("\033[2J");
  if (!options.once && !options.json) show(page(before, nullptr), terminal);
  try {
    do {
      std::this_thread::sleep_for(std::chrono::duration<double>(options.interval_s));
      Json now = status_of(client);
      show(page(now, before), terminal);
      before = std::move(now);
    } while (!options.once);
  } catch (const NoRun& gone) {
    if (options.once) throw InputError(gone.what());
    fmt::print(stderr, "{}", printable_lines(gone.what() + what_is_left(options.run)));
  }
}

}  // namespace

void add_top(Command& app) {
  auto& command = app.add_command("top", "Watch a running reconstruction: rates, queues, latency, books");
  auto options = std::make_shared<TopOptions>();
  command.add_option("run", options->run, "The --out folder of the run, or its control socket").required();
  command
      .add_option("--interval", options->interval_s,
                  "Seconds between two updates of the page, over which rates are taken")
      .within(0.05, 3600.0)
      .shows_default();
  command.add_flag("--once", options->once, "Print one page and end");
  command.add_flag("--json", options->json, "Print each status as JSON, a line each");
  command.footer("Example: tofstream top results\nEnds with the run, or by an interrupt.");
  command.on_run([options] { top(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
