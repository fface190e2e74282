// A pipeline for a client's run: its source of a live stream takes the client's frames, and its sinks of images give
// them to the client, without a socket in between. Streams are checked and counted as at a socket.
#pragma once

#include <cstddef>
#include <memory>

#include "core/pipeline/pipeline.hpp"
#include "tools/serve/session_link.hpp"

namespace tofstream::serve {

/// The pipeline's memory need includes that of the ends once, as `held_bytes`.
void connect_ends(Pipeline& pipeline, const std::shared_ptr<SessionLink>& link, std::size_t held_bytes);

/// The value of a parameter in the pipeline as text, defaults included; empty if there is none.
std::string parameter_text(const PipelineGadget& gadget, std::string_view name);

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
