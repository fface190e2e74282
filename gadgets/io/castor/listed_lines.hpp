// The lines that a CASToR normalisation file lists, or a histogram, with how efficiently each of them counts:
//
//   m = 1 / (attenuation x normalisation x calibration)
//
// with the calibration of the data. From these alone CASToR makes its sensitivity (CASToR general documentation, "PET
// datafile format"). A line that joins several pairs of crystals lies between the means of their ends, as an event's.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gadgets/io/castor/data_file.hpp"
#include "gadgets/io/castor/data_header.hpp"
#include "gadgets/io/castor/event_model.hpp"
#include "kernels/types/recorded_lines.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::castor {

class ListedLines final : public RecordedLines {
 public:
  /// `of_data`: the header of the data whose sensitivity the lines are. `scanner`: that of the data, without lines,
  /// since these do not keep themselves alive. Throws what DataFile throws, and std::runtime_error of one line where the two
  /// headers cannot belong together: another scanner, events of list mode, or rates of randoms or scatter in data that
  /// lack a factor which the lines have.
  ListedLines(const DataHeader& lines, const DataHeader& of_data, std::shared_ptr<const Scanner> scanner);

  std::int64_t size() const override { return static_cast<std::int64_t>(header_.events); }
  /// Throws std::runtime_error that names file, line and byte for one that cannot be.
  EventBatch lines(std::int64_t begin, std::int64_t end) const override;
  std::string key() const override { return key_; }
  bool has_attenuation() const override { return header_.has_attenuation; }

  const DataHeader& header() const { return header_; }

 private:
  std::vector<std::byte> read(std::uint64_t first, std::uint64_t count) const;
  std::vector<ModelEvent> model_of(std::int64_t begin, std::int64_t end) const;

  const DataHeader header_;
  const std::shared_ptr<const Scanner> scanner_;
  const EventModel model_;
  mutable std::mutex mutex_;
  mutable DataFile file_;
  std::string key_;
};

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
