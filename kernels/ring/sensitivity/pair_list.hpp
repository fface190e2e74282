// All pairs of detectors that a scanner can record, numbered module pair after module pair, and their efficiencies:
// tables of the scanner in one kind of memory, and look-ups in them that the host and a CUDA device share. Internal to
// the sensitivity and to events' corrections.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/math/host_device.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::detail {

/// In the order of events: detector1 > detector2.
struct DetectorPair {
  std::uint32_t detector1, detector2;
};

struct PairModule {
  std::uint32_t first_detector, elements, energies;
  std::uint64_t first_bin;  // of its first detector, into the bins' efficiencies
};

/// The pairs between two modules, module1 >= module2.
struct PairBlock {
  std::int64_t first_number;
  std::uint32_t module1, module2;
  std::int32_t table;  // -1: no table
};

struct PairTable {
  const float* values;
  std::uint32_t columns;
};

/// What look-ups read: pointers into one kind of memory, passed by value. Null stands for a factor of 1.
struct PairView {
  std::int64_t pairs = 0, block_count = 0;
  const PairBlock* blocks = nullptr;
  const PairModule* modules = nullptr;
  const PairTable* tables = nullptr;
  const float* bin_efficiency = nullptr;
  const float* detector_efficiency = nullptr;  // the same summed over energy bins
  const Vec3* normals = nullptr;               // of modules
  const ElementResponse* elements = nullptr;
  const Detector* detectors = nullptr;
  float calibration = 1;
  const ModuleType* types = nullptr;
  int type_count = 0;
  std::uint32_t module_count = 0;
  const std::int32_t* module_pair = nullptr;  // as Scanner::module_pair; null: all pairs of different modules count
  const float* live = nullptr;                // as LivePattern::factor

  TOFSTREAM_HOST_DEVICE std::uint32_t module_of(std::uint32_t detector) const {
    int type = type_count - 1;
    while (types[type].first_detector > detector) --type;
    return types[type].first_module + (detector - types[type].first_detector) / types[type].elements;
  }
};

/// Row of the n-th cell below the diagonal of a square table, row after row.
TOFSTREAM_HOST_DEVICE inline std::int64_t row_below_diagonal(std::int64_t n) {
  auto row = static_cast<std::int64_t>((1 + std::sqrt(1 + 8 * static_cast<double>(n))) / 2);
  while (row * (row - 1) / 2 > n) --row;
  while (row * (row + 1) / 2 <= n) ++row;
  return row;
}

/// A place in the list. It keeps the block of the last pair, so that neighbours are found at once.
class PairCursor {
 public:
  TOFSTREAM_HOST_DEVICE explicit PairCursor(const PairView& list) : list_(list) {}

  /// The pair of a number in [0, pairs).
  TOFSTREAM_HOST_DEVICE DetectorPair pair(std::int64_t number) {
    if (number < begin_ || number >= end_) enter_block(number);
    const std::int64_t n = number - begin_;
    const bool within_module = block_.module1 == block_.module2;
    const std::int64_t row = within_module ? row_below_diagonal(n) : n / module2_.elements;
    const std::int64_t column = n - (within_module ? row * (row - 1) / 2 : row * module2_.elements);
    return {module1_.first_detector + static_cast<std::uint32_t>(row),
            module2_.first_detector + static_cast<std::uint32_t>(column)};
  }

  /// The number of the first pair of the two modules of the pair that pair() gave last, and these.
  TOFSTREAM_HOST_DEVICE std::int64_t block_begin() const { return begin_; }
  /// The number of another pair of the same modules.
  TOFSTREAM_HOST_DEVICE std::int64_t number_of(DetectorPair pair) const {
    const std::int64_t row = pair.detector1 - module1_.first_detector,
                       column = pair.detector2 - module2_.first_detector;
    return begin_ + (block_.module1 == block_.module2 ? row * (row - 1) / 2 : row * module2_.elements) + column;
  }
  const PairModule& module1() const { return module1_; }
  const PairModule& module2() const { return module2_; }

  /// Goes to a pair by its detectors, detector1 >= detector2; false where the scanner does not record it. The next
  /// number that pair() is asked for is looked up from the beginning.
  TOFSTREAM_HOST_DEVICE bool find(DetectorPair pair) {
    begin_ = end_ = 0;
    block_.module1 = list_.module_of(pair.detector1);
    block_.module2 = list_.module_of(pair.detector2);
    module1_ = list_.modules[block_.module1];
    module2_ = list_.modules[block_.module2];
    const std::size_t cell = static_cast<std::size_t>(block_.module1) * list_.module_count + block_.module2;
    const std::int32_t group = list_.module_pair ? list_.module_pair[cell] : 0;
    block_.table = list_.tables ? group : -1;
    return list_.module_pair ? group >= 0 : block_.module1 != block_.module2;
  }

