function A = et_operator(size_xyz, cameras, attenuation, psf, use_gpu)
% The operator of et_project and et_backproject: the last one again where the geometry is the same, since an iteration
% asks for it twice. Voxels and pixels are 10 mm wide, so that a voxel is 1 mL and 1 cm: a view is the plain sum of the
% planes, and attenuation is per voxel. The camera's face touches the image's grid.
  persistent last
  if use_gpu
    warning('tofstream:gpu', 'use_gpu is ignored: operators of Matlab and Octave work on the CPU');
  end
  geometry = {size_xyz, cameras, attenuation, psf};
  if isempty(last) || ~isequal(last.geometry, geometry)
    last = [];
    last.operator = made(size_xyz, cameras, attenuation, psf);
    last.geometry = geometry;
  end
  A = last.operator;
end

function A = made(size_xyz, cameras, attenuation, psf)
  n = size_xyz(1);
  if size_xyz(2) ~= n
    error('tofstream:invalid', 'activity is %s, and must be as wide along y as along x', in_words(size_xyz));
  end
  voxel_mm = 10;
  camera = struct('angles_deg', angles_of(cameras) * 180 / pi, 'radius_mm', n / 2 * voxel_mm, ...
                  'detector', size_xyz([1 3]), 'pixel_mm', [voxel_mm voxel_mm]);
  if ~is_none(attenuation)
    if ndims(attenuation) > 3 || ~isequal([size(attenuation, 1), size(attenuation, 2), size(attenuation, 3)], size_xyz)
      error('tofstream:invalid', ['attenuation is %s, and must be %s as activity, or 0 for none; psf is the ' ...
                                  'argument after it'], in_words(size(attenuation)), in_words(size_xyz));
    end
    camera.mu = attenuation;
  end
  if is_none(psf)
    camera.psf_form = 'none';
  else
    if size(psf, 3) ~= n
      error('tofstream:invalid', 'psf is %s, and must have a kernel for each of the %d planes: u x w x %d', ...
            in_words(size(psf)), n, n);
    end
    camera.psf = struct('kernels', psf, 'depth_mm', ((1:n) - 0.5) * voxel_mm);
  end
  A = tof_spect(struct('size', size_xyz, 'voxel_mm', [1 1 1] * voxel_mm), camera);
end

function angles = angles_of(cameras)
  if ndims(cameras) > 2 || ~any(size(cameras, 2) == [1 3])
    error('tofstream:invalid', ...
          'cameras are %s, and must be a column of angles about z, or n x 3 about x, y and z, in radians', ...
          in_words(size(cameras)));
  end
  angles = cameras(:, end);
  turned = find(any(cameras(:, 1:end - 1) ~= 0, 2), 1);
  if ~isempty(turned)
    error('tofstream:invalid', 'cameras turn about x or y in row %d, and tofstream''s turn about z alone', turned);
  end
end

function is = is_none(array)
  is = isempty(array) || isequal(array, 0);
end
% SPDX-License-Identifier: Apache-2.0
