// A gadget at the end of a stream from or to other programs says so by `static constexpr auto stream_end = ...`. A
// server and `tofstream replay` replace it by an end of their own, whatever its name.
#pragma once

#include <string>
#include <string_view>

namespace tofstream {

/// A source of a LiveStream (gadgets/wire/stream_receiver.hpp), with the parameters endpoint, pattern and keys.
inline constexpr const char* takes_live_stream = "takes a live stream";
/// A sink of estimates that sends images, with the parameter every.
inline constexpr const char* sends_images = "sends images";

/// The names of all gadgets that are such an end, joined for a sentence: "zmq_source", "a_source or zmq_source".
std::string gadgets_at(std::string_view stream_end);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
