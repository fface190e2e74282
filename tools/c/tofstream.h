/* tofstream for C, and for whatever calls C: projectors of every family, their updates, and whole pipelines.
 *
 * One rule for all calls: they return TOF_OK or say what went wrong. Nothing is thrown, printed or ended. tof_error()
 * then has one line that names the argument, its value and what was expected, until the thread's next call.
 *
 * Units are mm, s, and 1/cm for attenuation. Images are [z][y][x], x fastest; views [view][w][u], u fastest; float32.
 * An operator belongs to one backend. Its arrays lie in host memory, or in that of the current CUDA device; the wrong
 * kind is an error, never a copy. A handle is used by one thread at a time; different handles by any. One that was dropped
 * is an error; to drop it again does nothing.
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
 * it must not call this library, and the run waits for it. An exception of C++ that leaves it ends its calls. Without one
 * nothing is logged. `level`: "info", "warning", "error" or "off". A warning says what is approximate, missing or slow, so
 * a host shows it to its user. */
typedef void (*tof_log_call)(void* user, int32_t level, const char* line);
TOF_API tof_status tof_log(tof_log_call call, void* user, const char* level);

typedef enum tof_backend {
  TOF_CPU = 0,
  TOF_CUDA = 1,
  TOF_AUTO = 2,     /* CUDA where there is a device */
  TOF_REFERENCE = 3 /* the CPU, one thread, double precision, by the definition: slow, to test the others with */
} tof_backend;

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
  const float *multiplicative, *additive;   /* for a run: m, and b / m; null: 1 and 0. An operator's calls take them */
} tof_events;

/* Where the detectors of a scanner are: [detector][x, y, z] in mm, in host memory; `count`: how many there is room for, and
 * then how many there are. positions null: only these. */
TOF_API tof_status tof_scanner_detectors(const char* scanner, float* positions, int64_t* count);

/* The views of a gamma camera. Arrays lie in host memory, are copied, and have one number a view. Of an operator all
 * views count alike: where their times differ, `multiplicative` of an EM step has them. */
typedef struct tof_views {
  size_t size;           /* sizeof(tof_views) */
  int32_t views;
  int32_t pixels[2];     /* along u and w */
  float pixel_mm[2];
  const double* angle_deg;  /* 0 at the patient's back, 90 at the patient's left */
  const double* radius_mm;  /* from the axis to the collimator's face */
  const double *start_s, *duration_s; /* of a run: when each is counted; null: from 0 on, 1 s each, one after the other */
  const double *centre_u_mm, *centre_w_mm; /* of each view's middle, from the axis and from z = 0; null: 0 */
  size_t window_count;      /* of energy windows, of which the first is reconstructed; 0: not known */
  const double* window_keV; /* low and high of each */
} tof_views;

/* The histo-images of DIRECT (share/doc/direct.md): one for each interval of azimuth in [0, 180) degrees and of the
 * co-polar angle within +-acceptance_deg. Each is [z][s][t], t along the view, or [z][y][x] on the image's voxels. */
typedef struct tof_directions {
  size_t size; /* sizeof(tof_directions) */
  int32_t azimuths, tilts;
  float acceptance_deg;
  int32_t on_image; /* 1: points are the image's voxels, as the operators one_stage and fft need them; 0: along each view */
} tof_directions;

/* Some views of a scan, for a run. Arrays lie in host memory, and are copied. */
typedef struct tof_view_counts {
  size_t size;            /* sizeof(tof_view_counts) */
  const tof_views* plan;  /* of the whole scan: the same at each call */
  int32_t count;
  const int32_t* numbers; /* of each view in the plan, from 0 */
  const float* counts;    /* [count][w][u] */
  const float *multiplicative, *additive; /* the same shape: y = m A x + b, b in counts; null: 1 and 0 */
  const double* exposure; /* of each: what its time counts for, such as the mean live fraction; null: 1 */
  int32_t window;         /* energy window, from 0 */
} tof_view_counts;

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
                                          const tof_events* events, const tof_array* arrays, size_t array_count,
                                          tof_backend backend, tof_operator** made);
/* The same for a sinogram: one datum for each line, or for each of its `bins` of time of flight, [line][bin]. Bin b of a
 * line has its centre at (b - (bins - 1) / 2) tof_bin_mm from the middle towards the second end. `lines` has detectors or
 * end points, no tof_mm, and with bins tof_sigma_mm and tof_bin_mm. */
