// A pipeline for a client's run: its source of a live stream takes the client's frames, and its sinks that send images
// give them to the client, without a socket between. All that a stream is checked for and counted by is as it is at a
// socket.
#pragma once

#include <cstddef>
#include <memory>

#include "core/pipeline/pipeline.hpp"
#include "tools/serve/session_link.hpp"

namespace tofstream::serve {

/// Memory that the ends need is `held_bytes`, once, in what the pipeline says of its need.
void connect_ends(Pipeline& pipeline, const std::shared_ptr<SessionLink>& link, std::size_t held_bytes);

/// The value of a parameter as text, as the pipeline has it, defaults included; empty where there is none.
std::string parameter_text(const PipelineGadget& gadget, std::string_view name);

}  // namespace tofstream::serve
