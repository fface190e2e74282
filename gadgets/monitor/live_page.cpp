// The page at work: see live_page.hpp.
#include "gadgets/monitor/live_page.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gadgets/monitor/viewer_files.hpp"
#include "gadgets/write/estimate_writer.hpp"

namespace tofstream {
namespace {

using namespace std::chrono_literals;

constexpr auto state_pause = 500ms;
constexpr auto farewell = 1000ms;
constexpr double frames_unwatched = 1;  // a second, for who comes next
constexpr std::size_t most_on_their_way = 64;

page::EstimateCaption caption_of(const Estimate& estimate, std::uint32_t number, const MessageInfo& info) {
  const UpdateStep& step = estimate.step;
  const auto reasons = estimate.quantity ? not_quantitative_because(*estimate.quantity) : std::vector<std::string>();
  // A live scan has no iterations before it has ended: its updates are counted.
  const bool is_live = step.subsets == 0 && step.update > 0;
  return {.number = number,
          .iteration = static_cast<std::uint32_t>(is_live ? 0 : std::max(step.iteration, 0)),
          .subset = static_cast<std::uint32_t>(is_live ? step.update : std::max(step.subset + 1, 0)),
          .end_event = info.end_event,
          .unit = unit_of(estimate),
          .not_quantitative_because = fmt::format("{}", fmt::join(reasons, "; ")),
          .filtered = words_of(estimate.filters)};
}

}  // namespace

LivePage::LivePage(const LivePageSettings& settings, RunControl& run, Logger log)
    : settings_(settings), run_(run), log_(log), files_(viewer_files(viewer_folder())), past_(settings.past) {
  WebContent content;
  content.file = [this](std::string_view path) { return file(path); };
  content.greeting = [this] {
    const std::lock_guard lock(mutex_);
    return hello_message(run_, settings_.may_steer, counts_.entries());
  };
  content.answer = [this](std::string_view text) {
    return answer_message({run_, settings_.may_steer, [this](std::uint32_t number) { note_shown(number); }}, text);
  };
  server_ = std::make_unique<WebServer>(settings_.web, std::move(content));
  worker_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

std::string LivePage::url() const {
  const std::string& host = settings_.web.address.host;
  const bool is_v6 = host.find(':') != std::string::npos;
  return fmt::format("http://{}{}{}:{}/", is_v6 ? "[" : "", host, is_v6 ? "]" : "", server_->port());
}

void LivePage::take(std::shared_ptr<const Estimate> estimate, const MessageInfo& info) {
  std::optional<Taken> before;  // destroyed outside the lock
  const std::lock_guard lock(mutex_);
  MessageInfo data = info;
  data.end_event = end_event_ = std::max(end_event_, info.end_event);  // an update with old data adds none
  before = std::exchange(waiting_, Taken{std::move(estimate), data, ++taken_});
  wake_.notify_all();
}

void LivePage::work(const std::stop_token& stop) {
  Clock::time_point next_image = Clock::now(), next_state = next_image;
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const auto until = waiting_ ? std::min(next_state, next_image) : next_state;
    wake_.wait_until(lock, stop, until, [this, had = waiting_.has_value()] { return waiting_.has_value() != had; });
    if (stop.stop_requested()) return;
    const Clock::time_point now = Clock::now();
    if (waiting_ && now >= next_image) {
      const double rate =
          server_->watchers() > 0 ? frames_per_second_.load() : std::min(frames_per_second_.load(), frames_unwatched);
      next_image = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1 / rate));
      last_ = std::exchange(waiting_, std::nullopt);
      const Taken taken = *last_;
      lock.unlock();
      publish_image(taken, false);
      lock.lock();
    }
    if (now >= next_state) {
      next_state = now + state_pause;
      lock.unlock();
      publish_state(false);
      lock.lock();
    }
  }
}

