/* What a shared library exports so that `tofstream-bench listmode --peer LIBRARY` measures another code's list-mode ToF
   projectors beside ours: one function, tofstream_peer_get, whose table lets the benchmark hand over events once and
   then project them again and again. Write such a library where the other code has a public interface of its own; give
   the benchmark libparallelproj itself, it needs none.

   One thread calls. Functions of the table return NULL, or a text that says what went wrong (valid until the next
   call); they throw nothing. Work for a GPU goes to the current device's default stream, or to one that waits for it
   and that it waits for, and may still run on return: the benchmark times it by CUDA events around the calls. */
#ifndef TOFSTREAM_PEER_H
#define TOFSTREAM_PEER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header; the benchmark refuses a library that was built with another. */
#define TOFSTREAM_PEER_INTERFACE 1

/* An image's voxels, x fastest in memory. */
typedef struct tofstream_peer_grid {
  int32_t size[3];    /* voxels along x, y, z */
  float voxel_mm[3];  /* edges of a voxel */
  float origin_mm[3]; /* centre of voxel (0, 0, 0) */
} tofstream_peer_grid;

/* Lines of response with ToF, in host memory. */
typedef struct tofstream_peer_events {
  int64_t count;
  const float* ends[6]; /* x1 y1 z1 x2 y2 z2 in mm, an array of `count` each */
  const float* tof_mm;  /* most likely position, from the line's middle towards its second end */
  float sigma_mm;       /* of the Gaussian about it, as a density per mm: weights are mm of line times it */
  float cut_sigmas;     /* beyond which it is zero, where the peer can cut */
} tofstream_peer_events;

typedef struct tofstream_peer {
  int32_t interface_version; /* TOFSTREAM_PEER_INTERFACE */
  int32_t cuda;              /* 1: images and values lie in the current CUDA device's memory; 0: in the host's */
  const char* name;          /* as the benchmark's lines call it, "yrt-pet" for one */
  const char* version;
  /* Takes a copy of events, laid out as the peer likes and where it projects them; replaces those before. */
  const char* (*prepare)(const tofstream_peer_grid* grid, const tofstream_peer_events* events);
  /* expectation[i] = the sum of event i's weights times the image. */
  const char* (*forward)(const float* image, float* expectation);
  /* Adds to the image the sum over events of their weights times values[i]. */
  const char* (*back)(const float* values, float* image);
  /* Adds to `sum` the back projection of 1 / forward projection, where the peer does both in one kernel; else NULL. */
  const char* (*em_step)(const float* image, float* sum);
} tofstream_peer;

const tofstream_peer* tofstream_peer_get(void);

#ifdef __cplusplus
}
#endif

#endif
// SPDX-License-Identifier: Apache-2.0
