/* What a shared library exports so that `tofstream-bench spect --peer LIBRARY` measures another code's rotation
   projector of SPECT beside ours: one function, tofstream_spect_peer_get, whose table lets the benchmark describe a scan
   once and then project again and again.

   One thread calls. Functions of the table return NULL, or a text that says what went wrong (valid until the next
   call); they throw nothing. Images and views go in and out by functions of their own, in which a peer may lay them out
   as it likes; `forward` and `back` alone are timed, by the wall clock, and return when their result is there. */
#ifndef TOFSTREAM_SPECT_PEER_H
#define TOFSTREAM_SPECT_PEER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header; the benchmark refuses a library that was built with another. */
#define TOFSTREAM_SPECT_PEER_INTERFACE 1

/* Parallel beams and a cube about the origin. The camera of angle t lies in the direction n = (sin t, cos t, 0) from
   the axis z. Its view has rows along w = z and columns along u = (-cos t, sin t, 0); planes across n lie behind one
   another, the first one nearest to the camera. Pixels, planes and voxels have one width. */
typedef struct tofstream_spect_peer_scan {
  int32_t size;   /* voxels along x, y and z, pixels along u and w, planes */
  float width_mm; /* of each */
  int32_t views;
  const float* angles_deg; /* of each view */
  int32_t psf_size;        /* pixels along u and w of a plane's point spread; odd */
  const float* psf;        /* [plane][w][u]: counts at a pixel about that of the source, which is in the middle */
} tofstream_spect_peer_scan;

typedef struct tofstream_spect_peer {
  int32_t interface_version; /* TOFSTREAM_SPECT_PEER_INTERFACE */
  int32_t cuda;              /* 1: it projects on a CUDA device; 0: on the host's processor */
  const char* name;          /* as the benchmark's lines call it, "NiftyRec" for one */
  const char* version;
  /* Replaces the scan before. Arrays are read during the call only. */
  const char* (*prepare)(const tofstream_spect_peer_scan* scan);
  /* In host memory: an image [z][y][x], views [view][w][u]. */
  const char* (*set_image)(const float* image);
  const char* (*get_image)(float* image);
  const char* (*set_views)(const float* views);
  const char* (*get_views)(float* views);
  /* Views = for each view the sum of its planes of the rotated image, each convolved with its point spread. */
  const char* (*forward)(void);
  /* Image = the adjoint of the views, or what the peer takes for it. */
  const char* (*back)(void);
} tofstream_spect_peer;

const tofstream_spect_peer* tofstream_spect_peer_get(void);

#ifdef __cplusplus
}
#endif

#endif
// SPDX-License-Identifier: Apache-2.0
