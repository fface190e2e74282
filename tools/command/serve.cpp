// `tofstream serve`: a reconstruction server.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/pipeline/memory_estimate.hpp"
#include "kernels/memory/devices.hpp"
#include "kernels/memory/memory.hpp"
#include "tools/command/commands.hpp"
#include "tools/command/key_options.hpp"
#include "tools/command/metrics_options.hpp"
#include "tools/command/until_stopped.hpp"
#include "tools/serve/dispatcher.hpp"
#include "tools/serve/gpu_servers.hpp"
#include "tools/serve/server.hpp"

namespace tofstream::command {

namespace {

constexpr double gib = 1 << 30;
constexpr double least_patience_s = 10;  // of a GPU's server with the process that hands runs to it

struct ServeOptions {
  serve::ServerOptions server;
  MetricsSettings metrics;
  std::string gpus;
  double memory_gib = 0, gpu_memory_gib = 0, patience_s = 10, drain_s = 30;
  int window_mib = 32;
};

// What each GPU's server is told: all but where clients come from. The host's memory is divided among them.
std::vector<std::string> arguments_for_each(const ServeOptions& options, std::size_t gpus) {
  const serve::ServerOptions& server = options.server;
  const double memory_gib =
      options.memory_gib > 0 ? options.memory_gib : static_cast<double>(host_memory_bytes()) / gib;
  std::vector<std::string> arguments;
  const auto add = [&](const char* option, const auto& value) {
    arguments.emplace_back(option);
    arguments.push_back(fmt::format("{}", value));
  };
  if (!server.permissions.pipelines.empty()) add("--pipelines", server.permissions.pipelines.string());
  add("--out", server.out.string());
  add("--at-once", server.at_once);
  add("--memory-gib", memory_gib / static_cast<double>(gpus));
  if (options.gpu_memory_gib > 0) add("--gpu-memory-gib", options.gpu_memory_gib);
  add("--max-seconds", server.limits.seconds);
  add("--max-updates", server.limits.updates);
  add("--window-mib", options.window_mib);
  add("--patience", std::max(options.patience_s, least_patience_s));
  add("--drain-s", options.drain_s);
  for (const std::filesystem::path& folder : server.permissions.data) add("--data", folder.string());
  for (const std::string& gadget : server.permissions.gadgets) add("--allow", gadget);
  return arguments;
}

std::vector<int> gpus_of(const ServeOptions& options) {
  if (const std::string why = why_no_cuda(); !why.empty())
    throw InputError(fmt::format("--gpus {}: {}; leave --gpus out to reconstruct on the CPU", options.gpus, why));
  return from_input([&] { return serve::read_gpus(options.gpus, cuda_devices()); });
}

void serve_on_gpus(const ServeOptions& options) {
  // The servers' runs are stopped by the dispatcher, and they themselves once it has none: a signal that a service
  // manager sends to all of them must not count twice. Before CUDA is asked, whose driver makes threads.
  UntilStopped<serve::Dispatcher> stopped;
  const std::vector<int> gpus = gpus_of(options);
  from_input([&] { serve::check_folders(options.server); });
  std::unique_ptr<serve::GpuServers> servers;
  from_input([&] {
    servers = std::make_unique<serve::GpuServers>(
        serve::GpuServers::Settings{.program = std::filesystem::read_symlink("/proc/self/exe").string(),
                                    .arguments = arguments_for_each(options, gpus.size()),
                                    .gpus = gpus});
  });
  serve::Dispatcher dispatcher = from_input([&] {
    return serve::Dispatcher({.endpoint = options.server.endpoint,
                              .keys = options.server.keys,
                              .servers = servers->addresses(),
                              .patience = options.server.patience,
                              .start_patience = std::chrono::minutes(2),
                              .largest_frame = options.server.largest_frame,
                              .is_one_host = true,
                              .while_waiting = [&] {
                                stopped.throw_if_asked();
                                servers->throw_if_ended();
                              }});
  });
  servers->all_have_begun();
  stopped.run(dispatcher,
              {.metrics = [&] { return dispatcher.metrics(); },
               .is_ready = [&] { return dispatcher.is_ready(); },
               .is_live = [&] { return dispatcher.is_live(); }},
              options.metrics, [&] { dispatcher.run(); });
  servers->end();
}

void serve_here(const ServeOptions& options) {
  const bool is_of_gpu = !options.server.gpus.empty();  // that a process with --gpus has started
  UntilStopped<serve::Server> stopped(is_of_gpu);
  serve::Server server = from_input([&] { return serve::Server(options.server); });
  const bool left_threads = stopped.run(server,
                                        {.metrics = [&] { return server.metrics(); },
                                         .is_ready = [&] { return server.is_ready(); },
                                         .is_live = [&] { return server.is_live(); }},
                                        options.metrics, [&] { return server.run(); });
  if (!left_threads) return;
  std::fflush(nullptr);  // threads are left in gadgets' code
  std::_Exit(0);
}

void serve_clients(ServeOptions options) {
  serve::ServerOptions& server = options.server;
  server.memory_bytes = static_cast<std::size_t>(gib * options.memory_gib);
  server.device_bytes = static_cast<std::size_t>(gib * options.gpu_memory_gib);
  server.window_bytes = static_cast<std::size_t>(options.window_mib) << 20;
  server.patience = milliseconds_of(options.patience_s);
  server.stop_deadline = milliseconds_of(options.drain_s);
  if (!server.gpus.empty()) {
    constexpr std::string_view socket = "ipc://";  // in a folder of these servers alone
    server.name_prefix = fmt::format("gpu{}-", server.gpus.front());
    if (server.endpoint.starts_with(socket))
      server.ledger = std::filesystem::path(server.endpoint.substr(socket.size())).parent_path();
  }
  options.gpus.empty() ? serve_here(options) : serve_on_gpus(options);
}

}  // namespace

void add_serve(Command& app) {
  auto& command = app.add_command("serve", "Reconstruct for clients that connect: tofstream send");
  auto options = std::make_shared<ServeOptions>();
  serve::ServerOptions& server = options->server;
  command.add_option("endpoint", server.endpoint, "Where clients connect: tcp://HOST:PORT or ipc://PATH")
      .shows_default();
  command.add_option("--pipelines", server.permissions.pipelines, "Folder of the pipelines that clients may name");
  command.add_option("-o,--out", server.out, "Folder of the runs' results, a folder for each").shows_default();
  command.add_option("--at-once", server.at_once, "Runs at a time, with --gpus on each; other clients wait in order")
      .within(1, 1000)
      .shows_default();
  command
      .add_option(
          "--memory-gib", options->memory_gib,
          "Memory that all runs together may need (default: the machine's); with --gpus, each has an equal part")
      .positive();
  command
      .add_option("--gpu-memory-gib", options->gpu_memory_gib,
                  "The same on the GPU (default: what is free when the server begins)")
      .positive();
  command.add_option("--max-seconds", server.limits.seconds, "A run that takes longer is dropped; 0: no limit")
      .within(0.0, 1e9)
      .shows_default();
  command.add_option("--max-updates", server.limits.updates, "A run that makes more updates is dropped; 0: no limit")
      .within(0.0, 1e12)
      .shows_default();
  command.add_option("--window-mib", options->window_mib, "How much a client may send ahead of its run")
      .within(1, 1 << 16)
      .shows_default();
  command.add_option("--patience", options->patience_s, "Seconds of silence after which a client counts as gone")
      .within(0.1, 86400.0)
      .shows_default();
  command.add_option("--drain-s", options->drain_s, "How long after an interrupt runs may still write what has arrived")
      .within(0.0, 86400.0)
      .shows_default();
  command.add_option("--data", server.permissions.data, "A folder whose files clients may name, as a mu map")
      .one_a_time();
  command.add_option("--allow", server.permissions.gadgets, "Gadgets that sent pipelines may use besides harmless ones")
      .separated_by(',')
      .one_a_time();
  command
      .add_option("--gpus", options->gpus,
                  "Place runs on these GPUs, all or 0,2, each with a process of its own; without it, on the first")
      .takes_no_files();
  command.add_option("--as-gpus", server.gpus, "The numbers of the GPUs that this process sees")
      .separated_by(',')
      .hide();
  add_key_options(command, server.keys, true, false);
  add_metrics_options(command, options->metrics);
  command.footer("Example: tofstream serve --pipelines pipelines --out served --at-once 4");
  command.on_run([options] { serve_clients(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
