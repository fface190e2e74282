/* What a shared library exports so that `tofstream-bench jpet --peer LIBRARY` measures another code's list-mode
   reconstruction of two strips beside ours: one function, tofstream_strip_peer_get, whose table lets the benchmark hand
   over events once and then iterate again and again.

   One thread calls. Functions of the table return NULL, or a text that says what went wrong (valid until the next
   call); they throw nothing. Work for a GPU goes to the current device's default stream and may still run on return:
   the benchmark times it by CUDA events around the calls. */
#ifndef TOFSTREAM_STRIP_PEER_H
#define TOFSTREAM_STRIP_PEER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header; the benchmark refuses a library that was built with another. */
#define TOFSTREAM_STRIP_PEER_INTERFACE 1

/* Two strips at y = +-radius along z, and an image of square pixels about the origin. */
typedef struct tofstream_strip_peer_scan {
  float radius_mm, length_mm;
  float sigma_z_mm, sigma_dl_mm; /* of a position along a strip, and of the difference of distances */
  int32_t rows, columns;         /* pixels along y, along z */
  float pixel_mm;
} tofstream_strip_peer_scan;

/* In host memory, `count` each. */
typedef struct tofstream_strip_peer_events {
  int64_t count;
  const float *z_up_mm, *z_down_mm; /* where the photons hit the strips at y = +radius and y = -radius */
  const float* dl_mm;               /* distance to the upper strip minus distance to the lower */
} tofstream_strip_peer_events;

typedef struct tofstream_strip_peer {
  int32_t interface_version; /* TOFSTREAM_STRIP_PEER_INTERFACE */
  const char* name;
  const char* version;
  /* Takes a copy of events, laid out as the peer likes and where it iterates; replaces those before. */
  const char* (*prepare)(const tofstream_strip_peer_scan* scan, const tofstream_strip_peer_events* events);
  /* The estimate, in host memory: y is fastest, from -y to +y. */
  const char* (*set_image)(const float* image);
  const char* (*get_image)(float* image);
  /* One iteration of list-mode EM: replaces the estimate. Zeros: launched as the peer's own program does it unless
     told otherwise. */
  const char* (*iterate)(int32_t blocks, int32_t threads_a_block);
} tofstream_strip_peer;

const tofstream_strip_peer* tofstream_strip_peer_get(void);

#ifdef __cplusplus
}
#endif

#endif
// SPDX-License-Identifier: Apache-2.0
