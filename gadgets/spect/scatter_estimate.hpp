// The expected scatter of a scan's views, one for each source that it may come from: energy windows that come with the
// views, or a file.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gadgets/spect/view_corrections.hpp"
#include "gadgets/views.hpp"
#include "kernels/spect/scatter_windows.hpp"

namespace tofstream {

/// A view of the photopeak's window, and the scatter expected in it, on the host.
struct ViewWithScatter {
  ViewBatch view;
  Buffer<float> scatter;
};

/// Scatter from the energy windows beside the photopeak's. Views wait for one another, in whatever order they come.
class WindowScatter {
 public:
  /// `p.from` is windows. Throws std::invalid_argument, in one line, for parameters that exclude each other.
  explicit WindowScatter(const ViewScatterParams& p);

  /// Chooses a scan's windows, once. Throws std::runtime_error of one line where it has none below the photopeak's, or
  /// does not say the windows' energies.
  void prepare(const ViewSet& set);
  /// Takes one view of any window, on the host; gives what is complete by then. Throws as prepare does.
  std::vector<ViewWithScatter> take(ViewBatch view);
  /// The views that still wait for a window that never came.
  std::vector<ViewBatch> left() const;
  /// "from the energy window of 92 to 125 keV, times 0.4": once prepared.
  const std::string& words() const { return words_; }

 private:
  struct Waiting {
    std::deque<ViewBatch> photopeak, lower, upper;
  };

  int chosen_window(const ViewSet& set, bool is_below, const std::optional<std::array<float, 2>>& wanted) const;
  ViewWithScatter completed(Waiting& waiting) const;

  ViewScatterParams p_;
  int lower_ = 0, upper_ = 0;  // indices into the set's windows; 0: none
  ScatterWeights weights_;
  std::string words_;
  std::map<int, Waiting> waiting_;  // by the view's number
};

/// Scatter from a file of projections.
class FileScatter {
 public:
  /// Opens the file. Throws std::runtime_error as formats::open_views does.
  explicit FileScatter(const ViewScatterParams& p);

  /// The scatter of a view. Throws std::runtime_error of one line where the file is not of the view's scan.
  Buffer<float> of(const ViewBatch& view);
  const std::string& words() const { return words_; }

 private:
  void read(const ViewSet& scan);

  std::filesystem::path path_;
  std::unique_ptr<formats::ViewReader> reader_;  // until it has been read
  std::map<int, Buffer<float>> views_;
  std::shared_ptr<const ViewSet> compared_;
  std::string words_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
