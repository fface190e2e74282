#include "core/pipeline/nested_level.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tofstream::detail {
namespace {

std::vector<Value> names_in(const Value& value, const std::string& label, Problems& problems) {
  std::vector<Value> names = value.kind == Value::Kind::sequence ? value.items : std::vector{value};
  if (names.empty()) problems.add(value.where, label + ": from is an empty list: name the gadgets to read from");
  std::erase_if(names, [&](const Value& name) {
    if (name.kind == Value::Kind::scalar) return false;
    problems.add(name.where, fmt::format("{}: from takes the name of a gadget, not {}", label, name.in_words()));
    return true;
  });
  return names;
}

}  // namespace

std::vector<WrittenInput> read_from(const Value& from, const std::string& label, Problems& problems) {
  if (from.kind == Value::Kind::null) return {};
  if (from.kind != Value::Kind::map) return {{"", from.where, names_in(from, label, problems)}};
  std::vector<WrittenInput> inputs;
  for (const Value::Entry& entry : from.entries)
    inputs.push_back({entry.key, entry.where, names_in(entry.value, label, problems)});
  return inputs;
}

bool LevelNames::has_gadget(const std::string& name) const {
  return nested.contains(name) || std::ranges::find(gadgets, name) != gadgets.end();
}

bool LevelNames::has_input(const std::string& name) const {
  return std::ranges::find(inputs, name, &Value::text) != inputs.end();
}

std::vector<std::string> LevelNames::input_names() const {
  std::vector<std::string> names;
  for (const Value& input : inputs) names.push_back(input.text);
  return names;
}

std::vector<std::string> LevelNames::output_names() const {
  std::vector<std::string> names;
  for (const Value::Entry& output : outputs.entries) names.push_back(output.key);
  return names;
}

void read_interface(const Value& document, LevelNames& level, Problems& problems) {
  if (const Value* inputs = document.find("inputs")) {
    if (inputs->kind != Value::Kind::sequence)
      problems.add(inputs->where, "inputs must be a list of names such as [events], not " + inputs->in_words());
    for (const Value& input : inputs->items) {
      if (input.kind != Value::Kind::scalar || input.text.empty() || input.text.find('.') != std::string::npos)
        problems.add(input.where, fmt::format("inputs: {} cannot name an input", input.in_words()));
      else if (level.has_input(input.text))
        problems.add(input.where, fmt::format("inputs: '{}' is there twice", input.text));
      else if (level.has_gadget(input.text))
        problems.add(input.where, fmt::format("'{}' names an input and a gadget: rename one", input.text));
      else
        level.inputs.push_back(input);
    }
  }
  const Value* outputs = document.find("outputs");
  if (!outputs) return;
  if (outputs->kind != Value::Kind::map)
    problems.add(outputs->where, "outputs must be a map such as {image: GADGET}, not " + outputs->in_words());
  for (const Value::Entry& output : outputs->entries) {
    std::vector<std::string> known = level.gadgets;
    for (const auto& [name, index] : level.nested) known.push_back(name);
    const std::string gadget = split_name(output.value.text).first;
    level.outputs.set(output.key, output.value, output.where);
    if (output.value.kind != Value::Kind::scalar)
      problems.add(output.value.where,
                   fmt::format("outputs.{} must name a gadget, not {}", output.key, output.value.in_words()));
    else if (level.has_input(gadget))
      problems.add(output.value.where,
                   fmt::format("outputs.{}: '{}' is an input: an output names a gadget", output.key, gadget));
    else if (!level.has_gadget(gadget))
      problems.add(output.value.where, fmt::format("outputs.{}: no gadget is called '{}'{}", output.key, gadget,
                                                   did_you_mean(gadget, known)));
  }
}

void bind_inputs(const Value& from, const std::string& label, const Location& where, LevelNames& level,
                 Problems& problems) {
  level.bindings = read_from(from, label, problems);
  const std::vector<std::string> known = level.input_names();
  const Location place = from.kind == Value::Kind::null ? where : from.where;
  if (known.empty()) {
    if (!level.bindings.empty())
      problems.add(place, fmt::format("{}: {} has no inputs and takes no 'from'", label, level.label));
    return;
  }
  if (level.bindings.size() == 1 && level.bindings[0].input.empty()) {
    if (known.size() == 1) {
      level.bindings[0].input = known[0];
    } else {
      problems.add(place, fmt::format("{}: {} takes several inputs: from: {{{}: NAME}}", label, level.label,
                                      fmt::join(known, ": NAME, ")));
      return;
    }
  }
  for (const WrittenInput& bound : level.bindings)
    if (std::ranges::find(known, bound.input) == known.end())
      problems.add(bound.where, fmt::format("{}: {} has no input '{}'{}", label, level.label, bound.input,
                                            did_you_mean(bound.input, known)));
  for (const std::string& input : known)
    if (std::ranges::find(level.bindings, input, &WrittenInput::input) == level.bindings.end())
      problems.add(place,
                   fmt::format("{}: input '{}' of {} is not connected: add it to 'from'", label, input, level.label));
}

std::pair<std::string, std::string> split_name(const std::string& text) {
  const std::size_t dot = text.find('.');
  return {text.substr(0, dot), dot == std::string::npos ? std::string() : text.substr(dot + 1)};
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
