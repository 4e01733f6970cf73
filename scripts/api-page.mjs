// Writes docs/api.md from the declarations that `npm run build:lib` emits: what editors show, shortened to one page.
//
//   node scripts/api-page.mjs            writes the page
//   node scripts/api-page.mjs --check    fails if the page is not what the declarations say
//
// index.d.ts gives the sections, in comments (`// # Reading sessions`), and the order in them. Of a function the page has the first paragraph, the
// parameters, the result, the errors and the first example; of a class or an argument the first sentence about each member; of a result its fields.

import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'rolldown/utils';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const PAGE = join(ROOT, 'docs/api.md');

const front = read('index.d.ts');
const sections = sectionsOf(front);
const declarations = new Map(sections.flatMap(({ declared }) => declared).map((one) => [one.name, one]));
markArguments();
const anchors = anchorsOf(sections.flatMap(({ title, declared }) => [title, ...declared.filter(hasHeading).map(({ name }) => name)]));
const page = `${[...introduction(), ...sections.flatMap(sectionBlocks)].filter(Boolean).join('\n\n')}\n`;

if (!process.argv.includes('--check')) writeFileSync(PAGE, page);
else if (read('docs/api.md') !== page) {
  console.error('docs/api.md is not what the declarations say: run `npm run build:lib && npm run docs:api`');
  process.exitCode = 1;
}

function read(path) {
  return readFileSync(join(ROOT, path), 'utf8').replaceAll('\r\n', '\n');
}

