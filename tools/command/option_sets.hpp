// Options of a command that set parameters of the pipeline it runs.
#pragma once

#include <string>
#include <vector>

#include "core/pipeline/pipeline.hpp"

namespace tofstream::command {

class OptionSets {
 public:
  /// `option` as the user types it, "--events"; "" where the command sets the parameter by itself.
  void add(const std::string& option, const std::string& key, const std::string& value);

  /// As load() of running.hpp; what is wrong with a value names the option, and no parameter of a pipeline that the
  /// user did not write.
  Pipeline load(const std::string& pipeline) const;

 private:
  struct Set {
    std::string option, key, value;
  };

  std::string in_options(std::string errors) const;

  std::vector<Set> sets_;
};

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
