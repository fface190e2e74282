// `tofstream control RUN`: asks a running reconstruction for its status, sets its live parameters, stops or aborts it.
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "core/value/document.hpp"
#include "tools/command/commands.hpp"
#include "tools/watch/control_client.hpp"
#include "tools/watch/top_view.hpp"

namespace tofstream::command {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t any_width = 10'000;

struct ControlOptions {
  std::string run, action = "status";
  std::vector<std::string> settings;
  bool json = false;
};

// "page.frames_per_s=5", or of a gadget within another "quick/subsets.seconds=2".
ControlRequest setting_of(const std::string& text) {
  const auto equals = text.find('=');
  const auto dot = text.find('.');
  if (equals == std::string::npos || dot == std::string::npos || dot > equals || dot == 0 || dot + 1 == equals)
    throw InputError(fmt::format("'{}' is no setting: give gadget.parameter=value", text));
  Problems problems;
  const Value value = parse_document(text.substr(equals + 1), "value", problems);
  if (!problems.empty()) throw InputError(problems.all().front().text());
  return {ControlAction::set, text.substr(0, dot), text.substr(dot + 1, equals - dot - 1), value};
}

std::vector<ControlRequest> requests_of(const ControlOptions& options) {
  std::vector<ControlRequest> requests;
  if (options.action == "set") {
    for (const std::string& setting : options.settings) requests.push_back(setting_of(setting));
    if (requests.empty()) throw InputError("set: give at least one gadget.parameter=value");
    return requests;
  }
  if (!options.settings.empty()) throw InputError(fmt::format("{} takes no settings", options.action));
  if (options.action == "parameters") return {{.action = ControlAction::parameters}};
  if (options.action == "stop") return {{.action = ControlAction::stop}};
  if (options.action == "abort") return {{.action = ControlAction::abort}};
  return {{.action = ControlAction::status}};
}

std::string limits_of(const Json& parameter) {
  std::string text;
  if (parameter.contains("lowest"))
    text += fmt::format(" {} {}", parameter.contains("above_lowest") ? "above" : "from", parameter["lowest"].dump());
  if (parameter.contains("highest")) text += fmt::format(" to {}", parameter["highest"].dump());
  if (parameter.contains("choices")) text += fmt::format(" one of {}", parameter["choices"].dump());
  return text;
}

void print(const Json& answer, bool json) {
  if (json) {
    fmt::print("{}\n", answer.dump(2));
  } else if (answer.contains("status")) {
    fmt::print("{}", printable_lines(top_view(answer["status"], nullptr, any_width)));
  } else if (answer.contains("parameters")) {
    for (const Json& p : answer["parameters"])
      print_printable(stdout, "{}.{} = {} {}{}\n    {}\n", p["gadget"].get<std::string>(),
                      p["parameter"].get<std::string>(), p["value"].dump(), p["unit"].get<std::string>(), limits_of(p),
                      p["doc"].get<std::string>());
  }
}

void control(const ControlOptions& options) {
  const std::vector<ControlRequest> requests = requests_of(options);
  ControlClient client = from_input([&] { return ControlClient(options.run); });
  bool refused = false;
  for (const ControlRequest& request : requests) {
    const Json answer = from_input([&] { return client.ask(request); });
    print(answer, options.json);
    if (answer.value("ok", false)) continue;
    refused = true;
    for (const Json& error : answer.value("errors", Json::array()))
      print_printable(stderr, "tofstream: {}\n", error.get<std::string>());
  }
  if (refused) throw ExitWith{2};
}

}  // namespace

void add_control(Command& app) {
  auto& command = app.add_command("control", "Ask or steer a running reconstruction");
  auto options = std::make_shared<ControlOptions>();
  command.add_option("run", options->run, "The --out folder of the run, or its control socket").required();
  command.add_option("action", options->action, "status, parameters (that may be set), set, stop or abort")
      .one_of({"status", "parameters", "set", "stop", "abort"})
      .shows_default();
  command.add_option("settings", options->settings, "For set: gadget.parameter=value, any number");
  command.add_flag("--json", options->json, "Print the run's answer as JSON");
  command.footer(
      "Example: tofstream control results set page.frames_per_s=5\n"
      "stop reconstructs and writes what has arrived, as the first interrupt does; abort drops everything.");
  command.on_run([options] { control(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
