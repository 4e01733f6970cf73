// The imports between JavaScript files and type declarations: `import`, `export … from`, `import()` and `require()` of a relative path.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

const SOURCE = /\.(?:c|m)?js$|\.d\.m?ts$/;
/** Imports that type declarations need for links in doc comments only, up to the next empty line. */
const FOR_LINKS = /^\/\/ Only for links in the comments\.\n(?:.+\n)*/gm;
const COMMENTS = /^\s*(?:\/\/|\*|\/\*).*$/gm;
const RELATIVE = /(?:\bfrom|\bimport|\brequire|\bimport\()\s*\(?\s*'(\.{1,2}\/[^']+)'/g;

/**
 * @param {string[]} places files, and folders whose files count at any depth
 * @returns {Map<string, Set<string>>} the imported files of each file
 */
export function javascriptImports(places) {
  const files = new Set(places.flatMap(filesAt).filter((file) => SOURCE.test(file)));
  return new Map([...files].map((file) => [file, importsOf(file, files)]));
}

function filesAt(place) {
  if (!existsSync(place)) return [];
  if (!statSync(place).isDirectory()) return [place];
  return readdirSync(place).flatMap((name) => filesAt(join(place, name)));
}

function importsOf(file, files) {
  const code = readFileSync(file, 'utf8').replace(FOR_LINKS, '').replace(COMMENTS, '');
  const paths = [...code.matchAll(RELATIVE)].map(([, path]) => join(dirname(file), path));
  return new Set(paths.map((path) => resolved(path, file, files)).filter((imported) => imported !== undefined && imported !== file));
}

/** The file that a path names. A declaration imports other declarations by the names of the files that they declare. */
function resolved(path, importer, files) {
  const declared = importer.endsWith('ts') ? [path.replace(/\.(m?)js$/, '.d.$1ts')] : [];
  return [...declared, path, `${path}.js`, join(path, 'index.js')].find((candidate) => files.has(candidate));
}
