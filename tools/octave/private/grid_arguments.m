function arguments = grid_arguments(grid, name)
% What a grid is to the gateway: size, voxel_mm and origin_mm. Without an origin its middle is the scanner's.
  require_struct(grid, name, {'size', 'voxel_mm'}, {'origin_mm'});
  if isfield(grid, 'origin_mm')
    origin = grid.origin_mm;
  elseif numel(grid.size) == 3 && numel(grid.voxel_mm) == 3
    origin = -0.5 * (double(grid.size(:)') - 1) .* double(grid.voxel_mm(:)');
  else
    origin = [0 0 0];  % the gateway names the field that is wrong
  end
  arguments = {grid.size, grid.voxel_mm, origin};
end
% SPDX-License-Identifier: Apache-2.0
