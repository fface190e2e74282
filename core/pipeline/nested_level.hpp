// Reads what a pipeline file says of itself, while nested pipelines are put in their place: its inputs, its outputs,
// and the sources that a `from` lists.
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/pipeline/nested.hpp"

namespace tofstream::detail {

// One input of a `from` as it was written, with names that are still to be looked up.
struct WrittenInput {
  std::string input;  // empty if `from` names none
  Location where;
  std::vector<Value> names;
};

// Reads `from: a`, `from: [a, b]` or `from: {port: a, other: [b, c]}`; nothing if it is null. A value that is no name
// becomes a problem that begins with `label`.
std::vector<WrittenInput> read_from(const Value& from, const std::string& label, Problems& problems);

// What names mean within one level.
struct LevelNames {
  std::string label;  // how messages call it: "this pipeline", or the nested file
  std::vector<std::string> gadgets;
  std::map<std::string, std::size_t> nested;  // gadget -> level
  std::vector<Value> inputs;                  // names and their places
  Value outputs = Value::map();               // name -> gadget or gadget.port
  std::vector<WrittenInput> bindings;         // of its inputs, in the words of the level around it
  std::vector<std::string> read_inputs;       // those that a gadget reads

  bool has_gadget(const std::string& name) const;
  bool has_input(const std::string& name) const;
  std::vector<std::string> input_names() const;
  std::vector<std::string> output_names() const;
};

// The keys `inputs` and `outputs` of the level's document; wrong ones become problems and are left out.
void read_interface(const Value& document, LevelNames& level, Problems& problems);

// Checks `from` of a nested pipeline against the file's inputs and keeps it as the level's bindings.
void bind_inputs(const Value& from, const std::string& label, const Location& where, LevelNames& level,
                 Problems& problems);

// "gadget.port" in two; the port is empty where there is no dot.
std::pair<std::string, std::string> split_name(const std::string& text);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
