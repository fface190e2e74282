// Arguments and results of the MEX gateway: see values.hpp.
#include "values.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <type_traits>

namespace tofstream::octave {
namespace {

[[noreturn]] void refuse(const std::string& line) {
  throw Refused("invalid", line);
}

std::string type_of(const mxArray* value) {
  if (mxIsSparse(value)) return "sparse";
  if (mxIsComplex(value)) return "complex";
  return mxGetClassName(value);
}

bool is_real_array(const mxArray* value, mxClassID type) {
  return mxGetClassID(value) == type && !mxIsSparse(value) && !mxIsComplex(value);
}

std::string text_of(const mxArray* value, const char* name) {
  if (!mxIsChar(value)) refuse(std::string(name) + " is " + type_of(value) + ", and must be text");
  char* const text = mxArrayToString(value);
  if (!text) refuse(std::string(name) + " cannot be read as text");
  std::string copy = text;
  mxFree(text);
  return copy;
}

template <class T>
void append_as_doubles(const mxArray* value, std::vector<double>& numbers) {
  const T* const first = static_cast<const T*>(mxGetData(value));
  numbers.insert(numbers.end(), first, first + mxGetNumberOfElements(value));
}

constexpr double largest_exact = 9007199254740992;  // of whole numbers in a double

std::int64_t whole_of(double number, const char* name, double largest) {
  if (std::nearbyint(number) == number && std::abs(number) <= largest) return static_cast<std::int64_t>(number);
  char words[32];
  std::snprintf(words, sizeof words, "%g", number);
  refuse(std::string(name) + " is " + words + ", and must be a whole number");
}

template <class From, class To>
void convert(const mxArray* value, std::vector<To>& copy) {
  const auto* const first = static_cast<const From*>(mxGetData(value));
  const std::size_t count = mxGetNumberOfElements(value);
  copy.reserve(count);
  for (std::size_t i = 0; i < count; ++i) copy.push_back(static_cast<To>(first[i]));
}

mxArray* make_zeros(const Shape& shape, const char* type) {
  mxArray* arguments[] = {make_row({shape.begin(), shape.end()}), mxCreateString(type)};
  mxArray* made = nullptr;
  mxArray* const problem = mexCallMATLABWithTrap(1, &made, 2, arguments, "zeros");
  for (mxArray* argument : arguments) mxDestroyArray(argument);
  if (problem || !made) throw Refused("no_memory", "there is no memory for an array of " + in_words(shape));
  return made;
}

mxArray* make_matrix(std::size_t rows, std::size_t columns, const std::vector<double>& numbers) {
  mxArray* const made = mxCreateDoubleMatrix(rows, columns, mxREAL);
  std::copy(numbers.begin(), numbers.end(), static_cast<double*>(mxGetData(made)));
  return made;
}

}  // namespace

std::string in_words(const Shape& shape) {
  std::string words;
  for (std::size_t axis = 0; axis < shape.size() || axis < 2; ++axis)
    words += (axis > 0 ? " x " : "") + std::to_string(axis < shape.size() ? shape[axis] : 1);
  return words;
}

Shape shape_of(const mxArray* value) {
  const mwSize* const first = mxGetDimensions(value);
  return {first, first + mxGetNumberOfDimensions(value)};
}

bool is_same(Shape a, Shape b) {
  a.resize(std::max(a.size(), b.size()), 1);
  b.resize(a.size(), 1);
  return a == b;
}

const mxArray* Arguments::next(const char* name) {
  if (taken_ == count_) refuse(std::string(name) + " is missing");
  return values_[taken_++];
}

std::string Arguments::text(const char* name) {
  return text_of(next(name), name);
}

std::vector<std::string> Arguments::texts(const char* name) {
  const mxArray* const cells = next(name);
  if (!mxIsCell(cells)) refuse(std::string(name) + " is " + type_of(cells) + ", and must be a cell array");
  std::vector<std::string> all;
  for (std::size_t i = 0; i < mxGetNumberOfElements(cells); ++i) all.push_back(text_of(mxGetCell(cells, i), name));
  return all;
}

std::uint64_t Arguments::identity(const char* name) {
  const mxArray* const value = next(name);
  if (!is_real_array(value, mxUINT64_CLASS) || mxGetNumberOfElements(value) != 1)
    refuse(std::string(name) + " is " + type_of(value) + ", and must be an operator's number");
  return *static_cast<const std::uint64_t*>(mxGetData(value));
}

std::vector<double> Arguments::numbers(const char* name, std::optional<std::size_t> count) {
  const mxArray* const value = next(name);
  std::vector<double> numbers;
  if (is_real_array(value, mxDOUBLE_CLASS))
    append_as_doubles<double>(value, numbers);
  else if (is_real_array(value, mxSINGLE_CLASS))
    append_as_doubles<float>(value, numbers);
  else if (is_real_array(value, mxINT32_CLASS))
    append_as_doubles<std::int32_t>(value, numbers);
  else
    refuse(std::string(name) + " is " + type_of(value) + ", and must be numbers (double)");
  if (count && numbers.size() != *count)
    refuse(std::string(name) + " has " + std::to_string(numbers.size()) + " numbers, and must have " +
           std::to_string(*count));
  return numbers;
}

std::int64_t Arguments::whole(const char* name) {
  return whole_of(numbers(name, 1).front(), name, largest_exact);
}

std::vector<std::int32_t> Arguments::wholes(const char* name, std::size_t count) {
  std::vector<std::int32_t> all;
  for (const double number : numbers(name, count))
    all.push_back(static_cast<std::int32_t>(whole_of(number, name, std::numeric_limits<std::int32_t>::max())));
  return all;
}

template <class Number>
Numbers<Number> Arguments::array_of(const char* name, const Shape& shape) {
  constexpr bool wants_double = std::is_same_v<Number, double>;
  const mxArray* const value = next(name);
  const bool is_double = is_real_array(value, mxDOUBLE_CLASS);
  if (!is_double && !is_real_array(value, mxSINGLE_CLASS))
    refuse(std::string(name) + " is " + type_of(value) + ", and must be full, real and " +
           (wants_double ? "double (single" : "single (double") + " is converted)");
  if (const Shape given = shape_of(value); !is_same(given, shape))
    refuse(std::string(name) + " is " + in_words(given) + ", and must be " + in_words(shape));
  Numbers<Number> numbers;
  if (is_double == wants_double)
    numbers.given_ = static_cast<const Number*>(mxGetData(value));
  else if (is_double)
    convert<double>(value, numbers.copy_);
  else
    convert<float>(value, numbers.copy_);
  return numbers;
}

Floats Arguments::floats(const char* name, const Shape& shape) {
  return array_of<float>(name, shape);
}

Doubles Arguments::doubles(const char* name, const Shape& shape) {
  return array_of<double>(name, shape);
}

Floats Arguments::optional_floats(const char* name, const Shape& shape) {
  if (taken_ < count_ && mxIsEmpty(values_[taken_])) {
    ++taken_;
    return {};
  }
  return floats(name, shape);
}

const void* Arguments::in_place(const char* name, std::size_t count, mxClassID type, const char* type_name) {
  const mxArray* const value = next(name);
  if (mxIsEmpty(value)) return nullptr;
  if (!is_real_array(value, type))
    refuse(std::string(name) + " is " + type_of(value) + ", and must be full, real and " + type_name);
  if (mxGetNumberOfElements(value) != count)
    refuse(std::string(name) + " has " + std::to_string(mxGetNumberOfElements(value)) + " numbers, and there are " +
           std::to_string(count) + " events");
  return mxGetData(value);
}

const float* Arguments::single_in_place(const char* name, std::size_t count) {
  return static_cast<const float*>(in_place(name, count, mxSINGLE_CLASS, "single"));
}

const std::uint32_t* Arguments::uint32_in_place(const char* name, std::size_t count) {
  return static_cast<const std::uint32_t*>(in_place(name, count, mxUINT32_CLASS, "uint32"));
}

mxArray* make_text(const std::string& text) {
  return mxCreateString(text.c_str());
}

mxArray* make_texts(const std::vector<std::string>& texts) {
  mxArray* const cells = mxCreateCellMatrix(1, texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) mxSetCell(cells, i, make_text(texts[i]));
  return cells;
}

mxArray* make_column(const std::vector<double>& numbers) {
  return make_matrix(numbers.size(), 1, numbers);
}

mxArray* make_row(const std::vector<double>& numbers) {
  return make_matrix(1, numbers.size(), numbers);
}

mxArray* make_identity(std::uint64_t identity) {
  mxArray* const made = mxCreateNumericMatrix(1, 1, mxUINT64_CLASS, mxREAL);
  *static_cast<std::uint64_t*>(mxGetData(made)) = identity;
  return made;
}

mxArray* make_singles(const Shape& shape) {
  return make_zeros(shape, "single");
}

mxArray* make_doubles(const Shape& shape) {
  return make_zeros(shape, "double");
}

float* singles_of(mxArray* array) {
  return static_cast<float*>(mxGetData(array));
}

double* doubles_of(mxArray* array) {
  return static_cast<double*>(mxGetData(array));
}

}  // namespace tofstream::octave
// SPDX-License-Identifier: Apache-2.0
