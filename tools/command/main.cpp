// `tofstream`: the command. Parses the line, runs one subcommand, turns exceptions into one line and an exit code:
// 0 done, 1 failed while running, 2 wrong input, 130 aborted.
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "core/base/version.hpp"
#include "tools/command/commands.hpp"
#include "tools/command/freed_memory.hpp"

namespace {

int fail(int code, const char* message) {
  fmt::print(stderr, "tofstream: {}\n", message);
  return code;
}

int fail_output(const std::error_code& cause) {
  return fail(1, fmt::format("cannot write to standard output: {}", cause.message()).c_str());
}

std::string version_line() {
  return fmt::format("tofstream {} ({}), commit {}", tofstream::version(), tofstream::build_flags(),
                     tofstream::commit());
}

// What was printed may still wait in the buffer: a full disk shows itself when that is written.
int delivered() {
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return 0;
  return fail_output({errno ? errno : EIO, std::generic_category()});
}

}  // namespace

int main(int argc, char** argv) {
  const tofstream::command::FreedMemory freed_memory;
  CLI::App app{"tofstream reconstructs emission tomography from a stream of list-mode events.", "tofstream"};
  app.set_version_flag("--version", version_line());
  app.require_subcommand(1);
  app.fallthrough();  // so that --plugins may follow the command
  app.footer(
      "Example: tofstream run simulate_osem --out results\n"
      "tofstream COMMAND --help shows each command's options and examples.");
  // The callbacks run inside parse(), so every error of every command arrives here.
  using namespace tofstream::command;
  try {
    add_run(app);
    add_check(app);
    add_control(app);
    add_top(app);
    add_gadgets(app);
    add_graph(app);
    add_schema(app);
    add_simulate(app);
    add_record(app);
    add_replay(app);
    add_keys(app);
    add_serve(app);
    add_send(app);
    add_inspect(app);
    add_compare(app);
    add_analyse(app);
    add_view(app);
    add_profile(app);
    add_phantom(app);
    add_bench(app);
    add_new_gadget(app);
    add_completion(app);
    add_reference(app);
    add_plugins(app);
    app.parse(argc, argv);
    return delivered();
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const ExitWith& exit) {
    return exit.code;
  } catch (const InputError& error) {
    return fail(2, error.what());
  } catch (const std::bad_alloc&) {
    return fail(1, "out of memory: use a smaller image or fewer events a batch");
  } catch (const std::system_error& error) {
    return std::ferror(stdout) ? fail_output(error.code()) : fail(1, error.what());
  } catch (const std::exception& error) {
    return fail(1, error.what());
  }
}
