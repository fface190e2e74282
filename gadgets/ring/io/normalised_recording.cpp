// A PETSIRD recording with another normalisation in its header, for `tofstream header`.
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gadgets/io/header_normalisers.hpp"
#include "gadgets/io/unpack.hpp"
#include "gadgets/ring/io/normalisation_yaml.hpp"
#include "gadgets/ring/io/normalised_header.hpp"

namespace tofstream {
namespace {

/// Gives the file's bytes, unpacked where it is packed, to `take`.
template <class Take>
void for_each_piece(const std::filesystem::path& path, const Take& take) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot be read");
  Unpacker unpacker;
  const auto give = [&](Unpacker::Bytes&& bytes) { take(bytes); };
  std::vector<std::byte> piece(std::size_t{1} << 20);
  while (file) {
    file.read(reinterpret_cast<char*>(piece.data()), static_cast<std::streamsize>(piece.size()));
    const auto size = static_cast<std::ptrdiff_t>(file.gcount());
    if (size > 0) unpacker.push({piece.begin(), piece.begin() + size}, give);
  }
  if (file.bad()) throw std::runtime_error("cannot be read to its end");
  unpacker.finish(give);
}

nlohmann::ordered_json write_normalised(const std::filesystem::path& recording,
                                        const std::filesystem::path& normalisation,
                                        const std::function<void(std::span<const std::byte>)>& sink) {
  const NormalisationComponents components = formats::read_normalisation(normalisation);
  const std::string what = fmt::format("normalisation {}", normalisation.filename().string());
  float calibration = 0;
  std::string misfit;  // of the normalisation, which is another file than the recording
  petsird::HeaderReplacer replacer(
      [&](petsird::Header& header) {
        try {
          petsird::set_normalisation(header, components, what);
        } catch (const std::invalid_argument& error) {
          misfit = fmt::format("{}: {}", normalisation.string(), error.what());
          throw;
        }
        calibration = header.scanner.efficiencies.calibration_factor;
      },
      sink);
  try {
    for_each_piece(recording, [&](const std::vector<std::byte>& bytes) { replacer.push(bytes); });
    replacer.finish();
  } catch (const std::exception& error) {
    throw std::runtime_error(misfit.empty() ? fmt::format("{}: {}", recording.string(), error.what()) : misfit);
  }
  return {{"crystals", components.crystal_efficiency.size()},
          {"classes", components.class_factor.size()},
          {"calibration_factor", calibration}};
}

TOFSTREAM_KIND(HeaderNormaliser, HeaderNormaliser{.name = "PETSIRD", .write = write_normalised});

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
