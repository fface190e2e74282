// What the live page and the program say to each other besides images: JSON texts (share/doc/page.md).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/run/run_control.hpp"

namespace tofstream {

/// Events so far, at a time since data began to come.
struct CountSample {
  double seconds = 0;
  std::uint64_t received = 0, reconstructed = 0, rejected = 0, lost = 0;
};

CountSample count_sample(const RunReport& report, double seconds);

/// A past estimate that may be asked for by its number.
struct PastEstimate {
  std::uint32_t number = 0, iteration = 0, subset = 0;
  double seconds = 0;
};

/// What the monitor knows besides the run's figures.
struct PageFigures {
  double seconds = 0;      // since data began to come: of a live scan, its time
  bool has_ended = false;  // no estimate follows
  std::uint64_t images = 0;
  LatencyFigures shown;  // from an image's last data's entry until a page had drawn it
  std::vector<PastEstimate> past;
};

/// The first message to a page: the pipeline, its live parameters with their limits, and the counts so far.
std::string hello_message(const RunControl& run, bool may_steer, const std::deque<CountSample>& counts);

/// How the run stands.
std::string state_message(const RunControl& run, const RunReport& report, const PageFigures& page);

/// What the monitor does when a page says so.
struct PageRequests {
  RunControl& run;
  bool may_steer = true;
  std::function<void(std::uint32_t number)> shown;  // an image was drawn
};

/// Does what a page's message asks and returns the answer, which is empty where none is due. What is no such message,
/// or asks for what cannot be done, is answered in one line and changes nothing.
std::string answer_message(const PageRequests& requests, std::string_view text);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
