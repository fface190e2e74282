// A plug-in's file, read without loading it: its records, and whether this program can load it.
#pragma once
#include <filesystem>
#include <vector>

#include "core/plugin/abi.hpp"

namespace tofstream {

// The records of the section ".tofstream" of a shared object. Throws std::runtime_error with one line, which does not
// name the file, if it cannot be read, is no shared object for this kind of machine, or has no record.
std::vector<PluginRecord> read_plugin_records(const std::filesystem::path& file);

// What this program would say of itself.
PluginRecord own_record();

// Throws std::runtime_error with one line that says what differs and what to do, unless a library with this record
// shares its types with this program.
void check_record(const PluginRecord& record);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
