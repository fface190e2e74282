// Executes a plan on bytes that arrive in pieces: a stack of half-read values in place of
// recursion, so that it can stop at any byte. Memory grows with the bytes that really came, never
// with a count alone.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gadgets/io/petsird/input.hpp"
#include "gadgets/io/petsird/plan.hpp"

namespace tofstream::petsird {

class PlanReader {
 public:
  /// A value that has parts and is being read.
  struct Frame {
    const Plan* plan = nullptr;
    void* place = nullptr;
    std::uint64_t index = 0;     ///< part being read; once it is on the stack itself, the next
    std::uint64_t count = 0;     ///< parts there are
    std::uint64_t columns = 0;   ///< last dimension of an array
    std::uint64_t to_count = 0;  ///< counts yet to be read
    bool begun = false;
    bool counted = false;
    void* part = nullptr;  ///< the destination of the part being read
    bool part_open = false;
  };

  /// Who reads the lists of coincidence events: false if more bytes are needed.
  class EventReader {
   public:
    virtual ~EventReader() = default;
    virtual bool read_events(const PlanReader& reader, const Plan& plan) = 0;
  };

  PlanReader(Input& input, EventReader& events) : input_(input), events_(events) { stack_.reserve(deepest + 1); }

  /// Begins to read `plan` into `place`.
  void start(const Plan& plan, void* place) { push(plan, place); }
  /// Reads on; true once all is read, false if more bytes are needed. Throws DataError on bad data.
  bool run();
  /// Where the reader is, as "header.scanner.tofBinEdges[0][0]".
  std::string path() const;
  /// True between two items of a stream, where a live source may end.
  bool between_stream_items() const;
  /// The frame `depth` levels up, 0 being the innermost; for the reader of events.
  const Frame& frame(std::size_t depth) const { return stack_[stack_.size() - 1 - depth]; }

 private:
  static constexpr std::size_t deepest = 128;

  /// Progress inside a value that has no parts.
  struct Leaf {
    bool counted = false;
    std::uint64_t count = 0;
    std::size_t done = 0;     ///< bytes read of a value of fixed size
    std::size_t missing = 0;  ///< bytes of a list's end that has been allocated but not read
    std::array<std::byte, 8> bytes{};
  };

  bool step();
  bool step_record();
  bool step_list();
  bool step_stream();
  bool step_optional();
  bool step_choice();
  bool count_items(Frame& frame);
  bool skip_items(Frame& frame, const Plan& item);
  void copy_floats(Frame& frame);
  bool part(Frame& frame, const Plan& plan);
  bool leaf(const Plan& plan, void* place);
  bool leaf_text(std::string& text);
  bool leaf_floats(std::vector<float>& values);
  bool integer(const Plan& plan, std::int64_t& value);
  void push(const Plan& plan, void* place);
  void pop();

  Input& input_;
  EventReader& events_;
  std::vector<Frame> stack_;
  Leaf leaf_;
};

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
