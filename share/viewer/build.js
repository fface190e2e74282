// Bundles the page: node build.js OUTPUT. What it imports lies in the node_modules that NODE_PATH names.
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const source = path.join(path.dirname(fileURLToPath(import.meta.url)), 'src');
const output = path.resolve(process.argv[2]);
const packages = path.resolve(process.env.NODE_PATH);
const { build } = createRequire(path.join(packages, 'any.js'))('esbuild');

// NiiVue's package has no file with its licence; whose it is stands in LICENSE of github.com/niivue/niivue.
const holders = { '@niivue/niivue': ['2021', 'Niivue'] };

// A package's licence, word by word: its own file, else the licence's standard text with the holder's name.
async function licenceText(about, folder) {
  const file = (await readdir(folder)).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  if (file) return readFile(path.join(folder, file), 'utf8');
  if (!holders[about.name]) throw new Error(`${about.name} has no file with its licence: add its holder to share/viewer/build.js`);
  const [year, owner] = holders[about.name];
  const standard = JSON.parse(await readFile(path.join(packages, 'spdx-license-list/licenses', `${about.license}.json`), 'utf8'));
  return standard.licenseText.replace('<year>', year).replace('<owner>', owner).trimEnd() + '\n';
}

// Name, version, licence and its text of every package of which a part is in the bundle.
async function licences(metafile) {
  const inside = Object.values(metafile.outputs).flatMap((file) => Object.keys(file.inputs));
  const names = new Set(inside.map((file) => file.match(/.*node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1]).filter(Boolean));
  let text = 'The page holds parts of these packages.\n';
  for (const name of [...names].sort()) {
    const folder = path.join(packages, name);
    const about = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'));
    text += `\n${about.name} ${about.version}: ${about.license}\n\n${await licenceText(about, folder)}`;
  }
  return text;
}

await rm(output, { recursive: true, force: true });
await mkdir(output, { recursive: true });
const { metafile } = await build({
  entryPoints: [path.join(source, 'page.js'), path.join(source, 'page.css')],
  outdir: output, bundle: true, minify: true, splitting: true, format: 'esm', target: 'es2022', legalComments: 'linked',
  logLevel: 'warning', metafile: true, nodePaths: [packages],
  external: ['numcodecs/*'], // NiiVue's decompressors of Zarr, which this page never reads
});
await writeFile(path.join(output, 'licences.txt'), await licences(metafile));
await copyFile(path.join(source, 'index.html'), path.join(output, 'index.html')); // last: it says that the rest is there
// SPDX-License-Identifier: Apache-2.0
