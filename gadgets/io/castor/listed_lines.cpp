// Lines of CASToR's normalisation files: see listed_lines.hpp.
#include "gadgets/io/castor/listed_lines.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "gadgets/io/wire/checksum.hpp"

namespace tofstream::castor {
namespace {

// The lines' header with the calibration of the data, where the two can belong together.
DataHeader matched(DataHeader lines, const DataHeader& of_data) {
  const auto refuse = [&](const std::string& why) {
    throw std::runtime_error(fmt::format("{}: {}", lines.file.string(), why));
  };
  if (lines.mode == DataMode::list)
    refuse("these are events of list mode, and no normalisation: name the header of a normalisation or a histogram");
  if (lines.scanner != of_data.scanner)
    refuse(fmt::format("these are lines of the scanner '{}', and {} is of '{}'", lines.scanner, of_data.file.string(),
                       of_data.scanner));
  const auto require_in_data = [&](bool is_in_lines, bool is_in_data, const char* what) {
    if (is_in_lines && !is_in_data && (of_data.has_randoms || of_data.has_scatter))
      refuse(fmt::format("the lines have factors for {}, and the events of {} have rates of randoms or scatter without "
                         "these: write both files with them",
                         what, of_data.file.string()));
  };
  require_in_data(lines.has_attenuation, of_data.has_attenuation, "attenuation");
  require_in_data(lines.has_normalisation, of_data.has_normalisation, "normalisation");
  lines.calibration = of_data.calibration;
  return lines;
}

}  // namespace

ListedLines::ListedLines(const DataHeader& lines, const DataHeader& of_data, std::shared_ptr<const Scanner> scanner)
    : header_(matched(lines, of_data)),
      scanner_(std::move(scanner)),
      model_(header_, scanner_, false, 1),
      file_(header_) {
  constexpr std::uint64_t at_a_time = 1 << 20;
  std::uint32_t sum = 0;
  for (std::uint64_t first = 0; first < header_.events; first += at_a_time)
    sum = wire::crc32c(read(first, std::min(at_a_time, header_.events - first)), sum);
  key_ = fmt::format("castor {} {} calibration {} {:08x}", header_.events, layout_in_words(header_),
                     header_.calibration, sum);
}

std::vector<std::byte> ListedLines::read(std::uint64_t first, std::uint64_t count) const {
  std::vector<std::byte> bytes;
  const std::lock_guard lock(mutex_);
  file_.read(first, count, bytes);
  return bytes;
}

// Those that can count.
std::vector<ModelEvent> ListedLines::model_of(std::int64_t begin, std::int64_t end) const {
  const auto first = static_cast<std::uint64_t>(begin), count = static_cast<std::uint64_t>(end - begin);
  const std::vector<std::byte> bytes = read(first, count);
  std::vector<ModelEvent> made(count);
  tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, count, 4096), [&](const auto& range) {
    for (std::uint64_t i = range.begin(); i < range.end(); ++i) {
      const RecordView record = file_.event(bytes, i);
      if (const std::string wrong = model_.wrong_as_line(record); !wrong.empty())
        throw std::runtime_error(fmt::format("{}: {}", file_.place_of(first + i), wrong));
      if (EventModel::is_impossible(record))
        made[i].multiplicative = 0;
      else
        made[i] = model_.event(record);
    }
  });
  std::erase_if(made, [](const ModelEvent& line) { return line.multiplicative == 0; });
  return made;
}

EventBatch ListedLines::lines(std::int64_t begin, std::int64_t end) const {
  const std::vector<ModelEvent> made = model_of(begin, end);
  EventBatch batch;
  batch.count = static_cast<std::int64_t>(made.size());
  batch.scanner = scanner_;
  const auto fill = [&]<class T>(Buffer<T>& array, auto of) {
    array = Buffer<T>(Memory::host, batch.count);
    std::ranges::transform(made, array.span().begin(), of);
  };
  fill(batch.multiplicative, [](const ModelEvent& line) { return line.multiplicative; });
  if (model_.has_lines()) {
    for (int e = 0; e < 6; ++e)
      fill(batch.ends[e], [e](const ModelEvent& line) { return (e < 3 ? line.line.end1 : line.line.end2)[e % 3]; });
    return batch;
  }
  batch.detectors = scanner_->detectors;
  fill(batch.detector1, [](const ModelEvent& line) { return line.detector1; });
  fill(batch.detector2, [](const ModelEvent& line) { return line.detector2; });
  return batch;
}

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