  /// Scanner::efficiency of the pair that pair() gave or find() found last.
  TOFSTREAM_HOST_DEVICE float efficiency(DetectorPair pair) const {
    double result = block_.table >= 0 && module1_.energies * module2_.energies > 1 ? over_energies(pair) : simple(pair);
    if (list_.elements)
      result *= static_cast<double>(pair_response(
          list_.elements[pair.detector1 - module1_.first_detector], list_.normals[block_.module1],
          list_.detectors[pair.detector1].position_mm, list_.elements[pair.detector2 - module2_.first_detector],
          list_.normals[block_.module2], list_.detectors[pair.detector2].position_mm));
    if (list_.live)
      result *= static_cast<double>(
          list_.live[static_cast<std::size_t>(block_.module1) * list_.module_count + block_.module2]);
    return static_cast<float>(static_cast<double>(list_.calibration) * result);
  }

 private:
  TOFSTREAM_HOST_DEVICE void enter_block(std::int64_t number) {
    std::int64_t low = 0, high = list_.block_count;  // the last block that begins at or before the number
    while (high - low > 1) {
      const std::int64_t middle = (low + high) / 2;
      (list_.blocks[middle].first_number <= number ? low : high) = middle;
    }
    block_ = list_.blocks[low];
    begin_ = block_.first_number;
    end_ = low + 1 < list_.block_count ? list_.blocks[low + 1].first_number : list_.pairs;
    module1_ = list_.modules[block_.module1];
    module2_ = list_.modules[block_.module2];
  }

  /// Where a pair has one cell in the table, or none.
  TOFSTREAM_HOST_DEVICE double simple(DetectorPair pair) const {
    double result = 1;
    if (list_.detector_efficiency)
      result = static_cast<double>(list_.detector_efficiency[pair.detector1]) *
               static_cast<double>(list_.detector_efficiency[pair.detector2]);
    if (block_.table < 0) return result;
    const PairTable& table = list_.tables[block_.table];
    const std::size_t row = pair.detector1 - module1_.first_detector, column = pair.detector2 - module2_.first_detector;
    return result * static_cast<double>(table.values[row * table.columns + column]);
  }

  TOFSTREAM_HOST_DEVICE double over_energies(DetectorPair pair) const {
    const PairTable& table = list_.tables[block_.table];
    const std::uint32_t energies1 = module1_.energies, energies2 = module2_.energies;
    const std::size_t row = std::size_t{energies1} * (pair.detector1 - module1_.first_detector);
    const std::size_t column = std::size_t{energies2} * (pair.detector2 - module2_.first_detector);
    double sum = 0;
    for (std::uint32_t e1 = 0; e1 < energies1; ++e1)
      for (std::uint32_t e2 = 0; e2 < energies2; ++e2) {
        double product = static_cast<double>(table.values[(row + e1) * table.columns + column + e2]);
        if (list_.bin_efficiency)
          product *= static_cast<double>(list_.bin_efficiency[module1_.first_bin + row + e1]) *
                     static_cast<double>(list_.bin_efficiency[module2_.first_bin + column + e2]);
        sum += product;
      }
    return sum;
  }

  const PairView& list_;
  std::int64_t begin_ = 0, end_ = 0;  // numbers of the pairs in this block
  PairBlock block_{};
  PairModule module1_{}, module2_{};
};

/// Scanner::efficiency of any two detectors, by the same tables as the sensitivity's.
TOFSTREAM_HOST_DEVICE inline float efficiency_of(const PairView& list, std::uint32_t detector1,
                                                 std::uint32_t detector2) {
  PairCursor cursor(list);
  const bool ordered = detector1 >= detector2;
  const DetectorPair pair{ordered ? detector1 : detector2, ordered ? detector2 : detector1};
  return cursor.find(pair) ? cursor.efficiency(pair) : 0.0f;
}

/// Owns the tables in one kind of memory.
class PairList {
 public:
  /// Keeps a reference to the scanner, whose tables must be valid. Copies to a device are queued on the stream.
  explicit PairList(const Scanner& scanner, Memory memory = Memory::host, Stream stream = nullptr);

  std::int64_t size() const { return view_.pairs; }
  const PairView& view() const { return view_; }

 private:
  std::vector<PairModule> list_modules() const;
  std::vector<PairBlock> list_blocks(const std::vector<PairModule>& modules);
  std::vector<float> summed_over_energies() const;
  std::vector<PairTable> place_tables(Memory memory, Stream stream);

  const Scanner& scanner_;
  PairView view_;
  Buffer<ModuleType> types_;
  Buffer<std::int32_t> module_pair_;
  Buffer<PairBlock> blocks_;
  Buffer<PairModule> modules_;
  Buffer<PairTable> tables_;
  Buffer<float> table_values_, bin_efficiency_, detector_efficiency_, live_;
  Buffer<Vec3> normals_;
  Buffer<ElementResponse> elements_;
};

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
