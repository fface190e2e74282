function A = tof_list_mode(projector, grid, events, parameters, precision)
% TOF_LIST_MODE  The list-mode projector of this gadget's name, with its parameters, for these events.
%
%   A = tof_list_mode(projector, grid, events, parameters) is an operator (help tof_operator) from images (x, y, z) to
%   one number an event, a column. The grid is that of tof_spect. parameters: a struct, as
%   struct('tube_width_voxels', 3) of 'tor_projector' (tofstream gadgets tor_projector); may be left out.
%
%   events.scanner             of share/scanners, or a YAML file; with it
%   events.detector1, events.detector2
%                              uint32, numbered from 0 as PETSIRD does
%   events.x1, y1, z1, x2, y2, z2
%                              end points in mm, where there are no detectors
%   events.tof_mm              centre of the ToF bin from the line's middle, positive towards 2; without it, no ToF
%   events.tof_width_mm        of each bin, where they differ
%   events.tof_sigma_mm, events.tof_bin_mm
%                              resolution (not FWHM) and bin; without them, the scanner's
%
% A fifth argument 'double' gives the operator by its definition in double precision (help tof_operator).
%
% Arrays are single (double is converted in a copy), and the operator keeps those that it is given: changing yours
% afterwards does not change it.
  if nargin < 4, parameters = struct(); end
  if nargin < 5, precision = 'single'; end
  require_struct(parameters, 'parameters', {}, 'any');
  [of_events, keeps] = event_arguments(events, 'events');
  over_grid = grid_arguments(grid, 'grid');
  A = tof_operator(call('events', projector, as_yaml(parameters), over_grid{:}, of_events{:}, precision), keeps);
end
% SPDX-License-Identifier: Apache-2.0
