// All forms of secrets that an export with default options has to remove.

import { ENCODED } from './forms-encoded.mjs';
import { NAMED } from './forms-named.mjs';
import { TOKENS } from './forms-tokens.mjs';
import { TOOLS } from './forms-tools.mjs';
import { WEB } from './forms-web.mjs';

export const FORMS = { 'a value with a name': NAMED, 'a token': TOKENS, 'a request': WEB, 'a tool': TOOLS, 'in another spelling': ENCODED };

/** The names of forms that the rules do not find yet. docs/redaction.md counts them as misses. */
export const NOT_FOUND = new Set([
  '.pgpass',
  'Discord',
  'HTML entities around the value',
  'Name and Value in a JSON array',
  'a CI log: set-output',
  'a JSON array of secrets',
  'a cookie of HAR',
  'a storage key of Azure in JSON',
  'a token in hex',
  'aws ecr get-login-password',
  'aws ssm get-parameter',
  'chpasswd',
  'code: a comparison',
  'echo to docker login',
  'echo to sudo -S',
  'flags in an array of arguments',
  'once more, as a form encodes it',
  'once more, in upper-case hex with colons',
  'rclone.conf',
  'requests in Python, auth pair',
  'terraform output -json',
  'two tokens that touch',
]);

/** Whether the rules find a form. */
export const isFound = ([name]) => !NOT_FOUND.has(name);

/** The names of forms with which more than the secret is removed: the text after it, or the end of the JSON around it. */
export const TAKES_MORE = new Set([
  '.netrc in one line',
  '.netrc in several lines',
  '.npmrc: _authToken in the form of a UUID',
  '.npmrc: _password',
  '.pypirc',
  'a CI log: env of a step',
  'a Java property',
  'a Secret of Kubernetes: stringData',
  'a YAML key in kebab case',
  'a cookie file of Netscape',
  'a key of PEM without its beginning',
  'a key of PEM without its end',
  'a token in base64url',
  'a value in an ini file',
  'a value in an ini file with blanks',
  'environment of docker-compose',
  'gh auth status --show-token',
  'git config: extraheader',
  'git credential fill',
  'gradle.properties',
  'kubeconfig: client-key-data',
  'kubeconfig: token',
  'mailx: smtp-auth-password',
  '~/.aws/credentials',
]);
