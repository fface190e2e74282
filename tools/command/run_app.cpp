// Errors to lines and exit codes: see run_app.hpp.
#include "tools/command/run_app.hpp"

#include <cerrno>
#include <cstdio>
#include <exception>
#include <functional>
#include <new>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/gpus.hpp"
#include "core/base/printable.hpp"
#include "core/base/version.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

namespace {

int fail(const Program& app, int code, const std::string& message) {
  fmt::print(stderr, "{}: {}\n", app.name(), printable_lines(message));
  return code;
}

int fail_output(const Program& app, const std::error_code& cause) {
  return fail(app, 1, fmt::format("cannot write to standard output: {}", cause.message()));
}

// The first line stands alone for who reads it by a script.
std::string version_lines(const Program& app, const std::function<std::string()>& more) {
  const Gpus gpus = gpus_of_this_machine();
  const std::string driver = gpus.driver.empty() ? "" : fmt::format(" (driver {})", gpus.driver);
  return fmt::format(
      "{} {} ({}), commit {}\n"
      "compiler: {}; GPUs here: {}{}\n"
      "{}"
      "Apache License 2.0. For research: not a medical device, and not for clinical use.",
      app.name(), version(), build_flags(), commit(), compiler(),
      gpus.names.empty() ? "none" : fmt::format("{}", fmt::join(gpus.names, ", ")), driver, more ? more() + "\n" : "");
}

// What was printed may still wait in the buffer: a full disk shows itself when that is written.
int delivered(const Program& app) {
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return 0;
  return fail_output(app, {errno ? errno : EIO, std::generic_category()});
}

}  // namespace

int run_app(Program& app, int argc, char** argv, const std::function<std::string()>& more_of_version) {
  app.version([&app, &more_of_version] { return version_lines(app, more_of_version); });
  // Every error of every command arrives here.
  try {
    app.run(argc, argv);
    return delivered(app);
  } catch (const ExitWith& exit) {
    return exit.code;
  } catch (const InputError& error) {
    return fail(app, 2, error.what());
  } catch (const std::bad_alloc&) {
    return fail(app, 1, "out of memory: use a smaller image or fewer events a batch");
  } catch (const std::system_error& error) {
    return std::ferror(stdout) ? fail_output(app, error.code()) : fail(app, 1, error.what());
  } catch (const std::exception& error) {
    return fail(app, 1, error.what());
  }
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
