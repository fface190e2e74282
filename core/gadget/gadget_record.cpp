#include "core/gadget/gadget_record.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "core/base/did_you_mean.hpp"

namespace tofstream {

GadgetRecord::GadgetRecord(std::string name, std::filesystem::path output_dir, std::stop_token cancel,
                           RunControl* control, std::stop_token stop)
    : name_(std::move(name)),
      output_dir_(std::move(output_dir)),
      cancel_(std::move(cancel)),
      control_(control),
      stop_(std::move(stop)) {}

Turn GadgetRecord::take_turn() {
  if (!turns) return {};
  return Context(*this).wait_outside([this] { return turns->wait(cancel_); });
}

void GadgetRecord::book(Account account, std::uint64_t events, std::string_view reason) {
  const std::lock_guard lock(mutex_);
  switch (account) {
    case Account::received:
      books_.received += events;
      break;
    case Account::reconstructed:
      books_.reconstructed += events;
      break;
    case Account::written:
      books_.written += events;
      break;
    case Account::rejected:
    case Account::lost:
      if (events > 0) (account == Account::lost ? books_.lost : books_.rejected)[std::string(reason)] += events;
      break;
  }
}

void GadgetRecord::set_waiting_outside(bool waits) {
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(mutex_);
  if (waits_outside_.exchange(waits)) waited_outside_ += now - waits_since_;
  waits_since_ = now;
}

GadgetRecord::Clock::duration GadgetRecord::waited_outside(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  return waited_outside_ + (waits_outside_ && now > waits_since_ ? now - waits_since_ : Clock::duration{});
}

void GadgetRecord::set_waiting(std::string what) {
  const std::lock_guard lock(mutex_);
  waiting_ = std::move(what);
}

std::string GadgetRecord::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

void GadgetRecord::set_figure(std::string_view key, Figure value) {
  const std::lock_guard lock(mutex_);
  figures_.insert_or_assign(std::string(key), std::move(value));
}

void GadgetRecord::append_figure(std::string_view key, double value) {
  const std::lock_guard lock(mutex_);
  Figure& figure = figures_.try_emplace(std::string(key), std::vector<double>{}).first->second;
  if (!std::holds_alternative<std::vector<double>>(figure)) figure = std::vector<double>{};
  std::get<std::vector<double>>(figure).push_back(value);
}

void GadgetRecord::set_progress(Progress progress) {
  const std::lock_guard lock(mutex_);
  if (progress.done != progress_.done) ++progress_changes_;
  progress_ = std::move(progress);
}

void GadgetRecord::span(std::string_view track, std::string_view name, Clock::time_point began,
                        Clock::time_point ended) {
  if (on_span) on_span(track, name, began, ended);
}

void GadgetRecord::own_file(const std::filesystem::path& name) {
  const std::filesystem::path normal = name.lexically_normal();
  if (normal.is_absolute() || *normal.begin() == "..") return;  // elsewhere
  {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(files_, normal.string()) != files_.end()) return;
    files_.push_back(normal.string());
  }
  if (on_file) on_file();
}

const GadgetRecord::PortState* GadgetRecord::find(std::string_view port) const {
  const auto found = std::ranges::find(ports_, port, &PortState::name);
  if (found != ports_.end()) return &*found;
  if (!ports_are_known_) return nullptr;
  std::vector<std::string> names;
  for (const PortState& known : ports_) names.push_back(known.name);
  throw std::invalid_argument(fmt::format("{} has no port '{}'{}", name_, port, did_you_mean(port, names)));
}

bool GadgetRecord::is_connected(std::string_view port) const {
  const PortState* const found = find(port);
  return !found || found->is_connected;
}

void GadgetRecord::set_ports(std::vector<PortState> ports) {
  ports_ = std::move(ports);
  ports_are_known_ = true;
}

void GadgetRecord::disconnect(std::string_view port) {
  find(port);
  const auto found = std::ranges::find(ports_, port, &PortState::name);
  if (found != ports_.end())
    found->is_connected = false;
  else
    ports_.push_back({std::string(port), false});
}

BookEntries GadgetRecord::books() const {
  const std::lock_guard lock(mutex_);
  return books_;
}

std::map<std::string, Figure> GadgetRecord::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

Progress GadgetRecord::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

std::vector<std::string> GadgetRecord::files() const {
  const std::lock_guard lock(mutex_);
  return files_;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
