#include "core/gadget/context.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/log.hpp"

namespace tofstream {

void Logger::debug(std::string_view text) const {
  program_log().debug("{}: {}", *name_, one_line(text));
}
void Logger::info(std::string_view text) const {
  program_log().info("{}: {}", *name_, one_line(text));
}
void Logger::warning(std::string_view text) const {
  program_log().warn("{}: {}", *name_, one_line(text));
}
namespace {

std::uint64_t total(const std::map<std::string, std::uint64_t>& by_reason) {
  return std::accumulate(by_reason.begin(), by_reason.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& entry) { return sum + entry.second; });
}

}  // namespace

std::uint64_t BookEntries::rejected_total() const {
  return total(rejected);
}
std::uint64_t BookEntries::lost_total() const {
  return total(lost);
}

GadgetRecord::GadgetRecord(std::string name, std::filesystem::path output_dir, std::stop_token cancel,
                           RunControl* control, std::stop_token stop)
    : name_(std::move(name)),
      output_dir_(std::move(output_dir)),
      cancel_(std::move(cancel)),
      control_(control),
      stop_(std::move(stop)) {}

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

void GadgetRecord::book(std::uint64_t BookEntries::*account, std::uint64_t events) {
  const std::lock_guard lock(mutex_);
  books_.*account += events;
}

void GadgetRecord::book(std::map<std::string, std::uint64_t> BookEntries::*account, std::uint64_t events,
                        std::string_view reason) {
  if (events == 0) return;
  const std::lock_guard lock(mutex_);
  (books_.*account)[std::string(reason)] += events;
}

std::vector<std::string> GadgetRecord::files() const {
  const std::lock_guard lock(mutex_);
  return files_;
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

Turns::Turn Context::take_turn() {
  if (!record_->turns) return {};
  return wait_outside([&] { return record_->turns->wait(record_->cancel()); });
}

void Books::rejected(std::uint64_t events, std::string_view reason) {
  removed_ += events;
  record_->book(&BookEntries::rejected, events, reason);
}

void Books::lost(std::uint64_t events, std::string_view reason) {
  removed_ += events;
  record_->book(&BookEntries::lost, events, reason);
}

}  // namespace tofstream
