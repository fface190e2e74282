// Streams of one scan: see stream_set.hpp.
#include "gadgets/io/wire/stream_set.hpp"

#include <algorithm>
#include <utility>

namespace tofstream::wire {
namespace {

constexpr std::int64_t ms = 1000000;
constexpr std::size_t most_streams = 256;  // a sender that begins again and again must not take memory
// What a sender that has ended left on its way comes within so long; what comes later is of one that goes on.
constexpr std::uint64_t longest_way_ns = 10000000000;

// Sums of a few of these overflow nowhere, whatever a stranger's frame says.
constexpr std::uint64_t longest_scan_ns = std::uint64_t{1} << 60, latest_ns = std::uint64_t{1} << 61;

std::int64_t bounded(std::uint64_t ns, std::uint64_t most) {
  return static_cast<std::int64_t>(std::min(ns, most));
}

std::int64_t whole_ms(std::int64_t ns) {
  return (ns + ms - 1) / ms * ms;
}

}  // namespace

Arrival StreamSet::take(const FrameHeader& header, std::uint64_t ingress_ns, bool begins) {
  Member* member = find(header.stream);
  if (!member && begins && members_.size() < most_streams)
    member = &members_.emplace_back(Member{.order = {}, .began_ns = ingress_ns});
  if (!member) {
    ++(has_begun() ? of_others_ : before_header_);
    return has_begun() ? Arrival::other_stream : Arrival::before_header;
  }
  const Arrival arrival = member->order.take(header);
  if (arrival == Arrival::wanted && header.kind == FrameKind::data) note_time(*member, header, ingress_ns);
  return arrival;
}

void StreamSet::note_time(Member& member, const FrameHeader& header, std::uint64_t ingress_ns) {
  const std::int64_t start = bounded(header.start_ns, longest_scan_ns);
  const std::int64_t zero = bounded(ingress_ns, latest_ns) - start;
  const Member& last = members_.back();
  if (&member != &last && ingress_ns > last.began_ns + longest_way_ns) member.is_beside = true;
  if (!std::exchange(member.has_data, true)) {
    if (members_.size() == 1) first_zero_ns_ = zero;
    if (start < end_ns_) member.shift_ns = whole_ms(std::max(zero - first_zero_ns_, end_ns_ - start));
    if (members_.size() > 1)
      gap_ns_ += static_cast<std::uint64_t>(std::max<std::int64_t>(start + member.shift_ns - end_ns_, 0));
  }
  const std::int64_t end = start + member.shift_ns + bounded(header.duration_ns, longest_scan_ns);
  end_ns_ = std::max(end_ns_, std::min(end, static_cast<std::int64_t>(longest_scan_ns)));
}

void StreamSet::begin_at(const FrameHeader& first) {
  if (Member* const member = find(first.stream)) member->order.begin_at(first);
}

bool StreamSet::has_ended() const {
  return has_begun() && members_.back().order.has_ended() && std::ranges::all_of(members_, [](const Member& member) {
           return !member.is_beside || member.order.has_ended();
         });
}

bool StreamSet::is_missing_frames() const {
  return std::ranges::any_of(members_, [&](const Member& member) {
    return (&member == &members_.back() || member.order.has_ended()) && member.order.missing_frames() > 0;
  });
}

bool StreamSet::has_two_at_once() const {
  return std::ranges::any_of(members_, &Member::is_beside);
}

StreamOrder::Counts StreamSet::counts() const {
  StreamOrder::Counts sum{.before_header = before_header_, .of_other_streams = of_others_};
  for (const Member& member : members_) {
    const StreamOrder::Counts& each = member.order.counts();
    sum.frames += each.frames;
    sum.events += each.events;
    sum.late += each.late;
    sum.duplicates += each.duplicates;
  }
  return sum;
}

std::uint64_t StreamSet::missing_frames() const {
  std::uint64_t sum = 0;
  for (const Member& member : members_) sum += member.order.missing_frames();
  return sum;
}

std::uint64_t StreamSet::missing_events() const {
  std::uint64_t sum = 0;
  for (const Member& member : members_) sum += member.order.missing_events();
  return sum;
}

const StreamSet::Member* StreamSet::find(std::uint64_t stream) const {
  const auto found = std::ranges::find(members_, stream, [](const Member& member) { return member.order.stream(); });
  return found == members_.end() ? nullptr : &*found;
}

StreamSet::Member* StreamSet::find(std::uint64_t stream) {
  return const_cast<Member*>(std::as_const(*this).find(stream));
}

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