function sectionsOf(text) {
  const [before, ...parts] = text.split(/^\/\/ # /m);
  if (/^export/m.test(before)) throw new Error('index.d.ts: the first export stands before the first section');
  return parts.map((part) => {
    const paths = [...part.matchAll(/^export \* from '\.\/dist\/(.*)\.js';$/gm)].map(([, path]) => path);
    return { title: part.slice(0, part.indexOf('\n')), declared: withOverloads(paths.flatMap(declarationsOf)) };
  });
}

/** What a file declares: each with the source text of its signatures, and its doc comment. */
function declarationsOf(path) {
  const text = read(`dist/${path}.d.ts`);
  const { program, comments } = parseSync(path, text, { lang: 'dts' });
  const docOf = (node) => parsedDoc(comments.findLast(({ end }) => end <= node.start && text.slice(end, node.start).trim() === '')?.value ?? '');
  return program.body.filter(({ declaration }) => declaration).map((statement) => {
    const node = statement.declaration;
    const bases = (node.extends ?? []).map(({ expression }) => expression.name);
    const members = (node.body?.body ?? []).map((member) => ({ text: text.slice(member.start, member.end), doc: docOf(member) }));
    const isType = node.type === 'TSInterfaceDeclaration' || node.type === 'TSTypeAliasDeclaration';
    return { name: (node.id ?? node.declarations[0].id).name, node, path, bases, members, isType, doc: docOf(statement), signatures: [text.slice(node.start, node.end)] };
  });
}

function withOverloads(declared) {
  const byName = new Map();
  for (const one of declared) {
    const first = byName.get(one.name);
    if (first === undefined) byName.set(one.name, one);
    else first.signatures.push(...one.signatures);
  }
  return [...byName.values()].sort((a, b) => Number(a.isType) - Number(b.isType));
}

/** A doc comment: its text, and its tags with their texts. */
function parsedDoc(comment) {
  const [text, ...tags] = comment.replaceAll(/^\s*\*? ?/gm, '').trim().split(/^@(?=\w)/m);
  return { text: text.trim(), tags: tags.map((tag) => ({ tag: /^\w+/.exec(tag)[0], text: tag.replace(/^\w+\s*/, '').trim() })) };
}

/** Marks the types that parameters of functions and methods lead to. */
function markArguments() {
  const visit = (node) => {
    if (node === null || typeof node !== 'object') return;
    const found = node.type === 'TSTypeReference' ? declarations.get(node.typeName.name) : undefined;
    if (found?.isType && !found.isArgument) {
      found.isArgument = true;
      visit(found.node);
    }
    Object.values(node).forEach(visit);
  };
  const parameters = ({ node }) => [...(node.params ?? []), ...(node.body?.body ?? []).flatMap((member) => member.value?.params ?? member.params ?? [])];
  [...declarations.values()].filter(({ isType }) => !isType).flatMap(parameters).forEach(visit);
}

function hasHeading({ isType, isArgument }) {
  return !isType || isArgument;
}

/** The anchors that GitHub gives headings. */
function anchorsOf(headings) {
  const times = new Map();
  return new Map(headings.map((heading) => {
    const anchor = heading.toLowerCase().replaceAll(/[^\w -]/g, '').replaceAll(' ', '-');
    times.set(anchor, (times.get(anchor) ?? -1) + 1);
    return [heading, times.get(anchor) === 0 ? anchor : `${anchor}-${times.get(anchor)}`];
  }));
}

function introduction() {
  const { text } = parsedDoc(/\/\*\*([^]*?)\*\//.exec(front)[1]);
  const rows = sections.map(({ title, declared }) => [`[${title}](#${anchors.get(title)})`, namesIn(declared).map((name) => linked(name)).join(', ')]);
  return ['<!-- Written by scripts/api-page.mjs from the comments in lib/. -->\n# API', prose(text), table('| section | functions, classes and constants |', rows)];
}

function namesIn(declared) {
  const values = declared.filter(({ isType }) => !isType);
  return (values.length > 0 ? values : declared.filter(hasHeading)).map(({ name }) => name);
}

function sectionBlocks({ title, declared }) {
  const results = declared.filter((one) => !hasHeading(one)).map((one) => [linked(one.name), `${sentence(one.doc.text)} ${shape(one)}`]);
  return [`## ${title}`, ...declared.filter(hasHeading).flatMap(declarationBlocks), results.length > 0 && table('| result | |', results)];
}

function declarationBlocks({ name, path, doc, signatures }) {
  const heading = `### ${name}`;
  const source = `[Source](../lib/${path}.ts)`;
  const rows = membersOf(declarations.get(name)).map((member) => [`\`${oneLine(member.text)}\``, sentence(member.doc.text)]);
  if (rows.length > 0) return [heading, ...explained(doc, source), table('| | |', rows)];
  return [heading, code(signatures.map((text) => text.replace(/^declare (function |const )?/, '')).join('\n')), ...explained(doc, source)];
}

function explained({ text, tags }, source) {
  const of = (wanted) => tags.filter(({ tag }) => tag === wanted).map((tag) => tag.text);
  const items = [
    ...of('param').map((said) => said.replace(/^(\w+)\s+-\s+/, '`$1`: ')),
    ...of('returns').map((said) => `Returns: ${said}`),
    // The introduction says that all functions throw a TypeError for a wrong argument.
    ...of('throws').filter((said) => !said.startsWith('TypeError')).map((said) => said.replace(/^(\w+)\s+-\s+/, 'Throws `$1`: ')),
  ];
  return [`${inline(text.split('\n\n')[0])} ${source}`, items.map((item) => `- ${inline(item)}`).join('\n'), ...of('example').slice(0, 1)];
}

/** The members of a class or an interface, with those that it inherits. */
function membersOf({ members, bases }) {
  return [...bases.flatMap((base) => (declarations.has(base) ? membersOf(declarations.get(base)) : [])), ...members];
}

/** The fields of a result, or what a short alias stands for. */
function shape(one) {
  const members = membersOf(one);
  if (members.length > 0) return `\`{ ${members.map(({ text }) => /^(?:readonly )?([\w?]+)/.exec(text)?.[1] ?? '…').join(', ')} }\``;
  const alias = oneLine(one.signatures[0]).replace(/^type \w+(<[^>]*>)? = /, '');
  return alias.length <= 100 ? `\`${alias}\`` : '';
}

function table(head, rows) {
  return [head, '|---|---|', ...rows.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)].join('\n');
}

function linked(name, shown = name) {
  return `[\`${shown}\`](${anchors.has(name) ? `#${anchors.get(name)}` : `../lib/${declarations.get(name).path}.ts`})`;
}

function code(text) {
  return `\`\`\`ts\n${withoutUndefined(text)}\n\`\`\``;
}

function oneLine(text) {
  return withoutUndefined(text.replaceAll(/\/\*\*[^]*?\*\//g, '').replaceAll(/\s+/g, ' ').replace(/;$/, ''));
}

/** A declaration that does not say of what is optional that it may be `undefined`. */
function withoutUndefined(text) {
  return text.replaceAll(/(\?: [^;]*?) \| undefined(?=[;,)}]|$)/g, '$1');
}

function sentence(text) {
  return inline(/^[^]*?[.](?=\s|$)/.exec(text.split('\n\n')[0])?.[0] ?? text.split('\n\n')[0]);
}

function inline(text) {
  return prose(text).replaceAll(/\s+/g, ' ').trim();
}

function prose(text) {
  return text.replaceAll(/\{@link (\w+)(\.\w+)?\}/g, (_, name, member = '') => (declarations.has(name) ? linked(name, name + member) : `\`${name}${member}\``));
}
