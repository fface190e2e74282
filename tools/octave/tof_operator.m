classdef tof_operator
% TOF_OPERATOR  A linear map A from an image to data: what tof_spect, tof_joseph, tof_tor, tof_list_mode and
% tof_direct make.
%
%   A * x                  data = A x, of an image x
%   A' * y                 image = the transpose of A applied to data y
%   em_step(A, x, counts, additive, multiplicative)
%                          A'(m y / (m A x + b)) in one pass: the sum by which EM multiplies. [] stands for b = 0 and
%                          m = 1. Events count once each: counts and multiplicative are [], and b is divided by m. A
%                          second result is the number of events that were left out since nothing is expected there.
%   sensitivity(A, multiplicative)
%                          A' m of views; m is 1 where it is left out. Of events that of all lines that their scanner
%                          records
%   gradient(A, x, counts, additive)
%                          the gradient of the log-likelihood of views: em_step less the sensitivity
%   split(A, n)            n operators of parts of the data, in a cell array: views that each cover the circle, or
%                          events one after the other
%   indices(A)             which data of the whole a part has, from 1
%   plan(A)                prepares what each later call of these data would prepare; gives A
%   deposit(A, events), multiplicative(A, scanner), additive(A, scanner, seconds)
%                          of histo-images: help tof_direct
%   A.in_size, A.out_size  sizes of the image (x, y, z), and of the data: (u, w, view), (t, s, z, view), or (events, 1)
%   A.precision            'single' or 'double'
%   A.report               what the projector chose itself, as a struct
%   size(A)                [number of data, number of voxels]
%
% An operator of precision 'double' is the definition in double precision, the reference of the others: on one
% thread, and slow. It has A * x and A' * y alone. Its arrays are double (single is converted), and its results too.
%
% Arrays of the others are single, and go to the library as they lie in memory. Double is converted to single in a copy; results are
% single. Other types, sparse, complex and gpuArray are errors. An operator works on the CPU. Copies share it, and it
% is dropped when the last of them is cleared.
  properties (SetAccess = private)
    in_size
    out_size
    precision
  end
  properties (Access = private)
    identity
    owner            % drops the operator when the last copy is cleared
    keeps            % arrays of events, which the library reads in place
    grid             % of histo-images
    is_adjoint = false
  end
  methods
    function A = tof_operator(identity, keeps, grid)
      % Made by tof_spect and its like.
      A.identity = identity;
      A.owner = onCleanup(@() tofstream_mex('drop', identity));
      A.keeps = keeps;
      if nargin > 2, A.grid = grid; end
      [A.in_size, A.out_size, A.precision] = call('shape', identity);
    end

    function y = mtimes(A, x)
      if ~isa(A, 'tof_operator') || isa(x, 'tof_operator')
        error('tofstream:invalid', 'an operator is applied to an array: A * x, or A'' * y');
      elseif A.is_adjoint
        y = call('adjoint', A.identity, x);
      else
        y = call('forward', A.identity, x);
      end
    end

    function A = ctranspose(A)
      A.is_adjoint = ~A.is_adjoint;
      [A.in_size, A.out_size] = deal(A.out_size, A.in_size);
    end

    function A = transpose(A)
      A = ctranspose(A);
    end

    function [image, rejected] = em_step(A, x, counts, additive, multiplicative)
      if nargin < 3, counts = []; end
      if nargin < 4, additive = []; end
      if nargin < 5, multiplicative = []; end
      require_forward(A, 'em_step');
      require_single(A, 'em_step');
      [image, rejected] = call('em_step', A.identity, x, counts, additive, multiplicative);
    end

    function image = sensitivity(A, multiplicative)
      if nargin < 2, multiplicative = []; end
      require_forward(A, 'sensitivity');
      require_single(A, 'sensitivity');
      image = call('sensitivity', A.identity, multiplicative);
    end

    function image = gradient(A, x, counts, additive)
      if nargin < 4, additive = []; end
      image = em_step(A, x, counts, additive) - sensitivity(A);
    end

    function parts = split(A, n)
      require_forward(A, 'split');
      if ~isnumeric(n) || ~isscalar(n) || ~(n >= 1) || n ~= fix(n)
        error('tofstream:invalid', 'the number of parts is %s, and must be a whole number from 1', mat2str(n));
      end
      parts = cell(1, n);
      for k = 1:n
        parts{k} = tof_operator(call('part', A.identity, [k - 1, n]), A.keeps, A.grid);
      end
    end

    function [data, what] = deposit(A, events, varargin)
      given = settings_of(struct('nearest', false), varargin);
      require_forward(A, 'deposit');
      require_single(A, 'deposit');
      of_events = event_arguments(events, 'events');
      [data, counts] = call('deposit', A.identity, of_events{:}, double(given.nearest));
      what = struct('deposited', counts(1), 'beyond_acceptance', counts(2), 'outside', counts(3), 'no_line', counts(4));
    end

    function [data, lines] = multiplicative(A, scanner, varargin)
      given = settings_of(struct('mu', [], 'mu_grid', A.grid, 'most_lines', 50e6), varargin);
      require_histo_images(A, 'multiplicative');
      over_mu = grid_arguments(given.mu_grid, 'mu_grid');
      [data, counts] = call('multiplicative', A.identity, scanner, over_mu{:}, given.mu, given.most_lines);
      lines = struct('all', counts(1), 'drawn', counts(2), 'accepted', counts(3));
    end

    function data = additive(A, scanner, seconds, varargin)
      given = settings_of(struct('delayeds', [], 'rate_cps', 0, 'window_mm', 0, 'most_lines', 50e6), varargin);
      require_histo_images(A, 'additive');
      of_delayeds = {};
      if ~isempty(given.delayeds), of_delayeds = event_arguments(given.delayeds, 'delayeds'); end
      data = call('additive', A.identity, scanner, seconds, given.rate_cps, given.window_mm, given.most_lines, ...
                  double(~isempty(given.delayeds)), of_delayeds{:});
    end

    function numbers = indices(A)
      numbers = call('indices', A.identity);
    end

    function A = plan(A)
      call('plan', A.identity);
    end

    function found = report(A)
      found = struct();
      lines = strsplit(call('report', A.identity), '\n');
      for i = 1:numel(lines)
        parts = regexp(lines{i}, '^(.*?): (.*)$', 'tokens', 'once');
        if ~isempty(parts)
          found.(parts{1}) = parts{2};
        end
      end
    end

    function varargout = size(A, axis)
      counts = [prod(A.out_size), prod(A.in_size), 1];
      if nargin > 1
        varargout{1} = counts(min(axis, 3));
      elseif nargout < 2
        varargout{1} = counts(1:2);
      else
        varargout = num2cell([counts, ones(1, nargout - 3)]);
      end
    end

    function disp(A)
      fprintf('  operator from %s to %s\n', in_words(A.in_size), in_words(A.out_size));
    end
  end
  methods (Access = private)
    function require_single(A, name)
      if strcmp(A.precision, 'double')
        error('tofstream:invalid', ...
              '%s is of operators in single precision: one in double has A * x and A'' * y alone', name);
      end
    end

    function require_histo_images(A, name)
      require_forward(A, name);
      require_single(A, name);
      if isempty(A.grid)
        error('tofstream:invalid', '%s is of histo-images: make the operator by tof_direct', name);
      end
    end

    function require_forward(A, name)
      if A.is_adjoint
        error('tofstream:invalid', '%s is of A, not of its transpose', name);
      end
    end
  end
end
% SPDX-License-Identifier: Apache-2.0
