// `tofstream dispatch`: a server that hands runs to servers.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/command/commands.hpp"
#include "tools/command/key_options.hpp"
#include "tools/command/metrics_options.hpp"
#include "tools/command/until_stopped.hpp"
#include "tools/serve/dispatcher.hpp"

namespace tofstream::command {

namespace {

struct DispatchOptions {
  serve::DispatcherOptions dispatcher;
  MetricsSettings metrics;
  std::vector<std::string> servers;
  std::vector<std::filesystem::path> server_keys;
  double patience_s = 10, wait_s = 10;
};

// One key for all servers, or one for each in their order.
std::vector<serve::ServerAddress> addresses_of(const DispatchOptions& options) {
  const std::size_t keys = options.server_keys.size(), servers = options.servers.size();
  if (keys > 1 && keys != servers)
    throw InputError(fmt::format(
        "--server-key is given {} times for {} servers: give one that all have, or one for each", keys, servers));
  std::vector<serve::ServerAddress> addresses;
  for (std::size_t k = 0; k < servers; ++k) {
    addresses.push_back({.endpoint = options.servers[k]});
    if (keys > 0) addresses.back().key = options.server_keys[keys == 1 ? 0 : k];
  }
  return addresses;
}

void dispatch(DispatchOptions options) {
  options.dispatcher.servers = addresses_of(options);
  options.dispatcher.patience = milliseconds_of(options.patience_s);
  options.dispatcher.start_patience = milliseconds_of(options.wait_s);
  UntilStopped<serve::Dispatcher> stopped;
  options.dispatcher.while_waiting = [&] { stopped.throw_if_asked(); };
  serve::Dispatcher dispatcher = from_input([&] { return serve::Dispatcher(std::move(options.dispatcher)); });
  stopped.run(dispatcher,
              {.metrics = [&] { return dispatcher.metrics(); },
               .is_ready = [&] { return dispatcher.is_ready(); },
               .is_live = [&] { return dispatcher.is_live(); }},
              options.metrics, [&] { dispatcher.run(); });
}

}  // namespace

void add_dispatch(Command& app) {
  auto& command = app.add_command("dispatch", "Hand clients' runs to servers: tofstream serve");
  auto options = std::make_shared<DispatchOptions>();
  serve::DispatcherOptions& dispatcher = options->dispatcher;
  command.add_option("endpoint", dispatcher.endpoint, "Where clients connect: tcp://HOST:PORT or ipc://PATH")
      .shows_default();
  command.add_option("--servers", options->servers, "Where the servers are: tcp://HOST:PORT,...")
      .separated_by(',')
      .one_a_time()
      .takes_no_files()
      .required();
  command
      .add_option("--patience", options->patience_s,
                  "Seconds of silence after which a client, or a server, counts as gone")
      .within(0.1, 86400.0)
      .shows_default();
  command.add_option("--wait", options->wait_s, "Seconds in which at least one server must answer at the start")
      .within(0.1, 86400.0)
      .shows_default();
  add_key_options(command, dispatcher.keys, true, false);
  command
      .add_option("--server-key", options->server_keys,
                  "The public key of the servers, NAME.public.yaml; or one for each, in their order")
      .separated_by(',')
      .one_a_time();
  add_metrics_options(command, options->metrics);
  command.footer("Example: tofstream dispatch --servers tcp://127.0.0.1:5558,tcp://127.0.0.1:5559");
  command.on_run([options] { dispatch(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
