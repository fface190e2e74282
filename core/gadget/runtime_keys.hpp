// The keys of a gadget in a pipeline that are the runtime's, each in a line: for messages, the schema and the
// reference.
#pragma once
#include <array>
#include <string_view>

namespace tofstream {

struct RuntimeKey {
  const char* name;
  const char* values;  // what may be written
  const char* usual;   // what it is if it is left out
  const char* doc;
};

inline constexpr std::array<RuntimeKey, 7> runtime_keys{{
    {"use", "a gadget, or `pipeline`", "required", "The kind of gadget"},
    {"from", "`NAME`, `NAME.output`, a list of these, `{input: NAME}`", "required where it has inputs",
     "The gadget to read from, NAME or NAME.output; several as a list; inputs by their name"},
    {"edge", "a map, see below", "", "What may wait before this gadget, for all inputs or under an input's name"},
    {"parallel", "1 to 1024, `auto`", "1",
     "Messages of a pure gadget in work at a time, in order; auto: as many as there are cores"},
    {"merge", "`unordered`, `ordered`", "unordered",
     "How messages of several writers into one input follow each other: as they come, or by the source's number"},
    {"join", "`in_order`, `sequence`", "in_order",
     "Which messages of several inputs belong together: the next of each, or those of one message of the source"},
    {"fault", "a map, see below", "none",
     "Deliberate misfortune; messages are counted from 0 as the gadget takes them, of a source as it gives them"},
}};

constexpr const char* runtime_key_doc(std::string_view name) {
  for (const RuntimeKey& key : runtime_keys)
    if (name == key.name) return key.doc;
  return "";
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
