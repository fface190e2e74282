function image = et_backproject(sinogram, cameras, varargin)
% ET_BACKPROJECT  The transpose of et_project, applied to a sinogram.
%
%   image = et_backproject(sinogram, cameras, attenuation, psf, use_gpu, background)
%
%   sinogram     n x m x views: (u, w, view), as et_project gives it
%   image        n x n x m along (x, y, z)
%
% The other arguments are et_project's. It is the exact transpose: the paper's own second interpolation and unmirrored
% kernel are not (`adjoint: paper` of rotation_projector is the paper's pair).
  narginchk(2, 6);
  [attenuation, psf, use_gpu] = et_defaults(varargin{:});
  n = size(sinogram, 1);
  A = et_operator([n, n, size(sinogram, 2)], cameras, attenuation, psf, use_gpu);
  image = A' * sinogram;
end
% SPDX-License-Identifier: Apache-2.0
