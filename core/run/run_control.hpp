// The run as it is watched and steered: by a gadget (through Context::control), the control socket, metrics.
// A test gives a gadget a control of its own.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/pipeline/pipeline.hpp"
#include "core/report/report.hpp"

namespace tofstream {

// A parameter that may change while its gadget runs. `info` has its unit, limits (rules.limits), choices and line of
// documentation, and lives as long as the pipeline; `value` is the present one.
struct LiveParameter {
  std::string gadget;
  const ParamInfo* info = nullptr;
  Value value;
};

// Every call is safe from any thread, also from a gadget's own calls, but not from a signal handler.
class RunControl {
 public:
  virtual ~RunControl() = default;

  // The pipeline as it was checked; the values of parameters are those at the start.
  virtual const Pipeline& pipeline() const = 0;

  // The figures of now. Events that are still on their way are missing from the books, which need not balance before
  // the end.
  virtual RunReport snapshot() const = 0;

  // Every live parameter of every gadget, in the pipeline's order.
  virtual std::vector<LiveParameter> live_parameters() const = 0;

  // Sets a live parameter (a dotted name reaches into a map), checked as in a pipeline file. It holds from the gadget's
  // next message on. What is wrong is returned, and nothing was changed then.
  virtual std::vector<Problem> set_parameter(std::string_view gadget, std::string_view parameter,
                                             const Value& value) = 0;

  // Sources end, the rest drains and flushes; the report says `stopped`.
  virtual void request_stop() = 0;

  // Drops everything at once; the report says `aborted` and who was in the middle of something.
  virtual void abort() = 0;

  // The same where something outside the gadgets has failed that the run cannot go on without: the report has the
  // error. No effect where the run is ending already.
  virtual void fail(RunError error) = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
