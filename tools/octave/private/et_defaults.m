function [attenuation, psf, use_gpu] = et_defaults(varargin)
% The optional arguments of et_project and et_backproject: attenuation, psf, use_gpu, background.
  given = {0, 0, 0, 0};
  given(1:numel(varargin)) = varargin;
  [attenuation, psf, use_gpu, background] = deal(given{:});
  if ~isempty(background) && ~isequal(background, 0)
    error('tofstream:invalid', 'background is %g, and must be 0: nothing lies outside the image', background(1));
  end
end
% SPDX-License-Identifier: Apache-2.0
