// The instruction sets that SIMD kernels are compiled for: plain scalar, SSE4, AVX2 and AVX-512 (on Arm, NEON). Vectors
// without a fixed size (SVE, RVV) are left out: they have no operators. A source file that defines HWY_TARGET_INCLUDE
// and includes this first is compiled for each of them. Under sanitizers plain scalar and AVX2 stand for all, to save
// the compiler's time: every set runs the same text.
#pragma once

#undef HWY_DISABLED_TARGETS
#ifdef TOFSTREAM_FEW_INSTRUCTION_SETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

#ifdef HWY_TARGET_INCLUDE
#include <hwy/foreach_target.h>
#endif
// SPDX-License-Identifier: Apache-2.0
