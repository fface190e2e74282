% MLEM with et_project and et_backproject, one of each an iteration: what the sample of Pedemonte et al. 2010, section
% II.D, shows. That sample is lost, and this script is written from its description. For Octave and Matlab;
% tofstream's folder must be on the path (share/doc/matlab.md).
n = 32;
cameras = (0:59)' * 2 * pi / 60;  % radians
iterations = 20;

% A Gaussian for each plane, wider with its distance from the camera; each keeps the counts.
[u, w] = ndgrid(-4:4, -4:4);
psf = zeros(9, 9, n);
for plane = 1:n
  sigma = 0.3 + 0.04 * plane;
  psf(:, :, plane) = exp(-(u .^ 2 + w .^ 2) / (2 * sigma ^ 2));
  psf(:, :, plane) = psf(:, :, plane) / sum(sum(psf(:, :, plane)));
end

[x, y, z] = ndgrid(1:n, 1:n, 1:n);
truth = single(1000 * ((x - 21) .^ 2 + (y - 13) .^ 2 + (z - 17) .^ 2 <= 16));
sinogram = et_project(truth, cameras, 0, psf);  % measured counts in their place

activity = ones(n, n, n, 'single');
normalisation = et_backproject(ones(n, n, numel(cameras), 'single'), cameras, 0, psf);
likelihood = zeros(1, iterations);
for k = 1:iterations
  expected = et_project(activity, cameras, 0, psf);
  likelihood(k) = sum(double(sinogram(expected > 0) .* log(expected(expected > 0)))) - sum(double(expected(:)));
  activity = activity .* tof_ratio(et_backproject(tof_ratio(sinogram, expected), cameras, 0, psf), normalisation);
end

fprintf('in the ball %.0f of %.0f, elsewhere %.0f; the likelihood rose %d times of %d\n', activity(21, 13, 17), ...
        truth(21, 13, 17), activity(13, 21, 17), sum(diff(likelihood) > 0), iterations - 1);
% SPDX-License-Identifier: Apache-2.0
