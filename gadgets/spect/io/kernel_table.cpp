// Kernel tables from YAML: see kernel_table.hpp.
#include "gadgets/spect/io/kernel_table.hpp"

#include <array>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "gadgets/io/yaml/described_file.hpp"

namespace tofstream::formats {
namespace {

struct KernelTableFile {
  struct Kernel {
    float depth_mm = 0;
    std::vector<float> values;
    static constexpr auto params = describe(
        param<&Kernel::depth_mm>("depth_mm", required, range(0, 1e5), unit("mm"), "From the collimator's face"),
        param<&Kernel::values>("values", required, range(0, 1e30), "Row by row, u fastest; their sum is the gain"));
  };
  std::string name, description;
  std::array<int, 2> size{};
  std::vector<Kernel> kernels;
  static constexpr auto params =
      describe(param<&KernelTableFile::name>("name", "What it is called"),
               param<&KernelTableFile::description>("description", "For people"),
               param<&KernelTableFile::size>("size", required, range(1, 1023), "Pixels across and along the axis; odd"),
               param<&KernelTableFile::kernels>("kernels", required, "One for each of some depths, in their order"));
};

KernelTable table_of(const KernelTableFile& file) {
  KernelTable table{.across = file.size[0], .along = file.size[1]};
  const auto pixels = static_cast<std::size_t>(file.size[0]) * static_cast<std::size_t>(file.size[1]);
  for (const auto& kernel : file.kernels) {
    if (kernel.values.size() != pixels)
      throw std::invalid_argument(fmt::format("the kernel at {} mm has {} values, and size says {} x {}: give {}",
                                              kernel.depth_mm, kernel.values.size(), file.size[0], file.size[1],
                                              pixels));
    if (!(std::accumulate(kernel.values.begin(), kernel.values.end(), 0.0) > 0))
      throw std::invalid_argument(fmt::format("the kernel at {} mm is all 0", kernel.depth_mm));
    table.depths_mm.push_back(kernel.depth_mm);
    table.values.insert(table.values.end(), kernel.values.begin(), kernel.values.end());
  }
  validate(PsfModel(table));
  return table;
}

}  // namespace

KernelTable read_kernel_table(const std::filesystem::path& path) {
  const Value document = read_document(path);
  const auto file = described<KernelTableFile>(document, "kernel table");
  try {
    return table_of(file);
  } catch (const std::invalid_argument& error) {
    refuse(document.where, error.what());
  }
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
