% same_as_python.m FOLDER: operators from Octave give the bits that Python's gave (from_python.py). Ends with 'same
% bits'.
1;

function array = kept(folder, name, shape)
  file = fopen([folder '/' name], 'r');
  array = reshape(fread(file, Inf, 'single=>single'), shape);
  fclose(file);
end

function same(folder, name, array)
  assert(isequal(array, kept(folder, name, size(array))), [name ' has other numbers']);
end

folder = argv(){end};
grid = struct('size', [12 10 8], 'voxel_mm', [8 9 10]);
x = kept(folder, 'x', grid.size);
A = tof_spect(grid, struct('angles_deg', 24 * (0:14), 'radius_mm', 120, 'detector', [14 9], 'pixel_mm', [7 8], ...
                           'psf', struct('slope', 0.02, 'sigma0_mm', 2), 'mu', kept(folder, 'mu', grid.size)));
counts = kept(folder, 'counts', A.out_size);
same(folder, 'forward', A * x);
same(folder, 'adjoint', A' * counts);
background = kept(folder, 'additive', A.out_size);
same(folder, 'osem', tof_osem(A, counts, 'subsets', 7, 'updates', 10, 'additive', background));

lines = kept(folder, 'lines', [500 7]);
events = struct('tof_sigma_mm', 30, 'tof_bin_mm', 20);
names = {'x1', 'y1', 'z1', 'x2', 'y2', 'z2', 'tof_mm'};
for i = 1:7
  events.(names{i}) = lines(:, i);
end
J = tof_joseph(grid, events);
T = tof_tor(grid, events, struct('tube_width_voxels', 3, 'fwhm_mm', 8));
same(folder, 'joseph', J * x);
same(folder, 'joseph_adjoint', J' * (J * x));
same(folder, 'tor', T * x);
same(folder, 'tor_adjoint', T' * (T * x));
same(folder, 'joseph_step', em_step(J, x, [], ones(500, 1, 'single')));
same(folder, 'exact', single(tof_joseph(grid, events, struct(), 'double') * double(x)));
D = tof_direct(struct('size', [16 16 6], 'voxel_mm', [8 8 8]), struct('views', [6 1], 'acceptance_deg', 60), ...
               struct('tof_fwhm_ps', 300, 'lor_fwhm_mm', 10));
same(folder, 'deposited', deposit(D, events));
same(folder, 'histo', D * ones(D.in_size, 'single'));
same(folder, 'm', multiplicative(D, 'demo_ring', 'most_lines', 20000));
same(folder, 'b', additive(D, 'demo_ring', 10, 'rate_cps', 500, 'window_mm', 900, 'most_lines', 20000));
disp('same bits');
% SPDX-License-Identifier: Apache-2.0
