// Fuzzes the reader of two strips' events: arbitrary bytes give the same events in one piece and in two, or are refused
// in one line; events that were read are written and read back the same.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "gadgets/strip/io/strip_events.hpp"

namespace {

using namespace tofstream;
using namespace tofstream::formats;
using Events = std::vector<StripResponse<float>>;

std::optional<Events> read(std::span<const std::byte> bytes, std::size_t cut, StripFormat format, StripUnit unit) {
  StripEventReader reader(format, unit);
  Events events;
  const auto take = [&](const Events& some) { events.insert(events.end(), some.begin(), some.end()); };
  try {
    take(reader.push(bytes.first(cut)));
    take(reader.push(bytes.subspan(cut)));
    take(reader.finish());
  } catch (const std::runtime_error& refused) {
    if (std::string(refused.what()).find('\n') != std::string::npos) std::abort();
    return {};
  }
  return events;
}

bool same(const Events& a, const Events& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const StripFormat format = (data[0] & 1U) != 0 ? StripFormat::text : StripFormat::float32;
  const StripUnit unit = (data[0] & 2U) != 0 ? StripUnit::m : StripUnit::mm;
  const auto bytes = std::as_bytes(std::span(data, size).subspan(2));
  const auto whole = read(bytes, bytes.size(), format, unit);
  const auto cut = read(bytes, std::min<std::size_t>(data[1], bytes.size()), format, unit);
  if (whole.has_value() != cut.has_value() || (whole && !same(*whole, *cut))) std::abort();
  if (!whole) return 0;
  std::string written;
  for (const auto& event : *whole) append_event(StripFormat::text, StripUnit::mm, event, written);
  const auto again = read(std::as_bytes(std::span(written)), 0, StripFormat::text, StripUnit::mm);
  if (!again || !same(*whole, *again)) std::abort();
  return 0;
}
// SPDX-License-Identifier: Apache-2.0