// What fails here fails for the page alone: the reconstruction goes on, and says so once.
void LivePage::publish_image(const Taken& taken, bool is_final) try {
  const std::shared_ptr<const Image> image = on_host(*taken.estimate);
  page::EstimateCaption caption = caption_of(*taken.estimate, taken.number, taken.info);
  caption.is_final = is_final;
  caption.seconds = static_cast<float>(scan_seconds());
  auto message = std::make_shared<const std::string>(page::estimate_message(*image, caption, settings_.most_voxels));
  bool keep = false;
  {
    const std::lock_guard lock(mutex_);
    ++images_;
    if (taken.info.last_ingress > newest_data_) {  // an iteration over what was there before is no answer to an event
      newest_data_ = taken.info.last_ingress;
      on_their_way_.emplace_back(taken.number, newest_data_);
    }
    if (on_their_way_.size() > most_on_their_way) on_their_way_.pop_front();
    keep = !is_final && past_.wants(static_cast<double>(images_));
  }
  server_->publish_binary(std::move(message));
  if (!keep) return;
  Past past{{taken.number, caption.iteration, caption.subset, caption.seconds},
            std::make_shared<const std::string>(page::estimate_message(*image, caption, most_past_voxels))};
  const std::lock_guard lock(mutex_);
  past_.add(static_cast<double>(images_), std::move(past));
} catch (const std::exception& error) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(has_warned_, true)) log_.warning(fmt::format("the page gets no image: {}", error.what()));
}

void LivePage::publish_state(bool has_ended) {
  const RunReport report = run_.snapshot();
  PageFigures figures;
  note_data(report);
  figures.seconds = scan_seconds();
  figures.has_ended = has_ended;
  {
    const std::lock_guard lock(mutex_);
    counts_.add(figures.seconds, count_sample(report, figures.seconds));
    figures.images = images_;
    figures.shown = shown_locked();
    for (const Past& past : past_.entries()) figures.past.push_back(past.entry);
  }
  server_->publish_text(std::make_shared<const std::string>(state_message(run_, report, figures)));
}

void LivePage::note_data(const RunReport& report) {
  const std::chrono::duration<double> since(report.data_seconds);
  const std::lock_guard lock(mutex_);
  if (since.count() > 0 && !data_began_)
    data_began_ = Clock::now() - std::chrono::duration_cast<Clock::duration>(since);
}

double LivePage::scan_seconds() const {
  const std::lock_guard lock(mutex_);
  return data_began_ ? std::chrono::duration<double>(Clock::now() - *data_began_).count() : 0;
}

void LivePage::finish() {
  worker_ = {};
  if (waiting_) last_ = std::exchange(waiting_, std::nullopt);
  if (last_) publish_image(*last_, true);
  server_->drain(farewell);  // the image before the words that no other follows
  publish_state(true);
  server_->drain(farewell);
  server_->wait_until_left(farewell);
}

std::optional<WebFile> LivePage::file(std::string_view path) const {
  if (const auto found = files_.find(path); found != files_.end()) return found->second;
  constexpr std::string_view folder = "/past/";
  if (!path.starts_with(folder)) return std::nullopt;
  std::uint32_t number = 0;
  const char* end = path.data() + path.size();
  const auto [stop, wrong] = std::from_chars(path.data() + folder.size(), end, number);
  if (wrong != std::errc{} || stop != end) return std::nullopt;
  const std::lock_guard lock(mutex_);
  for (const Past& past : past_.entries())
    if (past.entry.number == number) return WebFile{"application/octet-stream", past.message};
  if (number == 0 || number > taken_) return std::nullopt;
  return WebFile{"application/octet-stream", nullptr};  // it was there when the page was told of it
}

void LivePage::note_shown(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(on_their_way_, number, [](const auto& image) { return image.first; });
  if (found != on_their_way_.end()) shown_.add(Clock::now() - found->second);
}

std::uint64_t LivePage::images() const {
  const std::lock_guard lock(mutex_);
  return images_;
}

LatencyFigures LivePage::shown() const {
  const std::lock_guard lock(mutex_);
  return shown_locked();
}

LatencyFigures LivePage::shown_locked() const {
  return {shown_.count(), shown_.quantile_seconds(0.5), shown_.quantile_seconds(0.99), shown_.max_seconds()};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
