// Finds what comes with the program: scanners, phantoms and pipelines by name, beside the program or in the source
// tree.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tofstream {

/// The file that `name` means: a path where it has a slash or a suffix or exists as it is, else `name`.yaml anywhere in
/// the shared folder `kind` ("scanners", "phantoms", "pipelines"). Throws std::runtime_error, which lists the available
/// names.
std::filesystem::path find_shared(const std::string& kind, const std::string& name);

/// A file that comes with the program, by its path in share/. Throws std::runtime_error if it does not exist.
std::filesystem::path find_shared_file(const std::filesystem::path& path);

/// Throws std::runtime_error if the file or folder does not exist, with the nearest name there, or may not be read.
/// `remedy` ends the line: "--input FILE names another".
void require_readable(const std::filesystem::path& path, std::string_view remedy = "");

/// The YAML files in a folder, also those in folders within it, such as a family's pipelines; sorted. None if the
/// folder cannot be read.
std::vector<std::filesystem::path> yaml_files_in(const std::filesystem::path& folder);

/// The names in a shared folder, sorted.
std::vector<std::string> shared_names(const std::string& kind);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
