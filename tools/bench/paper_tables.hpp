// The printed times of Cui, Pratx, Prevrhal and Levin (Med. Phys. 2011, doi 10.1118/1.3661998, references.md): forward
// and back projection and multiplicative update of random LORs, in ms. GeForce GTX 480 (15 multiprocessors) with CUDA
// 3.2, 1e6 LORs in 75x75x26 voxels, T_w 3, blocks of 1024 threads, unless said otherwise.
#pragma once

#include <array>
#include <string_view>

namespace tofstream::command::paper {

/// ToF and non-ToF.
struct Pair {
  double tof, non_tof;
};

/// Section II.B.6 and figure 3: of all writes of a back projection of random lines.
inline constexpr double collision_percent = 0.2;

/// Table I: by millions of LORs; 0 where our copy of the text has no number. Its cells span rows, and our copy does not
/// say which: it is read so that 15 and 30 blocks follow each number of threads. The GTX 285 has 30 multiprocessors.
inline constexpr std::array<int, 4> table_1_millions = {1, 2, 5, 10};
struct Table1Row {
  std::string_view gpu;
  int threads, blocks;
  bool tof;
  std::array<double, 4> ms;
};
inline constexpr std::array<Table1Row, 12> table_1 = {{
    {"GTX 480", 1024, 15, true, {61, 122, 301, 600}},
    {"GTX 480", 1024, 30, true, {63, 123, 302, 601}},
    {"GTX 480", 512, 15, true, {74, 145, 360, 0}},
    {"GTX 480", 512, 30, true, {62, 121, 298, 594}},
    {"GTX 285", 512, 15, true, {218, 403, 1004, 2005}},
    {"GTX 285", 512, 30, true, {108, 213, 527, 1053}},
    {"GTX 480", 1024, 15, false, {95, 190, 475, 949}},
    {"GTX 480", 1024, 30, false, {98, 192, 476, 950}},
    {"GTX 480", 512, 15, false, {109, 220, 549, 0}},
    {"GTX 480", 512, 30, false, {97, 192, 481, 962}},
    {"GTX 285", 512, 15, false, {296, 590, 1471, 2939}},
    {"GTX 285", 512, 30, false, {168, 333, 828, 1654}},
}};

/// Table II: what fast math saves with ToF, and the normalised RMS between the images with and without it.
struct Table2Row {
  int tube_width;
  double saved_ms, saved_percent, nrms;
};
inline constexpr std::array<Table2Row, 3> table_2 = {
    {{3, 27, 30.7, 1.7e-6}, {5, 56, 30.4, 1.3e-6}, {7, 106, 31.9, 0.7e-6}}};

/// Tables III (cubes of L voxels an edge, tubes that keep their width in mm) and IV (tubes three voxels wide).
struct CubeRow {
  int edge, tube_width;
  Pair ms;
};
inline constexpr std::array<CubeRow, 6> table_3 = {{{32, 1, {11, 21}},
                                                    {48, 2, {17, 30}},
                                                    {64, 3, {57, 95}},
                                                    {128, 6, {509, 828}},
                                                    {192, 9, {3595, 5962}},
                                                    {256, 12, {11317, 18994}}}};
inline constexpr std::array<CubeRow, 5> table_4 = {
    {{32, 3, {29, 53}}, {48, 3, {42, 73}}, {64, 3, {57, 95}}, {128, 3, {232, 367}}, {256, 3, {1387, 2119}}}};

/// Table V: by tube width.
struct WidthRow {
  int tube_width;
  Pair ms;
};
inline constexpr std::array<WidthRow, 8> table_5 = {{{1, {24, 44}},
                                                     {3, {61, 95}},
                                                     {5, {128, 215}},
                                                     {7, {226, 382}},
                                                     {9, {360, 614}},
                                                     {11, {529, 906}},
                                                     {13, {731, 1256}},
                                                     {15, {968, 1668}}}};

/// II.B.3 and II.B.7: once for all iterations.
inline constexpr double partition_ms = 12;                                  // 1e6 LORs
inline constexpr std::array<double, 5> sort_ms = {64, 110, 162, 210, 262};  // 1e6 to 5e6 LORs

/// Section IV and fig. 6: the best of all launches in 1e6 lines/s, with as many blocks as multiprocessors.
inline constexpr Pair peak_lines = {16.5, 10.5};

}  // namespace tofstream::command::paper
// SPDX-License-Identifier: Apache-2.0
