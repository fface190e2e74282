// Signals out of PETSIRD: see petsird_signal.hpp.
#include "gadgets/gating/petsird_signal.hpp"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "gadgets/io/petsird/decoder.hpp"

namespace tofstream {
namespace {

bool is_trigger(petsird::ExternalSignalType type) {
  using Type = petsird::ExternalSignalType;
  return type == Type::ecg_trigger || type == Type::respiration_trigger || type == Type::other_motion_trigger ||
         type == Type::external_sync || type == Type::mr_pulse_start;
}

struct SignalSample {
  double time_s = 0, value = 0;
};

class SignalCollector final : public petsird::Handler {
 public:
  explicit SignalCollector(std::optional<std::uint32_t> id) : id_(id) {}

  void on_header(petsird::Header&& header) override {
    if (header.exam) signals_ = std::move(header.exam->external_signals);
    const auto wanted = std::ranges::find_if(
        signals_, [&](const petsird::ExternalSignal& signal) { return !id_ || signal.id == *id_; });
    if (wanted == signals_.end() || (!id_ && signals_.size() > 1))
      throw std::runtime_error(signals_.empty()
                                   ? "it has no external signals"
                                   : fmt::format("signal_id must name one of its signals: {}", in_words()));
    wanted_ = *wanted;
  }

  void on_other_block(const petsird::OtherBlock& block) override {
    const auto* const signal = std::get_if<petsird::ExternalSignalBlock>(&block);
    if (!signal || signal->signal_id != wanted_.id) return;
    constexpr double ms = 1e-3;
    const double start_s = ms * signal->interval.start_ms, stop_s = ms * signal->interval.stop_ms;
    if (is_trigger(wanted_.type)) return samples_.push_back({start_s, 0});
    const auto count = static_cast<double>(signal->values.size());
    for (std::size_t i = 0; i < signal->values.size(); ++i)
      samples_.push_back({start_s + (stop_s - start_s) * (static_cast<double>(i) + 0.5) / count,
                          static_cast<double>(signal->values[i])});
  }

  // Blocks may come in any order, and of two samples of one time the first is taken.
  MotionSignal signal() {
    if (samples_.empty()) throw std::runtime_error(fmt::format("signal {} has no values", wanted_.id));
    std::ranges::stable_sort(samples_, {}, &SignalSample::time_s);
    MotionSignal signal;
    for (const SignalSample& sample : samples_) {
      if (!signal.time_s.empty() && !(sample.time_s > signal.time_s.back())) continue;
      signal.time_s.push_back(sample.time_s);
      if (!is_trigger(wanted_.type)) signal.value.push_back(sample.value);
    }
    return signal;
  }

 private:
  std::string in_words() const {
    std::vector<std::string> words;
    for (const petsird::ExternalSignal& signal : signals_)
      words.push_back(
          fmt::format("{} ({})", signal.id, signal.description.empty() ? "without a name" : signal.description));
    return fmt::format("{}", fmt::join(words, ", "));
  }

  std::optional<std::uint32_t> id_;
  std::vector<petsird::ExternalSignal> signals_;
  petsird::ExternalSignal wanted_;
  std::vector<SignalSample> samples_;
};

}  // namespace

MotionSignal read_petsird_signal(const std::filesystem::path& file, std::optional<std::uint32_t> id) try {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot be read");
  SignalCollector collector(id);
  petsird::Decoder decoder(collector);
  std::vector<std::byte> bytes(std::size_t{1} << 20);
  while (stream) {
    stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    decoder.push(std::span(bytes).first(static_cast<std::size_t>(stream.gcount())));
  }
  decoder.finish();
  return collector.signal();
} catch (const std::exception& error) {
  throw std::runtime_error(fmt::format("{}: {}", file.string(), error.what()));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
