// Tokens that their issuer made recognisable: each is found without any name beside it.

import { textOf } from './values.mjs'

const bare = (s) => `I got this back from the service: ${s} (it works)`
const quoted = (s) => `["${s}"]`
const glued = (s) => `value=${s};next`

export const TOKENS = [
  ['GitHub, classic', 'ghp_[A-Za-z0-9]{36}', bare],
  ['GitHub, of an app', 'ghs_[A-Za-z0-9]{36}', quoted],
  ['GitHub, fine-grained', 'github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}', bare],
  ['GitLab', 'glpat-[A-Za-z0-9_-]{20}', bare],
  ['npm', 'npm_[A-Za-z0-9]{36}', bare],
  ['PyPI', 'pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{80}', bare],
  ['Slack, of a bot', 'xoxb-[0-9]{12}-[0-9]{13}-[A-Za-z0-9]{24}', bare],
  ['Slack, of an app', 'xapp-1-A[A-Z0-9]{10}-[0-9]{13}-[0-9a-f]{64}', bare],
  [
    'a Slack webhook',
    '[A-Za-z0-9]{24}',
    (s) => `curl -X POST https://hooks.slack.com/services/T0ABCDEF1/B0ABCDEF2/${s}`,
  ],
  ['Stripe, live', 'sk_live_[A-Za-z0-9]{24}', bare],
  ['Stripe, restricted', 'rk_live_[A-Za-z0-9]{24}', quoted],
  ['OpenAI, of a project', 'sk-proj-[A-Za-z0-9_-]{70}[0-9]T3BlbkFJ[A-Za-z0-9_-]{70}', bare],
  ['OpenRouter', 'sk-or-v1-[0-9a-f]{64}', bare],
  ['Anthropic', 'sk-ant-api03-[A-Za-z0-9_-]{93}AA', bare],
  ['Google API', 'AIza[A-Za-z0-9_-]{35}', bare],
  ['Google OAuth', 'ya29.a0[A-Za-z0-9_-]{120}', bare],
  ['Google OAuth client', 'GOCSPX-[A-Za-z0-9_-]{28}', bare],
  [
    'an AWS key id and its key, one after the other',
    '[A-Za-z0-9/+]{39}[A-Za-z0-9]',
    (s, more) => `AKIA${more('[A-Z2-7]{16}')} ${s}`,
  ],
  [
    'AWS keys in a table',
    '[A-Za-z0-9/+]{39}[A-Za-z0-9]',
    (s, more) => `|  AccessKeyId     |  ASIA${more('[A-Z2-7]{16}')}  |\n|  SecretAccessKey |  ${s}  |`,
  ],
  [
    'AWS keys in XML',
    '[A-Za-z0-9/+]{39}[A-Za-z0-9]',
    (s, more) => `<AccessKeyId>ASIA${more('[A-Z2-7]{16}')}</AccessKeyId><SecretAccessKey>${s}</SecretAccessKey>`,
  ],
  ['AWS_SESSION_TOKEN', 'IQoJb3JpZ2luX2Vj[A-Za-z0-9/+]{300}=', (s) => `export AWS_SESSION_TOKEN=${s}`],
  [
    'a storage key of Azure, 88 characters',
    '[A-Za-z0-9+/]{86}==',
    (s) => `DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=${s};EndpointSuffix=core.windows.net`,
  ],
  [
    'a storage key of Azure in JSON',
    '[A-Za-z0-9+/]{86}==',
    (s) => [{ creationTime: null, keyName: 'key1', permissions: 'FULL', value: s }],
  ],
  [
    'a signature of an Azure URL',
    '[A-Za-z0-9]{42}',
    (s) => `https://acc.blob.core.windows.net/c/f?sv=2022-11-02&se=2026-01-01&sp=r&sig=${s}%3D`,
  ],
  ['Telegram', '[0-9]{10}:AA[A-Za-z0-9_-]{33}', (s) => `GET https://api.telegram.org/bot${s}/getMe`],
  ['Telegram, by itself', '[0-9]{10}:AA[A-Za-z0-9_-]{33}', bare],
  [
    'Discord',
    (random) =>
      `${Buffer.from(textOf('[1-9][0-9]{17,18}', random)).toString('base64url')}${textOf('.[A-Za-z0-9_-]{6}.[A-Za-z0-9_-]{38}', random)}`,
    bare,
  ],
  ['a Discord webhook', '[A-Za-z0-9_-]{68}', (s) => `https://discord.com/api/webhooks/1182739465012345678/${s}`],
  ['Vault', 'hvs.CAESI[A-Za-z0-9_-]{90}', bare],
  ['xAI', 'xai-[A-Za-z0-9]{80}', bare],
  ['Groq', 'gsk_[A-Za-z0-9]{52}', bare],
  ['Perplexity', 'pplx-[A-Za-z0-9]{48}', bare],
  ['Replicate', 'r8_[A-Za-z0-9]{37}', bare],
  ['Langfuse', 'sk-lf-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}', bare],
  ['LangSmith', 'lsv2_pt_[0-9a-f]{32}_[0-9a-f]{10}', bare],
  ['Notion', 'ntn_[0-9]{11}[A-Za-z0-9]{35}', bare],
  ['Linear', 'lin_api_[A-Za-z0-9]{40}', bare],
  ['Docker Hub', 'dckr_pat_[A-Za-z0-9_-]{27}', bare],
  ['Supabase', 'sbp_[0-9a-f]{40}', bare],
  ['Doppler', 'dp.pt.[A-Za-z0-9]{43}', bare],
  ['Atlassian', 'ATATT3xFfGF0[A-Za-z0-9_-]{171}=[0-9A-F]{8}', bare],
  ['Shopify', 'shpat_[0-9a-f]{32}', bare],
  ['New Relic', 'NRAK-[A-Z0-9]{27}', bare],
  ['Grafana', 'glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}', bare],
  ['Pulumi', 'pul-[0-9a-f]{40}', bare],
  ['RubyGems', 'rubygems_[0-9a-f]{48}', bare],
  ['Heroku', 'HRKU-AA[A-Za-z0-9_-]{58}', bare],
  ['Heroku, with a UUID', 'HRKU-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}', bare],
  ['Tailscale', 'tskey-auth-k[A-Za-z0-9]{11}CNTRL-[A-Za-z0-9]{32}', bare],
  ['Vercel Blob', 'vercel_blob_rw_[A-Za-z0-9]{16}_[A-Za-z0-9]{32}', bare],
  ['Hugging Face', 'hf_[A-Za-z]{34}', bare],
  ['SendGrid', 'SG.[A-Za-z0-9_-]{22}.[A-Za-z0-9_-]{43}', bare],
  ['DigitalOcean', 'dop_v1_[0-9a-f]{64}', bare],
  ['Databricks', 'dapi[0-9a-f]{32}', bare],
  ['an age key', 'AGE-SECRET-KEY-1[AC-HJ-NP-Z02-9]{58}', bare],
  ['a JWT', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI[A-Za-z0-9]{20}In0.[A-Za-z0-9_-]{43}', bare],
  ['two tokens that touch', 'ghp_[A-Za-z0-9]{36}', (s, more) => `${more('ghp_[A-Za-z0-9]{36}')}${s}`],
  ['a token after an escape that was left in', 'glpat-[A-Za-z0-9_-]{20}', (s) => `first\\n${s}\\nlast`],
  ['a token between other characters', 'npm_[A-Za-z0-9]{36}', glued],
  ['a token at the end of an output that was cut', 'ghp_[A-Za-z0-9]{22}', (s) => `$ cat token.txt\n${s}`],
  [
    'a key of PEM',
    '[A-Za-z0-9+/]{64}',
    (s, more) =>
      `-----BEGIN RSA PRIVATE KEY-----\n${more('MII[A-Za-z0-9+/]{61}')}\n${s}\n${more('[A-Za-z0-9+/]{38}')}==\n-----END RSA PRIVATE KEY-----`,
  ],
  [
    'a key of OpenSSH, in one line of JSON',
    '[A-Za-z0-9+/]{70}',
    (s) => ({
      key: `-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA${s}\n-----END OPENSSH PRIVATE KEY-----\n`,
    }),
  ],
  [
    'a key of PEM without its beginning',
    '[A-Za-z0-9+/]{64}',
    (s, more) => `...\n${s}\n${more('[A-Za-z0-9+/]{64}')}\n${more('[A-Za-z0-9+/]{20}')}==\n-----END PRIVATE KEY-----`,
  ],
  [
    'a key of PEM without its end',
    '[A-Za-z0-9+/]{64}',
    (s, more) => `-----BEGIN EC PRIVATE KEY-----\n${s}\n${more('[A-Za-z0-9+/]{40}')}`,
  ],
  [
    'a key of a service account',
    '[A-Za-z0-9+/]{64}',
    (s) => ({
      type: 'service_account',
      private_key_id: 'abc',
      private_key: `-----BEGIN PRIVATE KEY-----\n${s}\n-----END PRIVATE KEY-----\n`,
      client_email: 'a@b.iam.gserviceaccount.com',
    }),
  ],
]
