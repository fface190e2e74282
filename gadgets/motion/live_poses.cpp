// Poses that come while the scan runs: see live_poses.hpp.
#include "gadgets/motion/live_poses.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "gadgets/io/journal/reader.hpp"
#include "gadgets/io/motion/pose_frames.hpp"

namespace tofstream {
namespace {

// Names of the journal's notes.
constexpr std::string_view pose_message = "live_motion message", pose_closing = "live_motion closed";

}  // namespace

LivePoses::LivePoses(std::string source, std::shared_ptr<journal::Writer> journal)
    : source_(std::move(source)), journal_(std::move(journal)) {}

void LivePoses::replay(const std::filesystem::path& journal, std::uint64_t end) {
  journal::Reader reader(journal);
  const std::lock_guard lock(mutex_);
  while (const auto entry = reader.next()) {
    if (entry->number >= end) break;
    if (entry->kind != journal::EntryKind::note) continue;
    if (entry->name == pose_message) take_message(entry->bytes, entry->ingress_ns);
    if (entry->name == pose_closing && entry->bytes.size() == sizeof(double)) {
      double end_s = 0;
      std::memcpy(&end_s, entry->bytes.data(), sizeof end_s);
      close(end_s);
    }
  }
}

void LivePoses::take(std::span<const std::byte> message, std::uint64_t ingress_ns) {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  try {
    if (journal_) journal_->append_note(pose_message, message);
    take_message(message, ingress_ns);
  } catch (...) {
    failure_ = std::current_exception();
  }
  came_.notify_all();
}

void LivePoses::end() {
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  came_.notify_all();
}

void LivePoses::fail(std::exception_ptr cause) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(cause);
  came_.notify_all();
}

void LivePoses::take_message(std::span<const std::byte> message, std::uint64_t ingress_ns) {
  const auto read = wire::decode_frame(message);
  if (const auto* bad = std::get_if<wire::BadFrame>(&read)) {
    if (figures_.bad_frames++ == 0) figures_.first_bad = bad->what;
    return;
  }
  const auto& frame = std::get<wire::Frame>(read);
  const bool begins =
      frame.header.kind == wire::FrameKind::stream_header && frame.header.schema == wire::pose_header && !has_ended_;
  const wire::Arrival arrival = streams_.take(frame.header, ingress_ns, begins);
  figures_.missing_frames = streams_.missing_frames();
  if (begins && arrival == wire::Arrival::header_again) return take_header(frame);
  if (arrival == wire::Arrival::wanted) return take_frame(frame);
  if (arrival != wire::Arrival::duplicate) ++figures_.left_out_frames;
}

void LivePoses::take_frame(const wire::Frame& frame) {
  if (frame.header.kind == wire::FrameKind::stream_header) return take_header(frame);
  if (frame.header.kind == wire::FrameKind::end)
    has_ended_ = has_ended_ || streams_.has_ended();
  else if (frame.header.schema == wire::pose_matrices || frame.header.schema == wire::pose_quaternions)
    take_poses(frame);
  else
    ++figures_.left_out_frames;
}

void LivePoses::take_header(const wire::Frame& frame) {
  const std::string said(reinterpret_cast<const char*>(frame.payload.data()), frame.payload.size());
  if (said != wire::object_to_scanner && said != wire::scanner_to_object)
    refuse("the header is neither object_to_scanner nor scanner_to_object: fix the sender");
  if (!direction_.empty() && direction_ != said)
    refuse(fmt::format("a stream of poses from {} follows one from {}: send both alike", said, direction_));
  direction_ = said;
}

void LivePoses::take_poses(const wire::Frame& frame) {
  const formats::PoseForm form = wire::form_of(frame.header.schema);
  if (form_ && *form_ != form)
    refuse(fmt::format("frame {}: quaternions and matrices in one scan: send one of them", frame.header.sequence));
  form_ = form;
  std::size_t number = 0;
  for (formats::StatedPose& pose : wire::read_poses(frame)) try {
      ++number;
      add(std::move(pose));
    } catch (const std::invalid_argument& error) {
      refuse(fmt::format("frame {}, pose {}: {}", frame.header.sequence, number, error.what()));
    }
}

void LivePoses::add(formats::StatedPose pose) {
  if (!std::isfinite(pose.time_s) || !std::ranges::all_of(pose.numbers, [](double n) { return std::isfinite(n); }))
    throw std::invalid_argument("a number is not finite");
  if (stated_s_ && !(pose.time_s > *stated_s_))
    throw std::invalid_argument(fmt::format("time_s is {:g} after {:g}: times must ascend", pose.time_s, *stated_s_));
  formats::pose_of(*form_, pose.numbers);  // says what is no rotation
  stated_s_ = pose.time_s;
  ++figures_.poses;
  if (pose.time_s < closed_s_) {
    ++figures_.late_poses;
    pose.time_s = closed_s_;
  }
  if (!rows_.empty() && rows_.back().time_s == pose.time_s)
    rows_.back() = std::move(pose);
  else
    rows_.push_back(std::move(pose));
}

void LivePoses::close(double end_s) {
  if (!(end_s > closed_s_)) return;
  closed_s_ = end_s;
  ++figures_.closings;
}

bool LivePoses::knows(double end_s) const {
  return has_ended_ || closed_s_ >= end_s || (!rows_.empty() && rows_.back().time_s >= end_s);
}

void LivePoses::throw_if_failed() const {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

bool LivePoses::is_settled(double end_s) const {
  throw_if_failed();
  const std::lock_guard lock(mutex_);
  return knows(end_s);
}

bool LivePoses::settle(double end_s, Clock::time_point deadline, const std::stop_token& cancel) {
  std::unique_lock lock(mutex_);
  came_.wait_until(lock, cancel, deadline, [&] { return failure_ || knows(end_s); });
  if (failure_) std::rethrow_exception(failure_);
  if (knows(end_s)) return true;
  if (cancel.stop_requested()) return false;
  if (journal_) journal_->append_note(pose_closing, std::as_bytes(std::span(&end_s, 1)));
  close(end_s);
  return true;
}

std::vector<formats::StatedPose> LivePoses::take_final() {
  const std::lock_guard lock(mutex_);
  // One that came late counts from the end of the closed time on, and so may one that comes after it.
  const bool may_be_replaced = !has_ended_ && !rows_.empty() && rows_.back().time_s == closed_s_;
  const std::size_t final = rows_.size() - (may_be_replaced ? 1 : 0);
  std::vector<formats::StatedPose> result;
  for (; given_ < final; ++given_) result.push_back(rows_[given_]);
  return result;
}

std::vector<formats::StatedPose> LivePoses::all() const {
  const std::lock_guard lock(mutex_);
  return rows_;
}

std::string LivePoses::direction() const {
  const std::lock_guard lock(mutex_);
  return direction_;
}

formats::PoseForm LivePoses::form() const {
  const std::lock_guard lock(mutex_);
  return form_.value_or(formats::PoseForm::matrix);
}

LivePoses::Figures LivePoses::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

void LivePoses::refuse(const std::string& what) const {
  throw std::runtime_error(fmt::format("poses from {}: {}", source_, what));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
