/* tofstream for C, and for whatever calls C: projectors of every family, their updates, and whole pipelines.
 *
 * One rule for all calls: they return TOF_OK or say what went wrong. Nothing is thrown, printed or ended. tof_error()
 * then has one line that names the argument, its value and what was expected, until the thread's next call.
 *
 * Units are mm, s, and 1/cm for attenuation. Images are [z][y][x], x fastest; views [view][w][u], u fastest; float32.
 * An operator belongs to one backend. Its arrays lie in host memory, or in that of the current CUDA device; the wrong
 * kind is an error, never a copy. A handle is used by one thread at a time; different handles by any.
 *
 * Every struct begins with its size, which the caller sets: a later library knows by it which members there are. */
#ifndef TOFSTREAM_H
#define TOFSTREAM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TOF_API_VERSION 1
#define TOF_API __attribute__((visibility("default")))

typedef enum tof_status {
  TOF_OK = 0,
  TOF_INVALID = 1,   /* an argument that cannot be */
  TOF_NO_DEVICE = 2, /* CUDA was asked for, and there is none */
  TOF_NO_MEMORY = 3,
  TOF_FILE = 4,   /* a file that cannot be read or written */
  TOF_FAILED = 5, /* a run that began and failed */
  TOF_INTERNAL = 6
} tof_status;

/* The version of the interface, TOF_API_VERSION of the header that the library was built with, and of the program. */
TOF_API int32_t tof_api_version(void);
TOF_API const char* tof_version(void);
/* One line about the last call of this thread that did not return TOF_OK; "" before the first. */
TOF_API const char* tof_error(void);
/* Why CUDA cannot be used, in one line; "" where it can. */
TOF_API const char* tof_why_no_cuda(void);

/* What the program logs: `level` of a line is 2 (info), 3 (warning) or 4 (error). Called by any thread, one at a time;
 * it must not call back. Without one nothing is logged. `level`: "info", "warning", "error" or "off". A warning says what
 * is approximate, missing or slow, so a host shows it to its user. */
typedef void (*tof_log_call)(void* user, int32_t level, const char* line);
TOF_API tof_status tof_log(tof_log_call call, void* user, const char* level);

typedef enum tof_backend { TOF_CPU = 0, TOF_CUDA = 1, TOF_AUTO = 2 /* CUDA where there is a device */ } tof_backend;

/* An image's voxels, all but the blobs of blob_projector. */
typedef struct tof_grid {
  size_t size;         /* sizeof(tof_grid) */
  int32_t voxels[3];   /* along x, y, z */
  float voxel_mm[3];   /* edges */
  float origin_mm[3];  /* centre of the first voxel */
  float blob_radius_mm; /* 0: voxels */
  float blob_alpha;
} tof_grid;

/* List-mode events, as structure of arrays in the backend's memory. The arrays stay the caller's, and must stay as they
 * are while an operator of them lives. A null pointer has the meaning beside it. */
typedef struct tof_events {
  size_t size; /* sizeof(tof_events) */
  int64_t count;
  const char* scanner;                      /* of share/scanners, or a YAML file; null: free end points */
  const uint32_t *detector1, *detector2;    /* of the scanner, numbered as PETSIRD does; null: end points */
  const float *x1, *y1, *z1, *x2, *y2, *z2; /* end points in mm, where there are no detectors */
  const float* tof_mm;                      /* centre of the ToF bin from the line's middle towards 2; null: no ToF */
  const float* tof_width_mm;                /* of each bin; null: all are tof_bin_mm wide */
  float tof_sigma_mm, tof_bin_mm;           /* resolution (not FWHM) and bin; 0: the scanner's */
} tof_events;

/* The views of a gamma camera. Arrays lie in host memory, are copied, and have one number a view. All views count alike:
 * where their times differ, `multiplicative` of an EM step has them. */
typedef struct tof_views {
  size_t size;           /* sizeof(tof_views) */
  int32_t views;
  int32_t pixels[2];     /* along u and w */
  float pixel_mm[2];
  const double* angle_deg;  /* 0 at the patient's back, 90 at the patient's left */
  const double* radius_mm;  /* from the axis to the collimator's face */
} tof_views;

