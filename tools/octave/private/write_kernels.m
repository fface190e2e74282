function file = write_kernels(psf)
% The kernels of a point spread (u x w x depth) and their depths in mm, written as a table that rotation_projector
% reads. Gives the name of the temporary file, which the caller deletes.
  require_struct(psf, 'camera.psf', {'kernels', 'depth_mm'}, {});
  require_kernels(psf.kernels, psf.depth_mm);
  kernels = psf.kernels;
  file = [tempname() '.yaml'];
  out = fopen(file, 'w');
  if out < 0
    error('tofstream:file', '%s cannot be written: it is to hold the kernels of camera.psf', file);
  end
  fprintf(out, 'size: [%d, %d]\nkernels:\n', size(kernels, 1), size(kernels, 2));
  for k = 1:size(kernels, 3)
    values = sprintf('%.9g, ', kernels(:, :, k));
    fprintf(out, '  - {depth_mm: %.9g, values: [%s]}\n', psf.depth_mm(k), values(1:end - 2));
  end
  fclose(out);
end

% What the table's reader would refuse too, but with the name of the temporary file.
function require_kernels(kernels, depth_mm)
  if ~isnumeric(kernels) || ~isreal(kernels) || ndims(kernels) > 3 || size(kernels, 3) ~= numel(depth_mm)
    error('tofstream:invalid', 'psf: kernels are %s (%s), and must be real, u x w x depth, of the %d depths', ...
          in_words(size(kernels)), class(kernels), numel(depth_mm));
  elseif ~all(mod([size(kernels, 1), size(kernels, 2)], 2))
    error('tofstream:invalid', 'psf: kernels are %s, and must have odd numbers of pixels along u and w', ...
          in_words(size(kernels)));
  elseif ~all(diff(depth_mm(:)) > 0)
    error('tofstream:invalid', 'psf: depth_mm is %s, and must ascend', mat2str(double(depth_mm(:)')));
  end
  for k = 1:size(kernels, 3)
    values = kernels(:, :, k);
    if ~all(isfinite(values(:)) & values(:) >= 0) || ~any(values(:))
      error('tofstream:invalid', 'psf: kernel %d must be finite, not negative and not all 0', k);
    end
  end
end
% SPDX-License-Identifier: Apache-2.0
