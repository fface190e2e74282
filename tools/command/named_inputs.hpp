// Whether what a pipeline names is there: scanners, phantoms, files and folders.
#pragma once

#include "core/pipeline/pipeline.hpp"

namespace tofstream::command {

struct MissingInputs {
  Problems errors;       // names of nothing, and files that the command line names
  Problems to_be_given;  // files that the pipeline's text names: they may come before a run, or by --input
};

/// What the run's own gadgets would refuse, in their words, without one being made.
MissingInputs missing_inputs(const Pipeline& pipeline);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
