// What one event of CASToR's means to list-mode EM: its line, its ToF in mm, its counts, and the terms m and c T / m of
// share/doc/corrections.md, "Model and units":
//
//   m = 1 / (attenuation x normalisation x calibration)
//   c = scatter + randoms                                   counts per s, of the line
//   c = (scatter + randoms / range) x width                 list mode with ToF: scatter is per mm of ToF, randoms are of
//                                                           the whole line and uniform over the range; width is that of
//                                                           the bins that ToF was rounded to, or 1 mm
//   c = scatter + randoms / bins                            a ToF bin of a histogram
//
// (CASToR general documentation, "PET datafile format", and "Implementation of time-of-flight in CASToR"). An event of
// several pairs of crystals is the line between the means of their ends, as CASToR projects it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "gadgets/io/castor/data_header.hpp"
#include "gadgets/io/castor/record.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::castor {

struct ModelEvent {
  std::uint32_t detector1 = 0, detector2 = 0;  // of an event with one line
  Lor line;                                    // of others; and the ToF
  float multiplicative = 1, additive = 0, counts = 1;
};

class EventModel {
 public:
  /// `tof`: false for whole lines. `reference_s`: scan time whose decays an image counts. Throws std::runtime_error
  /// where ToF is to be left out of scatter that is stated per mm of it.
  EventModel(const DataHeader& header, std::shared_ptr<const Scanner> scanner, bool tof, double reference_s);

  bool has_lines() const { return header_.most_lines > 1; }  // whose ends are free
  bool has_tof() const { return tof_.sigma_mm > 0; }
  bool has_multiplicative() const { return header_.has_attenuation || header_.has_normalisation || has_additive(); }
  bool has_additive() const { return header_.has_scatter || header_.has_randoms; }
  bool has_counts() const { return header_.mode == DataMode::histogram; }
  const TofModel& tof() const { return tof_; }

  /// What is wrong with an event, and what to do; empty for one that can be.
  std::string wrong(const RecordView& record) const;
  /// The same for its crystals and correction factors alone.
  std::string wrong_as_line(const RecordView& record) const;
  /// Whether its factors say that it cannot have been recorded: an efficiency of 0, whose factor some write as 0.
  static bool is_impossible(const RecordView& record) {
    return !(record.attenuation() > 0 && record.normalisation() > 0);
  }
  /// An event of list mode, or a line with its m.
  ModelEvent event(const RecordView& record) const;
  /// Calls visit for each ToF bin of a histogram's event; once where there is no ToF, or it is left out.
  template <class Visit>
  void for_each_bin(const RecordView& record, Visit&& visit) const {
    ModelEvent bin = line_of(record);
    if (has_tof()) {
      for (std::size_t b = 0; b < bins_; ++b) visit(set_bin(bin, record, b, b + 1));
    } else {
      visit(set_bin(bin, record, 0, bins_));
    }
  }

 private:
  ModelEvent line_of(const RecordView& record) const;
  const ModelEvent& set_bin(ModelEvent& bin, const RecordView& record, std::size_t begin, std::size_t end) const;
  void set_terms(ModelEvent& event, const RecordView& record, float counts_a_second) const;
  std::string wrong_number(const RecordView& record) const;
  std::string wrong_line(const RecordView& record) const;
  std::string wrong_factors(const RecordView& record) const;

  const DataHeader header_;
  const std::shared_ptr<const Scanner> scanner_;
  TofModel tof_;
  std::size_t bins_ = 1;
  double reference_s_;
};

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
