// `tofstream serve`: a reconstruction server.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>

#include <fmt/format.h>

#include "tools/command/commands.hpp"
#include "tools/command/key_options.hpp"
#include "tools/command/signal_watch.hpp"
#include "tools/serve/server.hpp"

namespace tofstream::command {

namespace {

struct ServeOptions {
  serve::ServerOptions server;
  double memory_gib = 0, gpu_memory_gib = 0, patience_s = 10, drain_s = 30;
  int window_mib = 32;
};

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
}

void serve_clients(ServeOptions options) {
  constexpr double gib = 1 << 30;
  options.server.memory_bytes = static_cast<std::size_t>(gib * options.memory_gib);
  options.server.device_bytes = static_cast<std::size_t>(gib * options.gpu_memory_gib);
  options.server.window_bytes = static_cast<std::size_t>(options.window_mib) << 20;
  options.server.patience = milliseconds(options.patience_s);
  options.server.stop_deadline = milliseconds(options.drain_s);
  std::mutex mutex;
  serve::Server* running = nullptr;
  const auto tell = [&](void (serve::Server::*order)()) {
    const std::lock_guard lock(mutex);
    if (running) (running->*order)();
  };
  const SignalWatch signals(
      [&] {
        fmt::print(stderr, "\nstopping: no new clients; runs write what has arrived; again to abort\n");
        tell(&serve::Server::request_stop);
      },
      [&] { tell(&serve::Server::abort); });
  serve::Server server = from_input([&] { return serve::Server(std::move(options.server)); });
  const auto set_running = [&](serve::Server* now) {
    const std::lock_guard lock(mutex);
    running = now;
  };
  set_running(&server);
  fmt::print(stderr, "serving at {}\n", server.endpoint());
  const bool left_threads = server.run();
  set_running(nullptr);
  if (!left_threads) return;
  std::fflush(nullptr);  // threads are left in gadgets' code
  std::_Exit(0);
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
  command.add_option("--at-once", server.at_once, "Runs at a time; other clients wait in order")
      .within(1, 1000)
      .shows_default();
  command
      .add_option("--memory-gib", options->memory_gib,
                  "Memory that all runs together may need (default: the machine's)")
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
  add_key_options(command, server.keys, true, false);
  command.footer("Example: tofstream serve --pipelines pipelines --out served --at-once 4");
  command.on_run([options] { serve_clients(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
