// The MEX gateway to libtofstream for Matlab and Octave:
//   [identifier, line, warnings, results...] = tofstream_mex(command, arguments...)
// It raises nothing itself, since an error that leaves a MEX file jumps over C++; the .m files beside it do, by
// private/call.m. `identifier` is empty where the call went well.
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <tofstream.h>

#include "commands.hpp"
#include "log_lines.hpp"
#include "operators.hpp"
#include "values.hpp"

using namespace tofstream::octave;

namespace {

// Stays loaded for good: the library has threads, and operators outlive `clear all` where others hold them.
void start_session() {
  static bool started = false;
  if (started) return;
  if (tof_api_version() != TOF_API_VERSION)
    throw Refused("version", "libtofstream has version " + std::to_string(tof_api_version()) +
                                 " of the C interface, and this MEX file wants " + std::to_string(TOF_API_VERSION) +
                                 ": install one release");
  collect_log_lines();
  mexAtExit(drop_all_operators);
  mexLock();
  started = true;
}

struct Outcome {
  std::string identifier, line;
  std::vector<mxArray*> results;
};

Outcome outcome_of(int count, const mxArray* const* values) {
  try {
    start_session();
    Arguments given(count, values);
    const std::string command = given.text("command");
    return {.results = do_command(command, given)};
  } catch (const Refused& refused) {
    return {std::string("tofstream:") + refused.kind(), refused.what(), {}};
  } catch (const std::bad_alloc&) {
    return {"tofstream:no_memory", "the host's memory is exhausted", {}};
  } catch (const std::exception& error) {
    return {"tofstream:internal", error.what(), {}};
  }
}

}  // namespace

void mexFunction(int wanted, mxArray* out[], int count, const mxArray* in[]) {
  Outcome outcome = outcome_of(count, in);
  std::vector<mxArray*> all = {make_text(outcome.identifier), make_text(outcome.line), make_texts(take_log_lines())};
  all.insert(all.end(), outcome.results.begin(), outcome.results.end());
  const std::size_t given = wanted > 0 ? static_cast<std::size_t>(wanted) : 1;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i < given)
      out[i] = all[i];
    else
      mxDestroyArray(all[i]);
  for (std::size_t i = all.size(); i < given; ++i) out[i] = mxCreateDoubleMatrix(0, 0, mxREAL);
}
// SPDX-License-Identifier: Apache-2.0
