// Writes views as Interfile 3.3 in the dialect that STIR reads: a header, and beside it a file of little-endian floats,
// [view][w][u]. What it writes, our reader reads back to the last bit: what the keys cannot say of single views stands
// in comments (view_lists.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/atomic_file.hpp"
#include "kernels/types/quantity.hpp"
#include "kernels/types/views.hpp"

namespace tofstream::formats {

/// How views of a set lie in an Interfile, whose angles go in equal steps.
struct InterfileOrder {
  std::vector<std::int32_t> place;  // in the file, of each view of the set
  double start_deg = 0;             // of the first view, as our sets count angles
  double extent_deg = 360;          // of the whole rotation; negative: clockwise
};

/// The order of the set's views, or of all heads' together by angle, in which the steps are equal. Throws
/// std::runtime_error, one line, where there is none.
InterfileOrder interfile_order(const ViewSet& set);

/// The header of the set, whose views show this; `data`: the name of the data file, which has the first energy window
/// alone. Throws std::runtime_error, one line, where the header would be longer than readers take.
std::string interfile_header(const ViewSet& set, const InterfileOrder& order, const Quantity& quantity,
                             const std::string& data);
/// The header of a stream of the set's views, in the set's order, whatever their steps, and of all energy windows.
/// Throws as interfile_header does.
std::string interfile_stream_header(const ViewSet& set, const Quantity& quantity);

class InterfileWriter {
 public:
  /// `header`: the header's path; the data file beside it has the same name and the suffix .s. Throws std::runtime_error
  /// of one line where Interfile cannot say what the set is, std::system_error where the files cannot be written.
  InterfileWriter(const std::filesystem::path& header, std::shared_ptr<const ViewSet> set, const Quantity& quantity);

  static std::filesystem::path data_of(std::filesystem::path header) { return header.replace_extension(".s"); }

  /// Views of the reconstructed window in host memory, in any order. Throws std::runtime_error, one line, where a view
  /// came before, or is of another set.
  void write(const ViewBatch& batch);
  /// Names both files. Throws std::runtime_error, one line, where a view never came.
  void commit();
  /// What other programs than ours do not learn of these views, a line each.
  std::vector<std::string> notes() const;

 private:
  std::shared_ptr<const ViewSet> set_;
  InterfileOrder order_;
  AtomicFile header_, data_;
  std::vector<bool> has_come_;
};

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
