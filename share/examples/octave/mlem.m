% MLEM of a camera's views in five lines: a ball is projected, then found again from its own projections.
% For Octave and Matlab; tofstream's folder must be on the path (share/doc/matlab.md).
grid = struct('size', [32 32 32], 'voxel_mm', [8 8 8]);  % x, y, z in mm; arrays are (x, y, z)
[x, y, z] = ndgrid(0:31, 0:31, 0:31);
truth = single(1000 * ((x - 20) .^ 2 + (y - 12) .^ 2 + (z - 16) .^ 2 <= 16));

A = tof_spect(grid, struct('angles_deg', 6 * (0:59), 'radius_mm', 150, 'detector', [32 32], 'pixel_mm', [8 8], ...
                           'psf', struct('slope', 0.02, 'sigma0_mm', 2)));
counts = A * truth;
[image, s] = deal(ones(A.in_size, 'single'), sensitivity(A));
for k = 1:20
  image = image .* tof_ratio(A' * tof_ratio(counts, A * image), s);
end

fprintf('in the ball %.0f of %.0f, elsewhere %.0f\n', image(21, 13, 17), truth(21, 13, 17), image(13, 21, 17));
% SPDX-License-Identifier: Apache-2.0
