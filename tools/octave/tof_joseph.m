function A = tof_joseph(grid, events, parameters, precision)
% TOF_JOSEPH  Line integrals of list-mode events by Joseph's method, with time of flight where the events have it.
%
%   A = tof_joseph(grid, events), A = tof_joseph(grid, events, parameters): help tof_list_mode. Parameters are those of
%   joseph_projector.
  if nargin < 3, parameters = struct(); end
  if nargin < 4, precision = 'single'; end
  A = tof_list_mode('joseph_projector', grid, events, parameters, precision);
end
% SPDX-License-Identifier: Apache-2.0
