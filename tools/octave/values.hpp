// Arguments and results of the MEX gateway: arrays of Matlab or Octave read in place, and made in place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "mex.h"

namespace tofstream::octave {

/// What becomes an error in the user's session: the part of its identifier after "tofstream:", and one line.
class Refused : public std::runtime_error {
 public:
  Refused(const char* kind, const std::string& line) : std::runtime_error(line), kind_(kind) {}
  const char* kind() const { return kind_; }

 private:
  const char* kind_;
};

/// Sizes of an array along its axes, the fastest first; ones at the end do not count.
using Shape = std::vector<std::int64_t>;

/// "12 x 10 x 8", with at least two axes.
std::string in_words(const Shape& shape);
Shape shape_of(const mxArray* value);
bool is_same(Shape a, Shape b);

/// The numbers of a single or double array: in place where they are of this type, else in a copy.
template <class Number>
class Numbers {
 public:
  Numbers() = default;
  const Number* data() const { return copy_.empty() ? given_ : copy_.data(); }

 private:
  friend class Arguments;
  const Number* given_ = nullptr;
  std::vector<Number> copy_;
};
using Floats = Numbers<float>;
using Doubles = Numbers<double>;

/// The arguments of a call, taken one after the other. Each function throws Refused where the next one is missing or
/// is not what it names.
class Arguments {
 public:
  Arguments(int count, const mxArray* const* values) : count_(count), values_(values) {}

  std::string text(const char* name);
  std::vector<std::string> texts(const char* name);
  std::uint64_t identity(const char* name);
  std::int64_t whole(const char* name);
  std::vector<std::int32_t> wholes(const char* name, std::size_t count);
  /// Real numbers, `count` of them where it is given.
  std::vector<double> numbers(const char* name, std::optional<std::size_t> count = {});
  /// An array of this shape.
  Floats floats(const char* name, const Shape& shape);
  Doubles doubles(const char* name, const Shape& shape);
  /// The same, or null pointers for an empty one.
  Floats optional_floats(const char* name, const Shape& shape);
  /// `count` numbers in place, which therefore must be single (uint32); null for an empty array.
  const float* single_in_place(const char* name, std::size_t count);
  const std::uint32_t* uint32_in_place(const char* name, std::size_t count);

 private:
  template <class Number>
  Numbers<Number> array_of(const char* name, const Shape& shape);
  const mxArray* next(const char* name);
  const void* in_place(const char* name, std::size_t count, mxClassID type, const char* type_name);

  int count_;
  const mxArray* const* values_;
  int taken_ = 0;
};

mxArray* make_text(const std::string& text);
mxArray* make_texts(const std::vector<std::string>& texts);
/// A column, or a row.
mxArray* make_column(const std::vector<double>& numbers);
mxArray* make_row(const std::vector<double>& numbers);
mxArray* make_identity(std::uint64_t identity);
/// Zeros in single precision. Octave copies what mxCreateNumericArray made when a call returns it; it takes this as
/// it is.
mxArray* make_singles(const Shape& shape);
mxArray* make_doubles(const Shape& shape);
float* singles_of(mxArray* array);
double* doubles_of(mxArray* array);

}  // namespace tofstream::octave
// SPDX-License-Identifier: Apache-2.0
