function A = tof_spect(grid, camera, precision)
% TOF_SPECT  A gamma camera's views by the rotation projector.
%
%   A = tof_spect(grid, camera) is an operator (help tof_operator) from images (x, y, z) to views (u, w, view).
%
%   grid.size, grid.voxel_mm   numbers of voxels and their edges along (x, y, z)
%   grid.origin_mm             centre of the first voxel; without it the image's middle is on the axis
%   camera.angles_deg          of each view: 0 at the patient's back, 90 at the patient's left
%   camera.radius_mm           from the axis to the collimator's face: one for all, or one a view
%   camera.detector, camera.pixel_mm
%                              pixels of a view and their edges along (u, w)
%   camera.psf                 struct of slope, sigma0_mm, intrinsic_fwhm_mm, or of table (a file); or of kernels
%                              (u x w x depth, odd sizes, values as they count) and depth_mm, ascending from the face:
%                              linear between depths, constant outside them. Without it there is no point spread.
%   camera.mu                  attenuation (x, y, z) in 1/cm, on the image's grid, or on camera.mu_grid
%   camera.*                   any other parameter of rotation_projector: psf_form, rotation, support, cps_per_MBq,
%                              scanner, adjoint ... (tofstream gadgets rotation_projector)
%
% A third argument 'double' gives the operator by its definition in double precision (help tof_operator).
%
% All views count alike; where their times differ, `multiplicative` of em_step and sensitivity has them.
  if nargin < 3, precision = 'single'; end
  required = {'angles_deg', 'radius_mm', 'detector', 'pixel_mm'};
  require_struct(camera, 'camera', required, 'any');
  [mu, mu_grid] = deal([], grid);
  if isfield(camera, 'mu'), mu = camera.mu; end
  if isfield(camera, 'mu_grid'), mu_grid = camera.mu_grid; end
  parameters = rmfield(camera, [required, intersect(fieldnames(camera)', {'mu', 'mu_grid'})]);
  if ~isempty(mu)
    parameters.mu_map = 'memory:mu';
  end
  if isfield(camera, 'psf') && isfield(camera.psf, 'kernels')
    table = write_kernels(camera.psf);
    remove_table = onCleanup(@() delete(table));
    parameters.psf = struct('table', table);
  end
  radius = camera.radius_mm;
  if numel(radius) == 1
    radius = repmat(radius, 1, numel(camera.angles_deg));
  end
  over_grid = grid_arguments(grid, 'grid');
  over_mu = grid_arguments(mu_grid, 'camera.mu_grid');
  A = tof_operator(call('views', 'rotation_projector', as_yaml(parameters), over_grid{:}, camera.angles_deg, radius, ...
                        camera.detector, camera.pixel_mm, over_mu{:}, mu, precision), {});
end
% SPDX-License-Identifier: Apache-2.0
