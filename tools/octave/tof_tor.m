function A = tof_tor(grid, events, parameters, precision)
% TOF_TOR  Tubes of response of list-mode events, with time of flight where the events have it.
%
%   A = tof_tor(grid, events), A = tof_tor(grid, events, parameters): help tof_list_mode. Parameters are those of
%   tor_projector, such as struct('tube_width_voxels', 3, 'fwhm_mm', 8).
  if nargin < 3, parameters = struct(); end
  if nargin < 4, precision = 'single'; end
  A = tof_list_mode('tor_projector', grid, events, parameters, precision);
end
% SPDX-License-Identifier: Apache-2.0
