// A plug-in's file, read without loading it: its records, and whether this program can load it.
#pragma once
#include <filesystem>
#include <vector>

#include "core/plugin/abi.hpp"

namespace tofstream {

// The records of the section ".tofstream" of a shared object. Throws std::runtime_error with one line, which does not
// name the file, if it cannot be read, is no shared object for this kind of machine, or has no record.
std::vector<PluginRecord> read_plugin_records(const std::filesystem::path& file);

// Throws std::runtime_error with one line that says what differs and what to do, unless a library with this record
// shares its types with a program of record `own`.
void check_record(const PluginRecord& record, const PluginRecord& own = plugin_record(""));

}  // namespace tofstream
