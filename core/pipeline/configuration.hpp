// What the user gave, as one tree: the pipeline file laid over its includes, then the options of
// the command line.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/pipeline/pipeline.hpp"
#include "core/value/value.hpp"
#include "core/value/variables.hpp"

namespace tofstream {

// Replaces `include: file` or a list of files by their contents, which the including document
// overrides: maps merge key by key, but a gadget that says `use` again starts afresh, and
// one that is null (`feed: ~`) is left out. Paths are relative to `folder`. Adds to `uses` the variables that any of
// the files mentions.
Value with_includes(Value document, const std::filesystem::path& folder, VariableNames& uses, Problems& problems);

// One `--set path=value`; its value's place is the option's text.
struct SetOption {
  std::string path;
  Value value;
};

// Takes the options' texts apart; a text that is no `path=value` becomes a problem.
std::vector<SetOption> read_sets(const std::vector<std::string>& texts, Problems& problems);

// Sets in a pipeline's document what the options say: "gadget.parameter", or a top-level key. Returns the options for
// gadgets of nested pipelines ("outer/inner.parameter"). Unknown names are left for the later checks, whose messages
// then begin with the option's text.
std::vector<SetOption> apply_sets(Value& document, const std::vector<SetOption>& sets);

// The place of problems that an option causes: its text.
Location option_place(const std::string& text);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
