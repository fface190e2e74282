// What direct.cpp asks of the operators' files, which may rely on valid grids, sets and settings.
#pragma once

#include <memory>

#include "kernels/direct/direct.hpp"

namespace tofstream {

std::unique_ptr<ViewProjector> make_one_stage_cpu(const Grid& grid, const ViewSet& set, const DirectSettings& settings);
std::unique_ptr<ViewProjector> make_two_stage_cpu(const Grid& grid, const ViewSet& set, const DirectSettings& settings);
std::unique_ptr<ViewProjector> make_direct_fft_cpu(const Grid& grid, const ViewSet& set,
                                                   const DirectSettings& settings);

std::unique_ptr<ViewProjector> make_paper_two_stage_cpu(const Grid& grid, const ViewSet& set,
                                                        const DirectSettings& settings);

std::unique_ptr<ViewProjector> make_paper_two_stage_cuda(const Grid& grid, const ViewSet& set,
                                                         const DirectSettings& settings);
std::unique_ptr<ViewProjector> make_two_stage_cuda(const Grid& grid, const ViewSet& set,
                                                   const DirectSettings& settings);
std::unique_ptr<ViewProjector> make_one_stage_cuda(const Grid& grid, const ViewSet& set,
                                                   const DirectSettings& settings);
std::unique_ptr<ViewProjector> make_direct_fft_cuda(const Grid& grid, const ViewSet& set,
                                                    const DirectSettings& settings);
/// On CUDA: of stages or columns of the views that are projected at once, enough to fill the GPU; of two_stage's lists
/// and fft's spectra of all views, which are made anew in each call where they are more; and of fft's volumes at once.
inline constexpr std::size_t most_bytes_of_direct_stages = std::size_t{192} << 20;
inline constexpr std::size_t most_bytes_of_direct_tables = std::size_t{2} << 30;
inline constexpr std::size_t most_bytes_of_direct_spectra = std::size_t{1} << 30;
inline constexpr std::size_t most_bytes_of_direct_volumes = std::size_t{256} << 20;

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
