// What frames' images are sums of: functions of time, and the images that their coefficients make.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/gadget.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/dynamic/time_function.hpp"

namespace tofstream {

inline constexpr auto* plasma_words =
    "The input function: a CSV with time_s, from the scan's start, and value, the activity of plasma in the unit of "
    "the "
    "image";
inline constexpr auto* uptake_words = "Name in the output folder of the image of K_i, in 1/min";
inline constexpr auto* volume_words = "Name in the output folder of the image of V, without a unit";
inline constexpr auto* function_table_words =
    "A CSV with time_s, from the scan's start, and f1, f2, ... to at most f8: functions of time that are not negative, "
    "linear between their times";

/// The image of a coefficient.
struct CoefficientImage {
  std::filesystem::path file;
  std::string description, unit;
  double scale = 1;  // of the coefficient in seconds
};

class FrameFunctions {
 public:
  /// Patlak's two, int_0^t C_p and C_p. `from`: what plasma was read from, for messages; empty: not from a file.
  static FrameFunctions of_plasma(TimeFunction plasma, std::filesystem::path from, std::filesystem::path uptake,
                                  std::filesystem::path volume);
  /// The functions of a table, to f1.nii.gz, f2.nii.gz, ... Throws as read_time_functions() does.
  static FrameFunctions of_table(const std::filesystem::path& from);

  std::size_t count() const { return images_.size(); }
  const std::vector<CoefficientImage>& images() const { return images_; }
  /// Their means over a frame. Throws std::runtime_error where they end before it does, and warns once where much of an
  /// integral lies before the first time that was measured.
  std::vector<double> of(const ScanFrame& frame, Context& context);
  void write(std::size_t coefficient, const Image& values, Context& context) const;

 private:
  void warn_of_begin(double integral, Context& context);

  std::vector<TimeFunction> functions_;
  bool has_integral_ = false;  // of the one function, first
  std::filesystem::path from_;
  std::vector<CoefficientImage> images_;
  bool warned_ = false;
};

/// Warns once, where frames are not corrected for decay: coefficients are then of what decays too.
class DecayWarning {
 public:
  void note(const Quantity* quantity, Context& context);

 private:
  bool warned_ = false;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