/* An array in host memory that stands for a file where a projector's parameter asks for one: "memory:NAME". */
typedef struct tof_array {
  size_t size; /* sizeof(tof_array) */
  const char* name;
  tof_grid grid;
  const float* voxels;
} tof_array;

/* An operator: the projector of this name for these data, onto this grid. */
typedef struct tof_operator tof_operator;

/* Makes a projector as the gadget of its name does: `parameters` is YAML, such as "{tube_width_voxels: 3}", whose names,
 * ranges and units are checked; null or "": defaults. `arrays` (may be null) are copied. */
TOF_API tof_status tof_operator_of_events(const char* projector, const char* parameters, const tof_grid* grid,
                                          const tof_events* events, tof_backend backend, tof_operator** made);
TOF_API tof_status tof_operator_of_views(const char* projector, const char* parameters, const tof_grid* grid,
                                         const tof_views* views, const tof_array* arrays, size_t array_count,
                                         tof_backend backend, tof_operator** made);
/* Part `part` of `parts` of an operator's data, which shares its projector: views interleaved so that each part covers
 * the circle, events one after the other. In the order of the whole's data. Made on first use of that part's arrays; the
 * whole may be dropped before. */
TOF_API tof_status tof_operator_part(const tof_operator* whole, int32_t part, int32_t parts, tof_operator** made);
/* Which data of the whole a part has: `count` numbers in host memory, as tof_operator_shape says (views, or events). */
TOF_API tof_status tof_operator_indices(const tof_operator* op, int64_t* indices, int64_t count);
TOF_API void tof_operator_drop(tof_operator* op);

/* Shapes: of the image (z, y, x), and of the data, (views, w, u) or (events, 1, 1). `backend`: where it works. */
TOF_API tof_status tof_operator_shape(const tof_operator* op, int64_t image[3], int64_t data[3], int32_t* data_axes,
                                      tof_backend* backend);
/* Text about the operator: what it reported when it was made, `key: value` a line. Valid as long as the operator. */
TOF_API const char* tof_operator_report(const tof_operator* op);

/* data = A image. Queued on the stream (a cudaStream_t; null: the default one, or the CPU, where it is complete). */
TOF_API tof_status tof_forward(tof_operator* op, const float* image, float* data, void* stream);
/* image = A^T data. Queued as forward is. */
TOF_API tof_status tof_adjoint(tof_operator* op, const float* data, float* image, void* stream);
/* Prepares what forward, adjoint and em_step of these data would prepare each time. Complete on return. */
TOF_API tof_status tof_plan(tof_operator* op, void* stream);

/* What an EM step found, besides its image. */
typedef struct tof_tally {
  size_t size; /* sizeof(tof_tally) */
  int64_t rejected; /* events where nothing is expected; -1 of views, whose counts are not counted here */
} tof_tally;
/* image_out = A^T(m y / (m A image + b)) in one pass; y, m (multiplicative) and b (additive, in counts) have the data's
 * shape; null: m = 1, b = 0. Views need y. Of events y and m are null, and b is divided by m. Complete on return; tally may
 * be null. */
TOF_API tof_status tof_em_step(tof_operator* op, const float* image, const float* y, const float* multiplicative,
                               const float* additive, float* image_out, tof_tally* tally, void* stream);
/* image = A^T(m): of views, their sensitivity; m null: 1. Events' sensitivity is the scanner's, not theirs: TOF_INVALID. */
TOF_API tof_status tof_sensitivity(tof_operator* op, const float* multiplicative, float* image, void* stream);

/* Runs a pipeline (a name of share/pipelines or a YAML file) to its end: `settings` are "gadget.parameter=value", as
 * `tofstream run --set`. Files go to `folder`, which must not hold another run. `report` is then run.json as text, to be
 * freed by tof_free; it is also given for a run that failed. */
TOF_API tof_status tof_run(const char* pipeline, const char* const* settings, size_t setting_count, const char* folder,
                           char** report);
TOF_API void tof_free(char* text);

#ifdef __cplusplus
}
#endif
#endif
/* SPDX-License-Identifier: Apache-2.0 */