TOF_API tof_status tof_operator_of_lines(const char* projector, const char* parameters, const tof_grid* grid,
                                         const tof_events* lines, int32_t bins, tof_backend backend,
                                         tof_operator** made);
TOF_API tof_status tof_operator_of_views(const char* projector, const char* parameters, const tof_grid* grid,
                                         const tof_views* views, const tof_array* arrays, size_t array_count,
                                         tof_backend backend, tof_operator** made);
/* The same for histo-images: `parameters` has their ToF resolution, such as "{tof_fwhm_ps: 400}". */
TOF_API tof_status tof_operator_of_directions(const char* projector, const char* parameters, const tof_grid* grid,
                                              const tof_directions* directions, tof_backend backend,
                                              tof_operator** made);
/* Part `part` of `parts` of an operator's data, which shares its projector: views interleaved so that each part covers
 * the circle, events and lines one after the other. In the order of the whole's data. Made on first use of that part's arrays; the
 * whole may be dropped before. */
TOF_API tof_status tof_operator_part(const tof_operator* whole, int32_t part, int32_t parts, tof_operator** made);
/* Which data of the whole a part has: `count` numbers in host memory, as tof_operator_shape says (views, lines or events). */
TOF_API tof_status tof_operator_indices(const tof_operator* op, int64_t* indices, int64_t count);
TOF_API void tof_operator_drop(tof_operator* op);

/* Shapes: of the image (z, y, x), and of the data, `data_axes` numbers and then 1: (views, z, s, t), (views, w, u), (lines,
 * bins) or (events). `backend`: where it works. */
TOF_API tof_status tof_operator_shape(const tof_operator* op, int64_t image[3], int64_t data[4], int32_t* data_axes,
                                      tof_backend* backend);
/* Text about the operator: what it reported when it was made, `key: value` a line. Valid as long as the operator. */
TOF_API const char* tof_operator_report(const tof_operator* op);

/* data = A image. Queued on the stream (a cudaStream_t; null: the default one, or the CPU, where it is complete). */
TOF_API tof_status tof_forward(tof_operator* op, const float* image, float* data, void* stream);
/* image = A^T data. Queued as forward is. */
TOF_API tof_status tof_adjoint(tof_operator* op, const float* data, float* image, void* stream);
/* The same with numbers of double precision in host memory, of an operator that was made with TOF_REFERENCE. */
TOF_API tof_status tof_forward_double(tof_operator* op, const double* image, double* data);
TOF_API tof_status tof_adjoint_double(tof_operator* op, const double* data, double* image);
/* Prepares what forward, adjoint and em_step of these data would prepare each time. Complete on return. */
TOF_API tof_status tof_plan(tof_operator* op, void* stream);

/* What an EM step found, besides its image. */
typedef struct tof_tally {
  size_t size; /* sizeof(tof_tally) */
  int64_t rejected; /* events where nothing is expected; -1 of views and sinograms, whose counts are not counted here */
} tof_tally;
/* image_out = A^T(m y / (m A image + b)) in one pass; y (counts), m (multiplicative) and b (additive, in counts) have the data's
 * shape, and are finite and not negative; null: m = 1, b = 0. Views and sinograms need y. Of events y and m are null, and
 * b is divided by m. Complete on return; tally may be null. */
TOF_API tof_status tof_em_step(tof_operator* op, const float* image, const float* counts,
                               const float* multiplicative,
                               const float* additive, float* image_out, tof_tally* tally, void* stream);
/* The sensitivity. Views and sinograms have their own, image = A^T(m); m null: 1. For events m is null, and the image is
 * their scanner's: the sum over all lines that it records, as a run computes it (and keeps it in the user's cache
 * folder); TOF_INVALID where they do not name a scanner. */
TOF_API tof_status tof_sensitivity(tof_operator* op, const float* multiplicative, float* image, void* stream);

/* The EM update: image = image step / sensitivity, in place, as osem_update does it; arrays of the operator's images, where it
 * works. `sensitivity`: of the data that `step` is of. Voxels where it is below a thousandth of its maximum become 0. Where
 * the data are a part of a scan that sees voxels differently, such as some views, `whole` is the sensitivity of the whole:
 * then voxels become 0 where that is small, and stay where only the part's is. null: the same. Complete on return. */
TOF_API tof_status tof_em_update(tof_operator* op, const float* step, const float* sensitivity, const float* whole,
                                 float* image, void* stream);

