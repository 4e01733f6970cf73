// docs/api.md against the declarations: the parameters of every function and method, and the fields of every object that is an argument.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { declarations } from '../support/declarations.js';
import { ROOT } from './packing/release.js';

interface Signature {
  /** As the page writes it: `name`, or `new Name`. */
  name: string;
  /** Each as declared: `options?: ScanOptions`. */
  parameters: string[];
}

const api = readFileSync(join(ROOT, 'docs', 'api.md'), 'utf8');
const code = declarations.replaceAll(/\/\*\*[^]*?\*\//g, '').replaceAll(/\/\/.*$/gm, '');
const classes = [...code.matchAll(/^export declare class (\w+)[^{]*\{\n([^]*?)^\}/gm)].map(([, name, body]) => ({ name: name!, body: body! }));

const signatures: Signature[] = [
  ...signaturesIn(code, /^export declare function (\w+)/gm),
  ...classes.flatMap(({ name, body }) => signaturesIn(body, /^ {2}(?:static )?(\w+)(?=[<(])/gm).map((one) => (one.name === 'constructor' ? { ...one, name: `new ${name}` } : one))),
];

/** The signatures whose names `pattern` finds. */
function signaturesIn(text: string, pattern: RegExp): Signature[] {
  return [...text.matchAll(pattern)].map(({ 0: found, 1: name, index }) => {
    let at = index + found.length;
    if (text[at] === '<') at = endOfBracket(text, at) + 1;
    const parameters = parts(text.slice(at + 1, endOfBracket(text, at))).filter((one) => !one.startsWith('this:'));
    return { name: name!, parameters };
  });
}

/** How far the brackets are open after each character of a text. The `>` of an arrow is none. */
function depths(text: string): number[] {
  let depth = 0;
  return text.split('').map((character, at) => {
    if ('([{<'.includes(character)) depth += 1;
    else if (')]}'.includes(character) || (character === '>' && text[at - 1] !== '=')) depth -= 1;
    return depth;
  });
}

/** Where the bracket that begins at `start` ends. */
function endOfBracket(text: string, start: number): number {
  return start + depths(text.slice(start)).indexOf(0);
}

/** The parts between commas outside of brackets. */
function parts(list: string): string[] {
  const found = depths(list);
  const cuts = [-1, ...found.flatMap((depth, at) => (depth === 0 && list[at] === ',' ? [at] : [])), list.length];
  return cuts.slice(1).map((end, at) => list.slice(cuts[at]! + 1, end).trim()).filter((part) => part !== '');
}

/** The fields of the type of a parameter, `field?` if optional; `undefined` for a type that is no object of the package. */
function fieldsOf(parameter: string): string[] | undefined {
  const type = parameter.slice(parameter.indexOf(':') + 1).replaceAll(/<[^<>]*>/g, '').trim();
  if (type.startsWith('{')) return [...type.matchAll(/(\w+\??):/g)].map(([, field]) => field!);
  if (!/^\w+$/.test(type)) return undefined;
  const declared = new RegExp(`^export interface ${type}(?:<[^{]*?>)?(?: extends ([^{]*))? \\{\n([^]*?)^\\}`, 'm').exec(code);
  if (declared === null) return undefined;
  const inherited = (declared[1]?.split(',') ?? []).flatMap((base) => fieldsOf(`base: ${base}`) ?? []);
  return [...inherited, ...[...declared[2]!.matchAll(/^ {2}(?:readonly )?(\w+\??)(?=[:(])/gm)].map(([, field]) => field!)];
}

/** The lists of parameters with which the page writes a function. */
function writtenLists(name: string): string[][] {
  const spans = [...api.matchAll(/`([^`\n]+)`/g)].map(([, span]) => span!);
  const calls = spans.flatMap((span) => [...span.matchAll(new RegExp(`(?<!\\w)${name}\\(`, 'g'))].map(({ 0: found, index }) => span.slice(index + found.length - 1)));
  return calls.map((call) => parts(call.slice(1, endOfBracket(call, 0))));
}

/** Whether the page writes a parameter by its name, or as the fields of its type in braces. */
function isWritten(written: string, parameter: string): boolean {
  if (!written.startsWith('{')) return written === parameter.slice(0, parameter.indexOf(':'));
  return written.slice(1, -1).split(',').map((field) => field.trim()).sort().join() === fieldsOf(parameter)?.sort().join();
}

test('docs/api.md writes every function and method with the parameters that are declared', () => {
  expect(signatures.map(({ name }) => name)).toEqual(expect.arrayContaining(['readSessionHeaders', 'forkSession', 'new RunRecorder', 'createLocked', 'putBlob', 'initializeForResume']));
  const wrong = signatures.filter(({ name, parameters }) => {
    const fits = (list: string[]): boolean => list.length === parameters.length && list.every((written, at) => isWritten(written, parameters[at]!));
    return !writtenLists(name).some(fits);
  });
  expect(wrong).toEqual([]);
});

test('docs/api.md names every field of the objects that are arguments', () => {
  const fields = signatures.flatMap(({ name, parameters }) => parameters.flatMap((parameter) => (fieldsOf(parameter) ?? []).map((field) => `${name}: ${field.replace('?', '')}`)));
  expect(fields).toEqual(expect.arrayContaining(['resumeSession: continueRef', 'forkSession: snapshotDir', 'diffToText: details', 'new RunRecorder: scheduler', 'compileWorkflow: nodes', 'adoptLock: lockPath']));
  const isNamed = (field: string): boolean => new RegExp(`\`[^\`\n]*\\b${field.split(': ')[1]}\\b[^\`\n]*\``).test(api);
  expect(fields.filter((field) => !isNamed(field))).toEqual([]);
});
