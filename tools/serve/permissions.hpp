// What clients may have run: pipelines of the server's folder with settings of their own, or pipelines that they send,
// of harmless gadgets. A client reaches only the files, sockets and processes of the server that its operator allows.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/pipeline/pipeline.hpp"
#include "tools/serve/protocol.hpp"

namespace tofstream::serve {

struct Permissions {
  std::filesystem::path pipelines;          // a folder; clients may name the pipelines in and below it; empty: none
  std::vector<std::filesystem::path> data;  // folders whose files clients' parameters may name
  std::vector<std::string> gadgets;         // that sent pipelines may use besides the harmless ones
};

/// The names of the pipelines that a client may name, sorted.
std::vector<std::string> offered_pipelines(const Permissions& permissions);

/// The checked pipeline that a client asks for. Throws ConfigErrors with every problem, each in one line with its place
/// in the client's YAML or settings: what the check of any pipeline finds, and what the client may not do.
Pipeline permitted_pipeline(const Hello& hello, const Permissions& permissions);

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
