/* MLEM of a camera's views in C: a ball is projected, then found again from its own projections.
 *   cc -std=c99 mlem.c -ltofstream -lm && ./a.out */
#include <stdio.h>
#include <stdlib.h>
#include <tofstream.h>

enum { side = 32, views = 60, voxels = side * side * side, pixels = views * side * side };

static void check(tof_status status) {
  if (status == TOF_OK) return;
  fprintf(stderr, "%s\n", tof_error());
  exit(1);
}

int main(void) {
  const tof_grid grid = {.size = sizeof grid, .voxels = {side, side, side}, .voxel_mm = {8, 8, 8}, .origin_mm = {-124, -124, -124}};
  double angle_deg[views], radius_mm[views];
  for (int v = 0; v < views; ++v) angle_deg[v] = 6.0 * v, radius_mm[v] = 150;
  const tof_views camera = {.size = sizeof camera, .views = views, .pixels = {side, side}, .pixel_mm = {8, 8},
                            .angle_deg = angle_deg, .radius_mm = radius_mm};
  tof_operator* op = NULL;
  check(tof_operator_of_views("rotation_projector", "psf: {slope: 0.02, sigma0_mm: 2}", &grid, &camera, NULL, 0, TOF_CPU, &op));

  float *truth = calloc(voxels, sizeof *truth), *image = malloc(voxels * sizeof *image), *counts = malloc(pixels * sizeof *counts);
  float *step = malloc(voxels * sizeof *step), *sensitivity = malloc(voxels * sizeof *sensitivity);
  for (int k = 0; k < voxels; ++k) {
    const int x = k % side - 20, y = k / side % side - 12, z = k / side / side - 16;
    truth[k] = x * x + y * y + z * z <= 16 ? 1000.0f : 0.0f;
    image[k] = 1;
  }
  check(tof_forward(op, truth, counts, NULL));
  check(tof_sensitivity(op, NULL, sensitivity, NULL));
  for (int update = 0; update < 20; ++update) {
    check(tof_em_step(op, image, counts, NULL, NULL, step, NULL, NULL));
    check(tof_em_update(op, step, sensitivity, NULL, image, NULL));
  }
  const int centre = (16 * side + 12) * side + 20;
  printf("in the ball %.0f of %.0f, elsewhere %.0f\n", image[centre], truth[centre], image[(16 * side + 20) * side + 12]);
  tof_operator_drop(op);
  return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