/* What became of events: deposited + beyond_acceptance + outside + no_line = all. */
typedef struct tof_deposited {
  size_t size; /* sizeof(tof_deposited) */
  int64_t deposited;
  int64_t beyond_acceptance; /* their line is more oblique than the views are */
  int64_t outside;           /* their point lies outside the histo-images */
  int64_t no_line;           /* their ends are one point, or not finite */
} tof_deposited;
/* data = the histo-images of these events, each at its most likely point: at the eight points around it by linear weights,
 * or, `nearest` not 0, at the next one. Of all of an operator's views, not of a part's. Events have tof_mm, and lie where
 * the operator works; their resolution is the operator's tof_fwhm_ps, and not compared with it. Complete on return; `what`
 * may be null. */
TOF_API tof_status tof_deposit(tof_operator* op, const tof_events* events, int32_t nearest, float* data,
                               tof_deposited* what, void* stream);

/* Lines of a scanner: all, those drawn of them, and those of these that belong to a view. */
typedef struct tof_lines {
  size_t size; /* sizeof(tof_lines) */
  int64_t all, drawn, accepted;
} tof_lines;
/* data = m_v, by which the expectation of each point of histo-images is multiplied (share/doc/direct.md): the back
 * projection of the scanner's lines that belong to the point's view, efficiency times attenuation each, as a run
 * computes it. With it as `multiplicative`, counts of an image in Bq/mL are those of a second. Of all of an operator's
 * views, not of a part's. `mu` (1/cm on any grid, in host memory) attenuates; null: nothing does. More lines than
 * `most_lines` (0: 50 million) are sampled. Computed on the CPU, and complete on return; `what` may be null. TOF_INVALID
 * where a view has no line. */
TOF_API tof_status tof_direction_terms(tof_operator* op, const char* scanner, const tof_array* mu, int64_t most_lines,
                                       float* data, tof_lines* what, void* stream);

/* The random coincidences of a scan, and how they are known: by delayeds, or by their rate. */
typedef struct tof_randoms {
  size_t size; /* sizeof(tof_randoms) */
  const char* scanner;
  double seconds;             /* of the scan */
  const tof_events* delayeds; /* its delayed coincidences: detector1 and detector2, in host memory; null: rate_cps */
  double rate_cps;            /* of all the scanner's lines together, shared out by efficiency; 0: delayeds */
  float window_mm;            /* all ToF that a coincidence may have, from end to end; 0: the scanner's */
  int64_t most_lines;         /* more are sampled; 0: 50 million */
} tof_randoms;
/* data = b_v, the randoms that are expected at each point of histo-images in these seconds: those of each line are
 * spread evenly over its window, and laid down as those of tof_direction_terms are, as a run does it
 * (share/doc/direct.md). They are `additive` beside its `multiplicative`. Of all of an operator's views, not of a part's. Computed on the CPU, and
 * complete on return. */
TOF_API tof_status tof_direction_randoms(tof_operator* op, const tof_randoms* from, float* data, void* stream);

/* A pipeline that runs while its program goes on. Its calls may come from any thread. */
typedef struct tof_pipeline tof_pipeline;

typedef enum tof_phase {
  TOF_PREPARING = 0, /* gadgets are made */
  TOF_WAITING = 1,   /* for the first data */
  TOF_RUNNING = 2,
  TOF_STOPPING = 3, /* sources have been ended, and the rest drains */
  TOF_ENDING = 4,   /* it was aborted or has failed */
  TOF_OVER = 5
} tof_phase;

/* How far a run is. */
typedef struct tof_progress {
  size_t size;         /* of this struct in the library; a caller's header may know more members, or fewer */
  int32_t phase;       /* a tof_phase */
  double seconds;      /* since the run began */
  double scan_seconds; /* of the scan that have been read; 0: not known, as of views */
  uint64_t messages;   /* that gadgets have taken: they grow as long as anything moves */
  uint64_t events;     /* that came from sources */
  int64_t update, updates; /* subset k of n, all iterations: the last one that was projected. updates 0: the end is not
                            * known, as of a live scan; update 0: none was */
  double fraction;  /* from 0 to 1, of the gadget that is the least far of those that have begun and know their end, so
                     * that it falls where another begins; -1: none knows */
  const char* text; /* one line, as the program shows it at a terminal; may be "". Until the call returns */
} tof_progress;

