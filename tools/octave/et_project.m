function sinogram = et_project(activity, cameras, varargin)
% ET_PROJECT  The projector of Pedemonte et al. 2010, section II.D: an activity to a gamma camera's views.
%
%   sinogram = et_project(activity, cameras, attenuation, psf, use_gpu, background)
%
% The paper names this function and prints neither its arguments nor their meaning (its sample of code is lost). Their
% order is that of the help texts of its program, NiftyRec. Their meaning here is our reading:
%
%   activity     n x n x m along (x, y, z), z along the axis of rotation; single (double is converted)
%   cameras      a column of angles about z in radians, one a view; or n x 3, about x, y and z, the first two 0. At 0
%                the camera looks from +y, and u grows towards -x; at pi/2 from +x, and u grows towards +y
%   attenuation  of activity's size, per voxel (the coefficient in 1/cm times the voxel's width in cm); 0 or []: none.
%                The paper has none yet
%   psf          u x w x n: a kernel for each of the n planes parallel to the camera, the nearest one first; odd sizes.
%                Its values count as they are, so a kernel that keeps counts has the sum 1; 0 or []: none
%   use_gpu      is ignored, with a warning (tofstream:gpu)
%   background   what lies outside the image: 0
%   sinogram     n x m x views: (u, w, view), single. A view is the sum of the planes, in the activity's unit
%
% As in the paper, the image lies in n planes of one voxel in front of the camera, whose face touches the grid. The
% image is the cylinder in the grid, which all cameras see. tof_spect has mm, orbits and Gaussians in their place.
% The operator of the last call is kept for the next one with the same geometry; `clear all` drops it.
  narginchk(2, 6);
  [attenuation, psf, use_gpu] = et_defaults(varargin{:});
  A = et_operator([size(activity, 1), size(activity, 2), size(activity, 3)], cameras, attenuation, psf, use_gpu);
  sinogram = A * activity;
end
% SPDX-License-Identifier: Apache-2.0