/* Told by one thread of the run's own, from when it prepares on: never two calls at once, at most one in
 * `progress_every_s`, and a last one with TOF_OVER when the run is over. The run does not wait for a call: while one
 * lasts it goes on, no other is made, and tof_pipeline_wait may return before the last one. It may make any call, of this run
 * too: tof_pipeline_drop there takes effect when it has returned. From another thread tof_pipeline_drop waits for it to
 * return, and no call comes after that. An exception of C++ that leaves it is logged, and it is not called again. */
typedef void (*tof_progress_call)(void* user, const tof_progress* progress);

typedef struct tof_pipeline_setup {
  size_t size;          /* sizeof(tof_pipeline_setup) */
  const char* pipeline; /* a name of share/pipelines, or a YAML file */
  const char* const* settings; /* "gadget.parameter=value", as `tofstream run --set` */
  size_t setting_count;
  const char* input;  /* as `tofstream run --input`; null: none */
  const char* folder; /* where its files go, which must not hold another run */
  const char* feed;   /* a gadget that takes a live stream: this program sends in its place; null: it stays */
  const char* output; /* "gadget" or "gadget.output", whose images tof_pipeline_image gives; null: the last one with images */
  tof_progress_call progress; /* null: none */
  void* progress_user;        /* what it is given */
  double progress_every_s;    /* at least 0.01; 0: 0.25 */
} tof_pipeline_setup;

/* Reads and checks the pipeline, and starts it on threads of its own. What is wrong with it is TOF_INVALID; what goes
 * wrong later is told by tof_pipeline_wait. */
TOF_API tof_status tof_pipeline_start(const tof_pipeline_setup* setup, tof_pipeline** made);
/* Whether the feed has room, once it has or after `wait_s`. A send without room waits. */
TOF_API tof_status tof_pipeline_room(tof_pipeline* run, double wait_s, int32_t* has_room);
/* Sends events that were counted from `start_s` of the scan on, for `duration_s`, spread evenly over it. Host memory,
 * which is copied. TOF_FAILED where the run is over. */
TOF_API tof_status tof_pipeline_send_events(tof_pipeline* run, const tof_events* events, double start_s,
                                            double duration_s);
/* Sends views of a scan. */
TOF_API tof_status tof_pipeline_send_views(tof_pipeline* run, const tof_view_counts* views);
/* No more data come: the run goes on to its end. */
TOF_API tof_status tof_pipeline_close_feed(tof_pipeline* run);

/* An image that a run made. It stays what it is, and is dropped by tof_image_drop, also after the run. */
typedef struct tof_image tof_image;
typedef struct tof_image_info {
  size_t size; /* sizeof(tof_image_info) */
  tof_grid grid;
  const float* voxels; /* in host memory, as long as the image */
  int64_t update;      /* its number in the run, from 1 */
  int32_t iteration;
  int32_t is_last;   /* no update follows */
  uint64_t events;   /* of the scan, from its first one on, up to those of this update */
  const char* label; /* what its values are: "Bq/mL, not quantitative: no attenuation correction"; as long as the image */
} tof_image_info;
/* The newest image that this call has not given yet, once there is one or after `wait_s`; null where none came. Images
 * in between are passed over; the last one never is. */
TOF_API tof_status tof_pipeline_image(tof_pipeline* run, double wait_s, tof_image** image);
TOF_API tof_status tof_image_get(const tof_image* image, tof_image_info* info);
TOF_API void tof_image_drop(tof_image* image);

/* Sets a live parameter, "gadget.parameter=value", which holds from the gadget's next message on. */
TOF_API tof_status tof_pipeline_set(tof_pipeline* run, const char* setting);
/* The run as of now, as run.json has it; to be freed by tof_free. */
TOF_API tof_status tof_pipeline_report(tof_pipeline* run, char** report);
/* Ends the sources; what has come is reconstructed. */
TOF_API tof_status tof_pipeline_stop(tof_pipeline* run);
/* Waits for the end, at most so long. TOF_FAILED where the run failed: tof_error() says why. */
TOF_API tof_status tof_pipeline_wait(tof_pipeline* run, double wait_s, int32_t* is_over);
/* Aborts the run if it is not over, and frees the handle. */
TOF_API void tof_pipeline_drop(tof_pipeline* run);

/* Runs a pipeline to its end: start and wait in one call. `report` is then run.json as text, to be freed by tof_free; it
 * is also given for a run that failed. */
TOF_API tof_status tof_run(const char* pipeline, const char* const* settings, size_t setting_count, const char* folder,
                           char** report);
TOF_API void tof_free(char* text);

#ifdef __cplusplus
}
#endif
#endif
/* SPDX-License-Identifier: Apache-2.0 */
