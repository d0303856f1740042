import { accessSync, constants, readFileSync } from 'node:fs'
import { z } from 'zod'
import { pointerFault } from '../decide/event/json-pointer.ts'
import { databaseUrls } from '../text/database-urls.ts'
import { nearest } from '../text/nearest.ts'
import { isPercentEncoded, withoutFinalLineBreaks } from '../text/sanitize.ts'
import { milliseconds } from '../time/duration.ts'

/** The supported values of `sslmode` in a database URL, with libpq's meaning. Without it there is no TLS. */
const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full']

/** The parameters of a database URL that name a file. */
const SSL_FILES = ['sslrootcert', 'sslcert', 'sslkey']

const PORT_MAX = 65_535

/** Parsers for the text of one variable. The error describes a valid value and never repeats a secret. */
function must(be: string, { secret = false } = {}) {
  const error = ({ input }: { readonly input?: unknown }): string => {
    if (input === undefined) return 'is required'
    const found = secret ? ' (the value is not shown)' : `, not ${JSON.stringify(String(input).slice(0, 80))}`
    return `must be ${be}${found}`
  }
  return { error, text: z.string({ error }).trim() }
}

export function matching(pattern: RegExp, be: string) {
  const { error, text } = must(be)
  return text.regex(pattern, { error })
}

/** Not trimmed: spaces may belong to it. */
export function secret() {
  const { error } = must('1 to 1000 characters', { secret: true })
  return z
    .string({ error })
    .transform(withoutFinalLineBreaks)
    .pipe(z.string().regex(/^.{1,1000}$/s, { error }))
}

export function choice<const Name extends string>(names: readonly Name[]) {
  const { error, text } = must(`one of ${names.join(', ')}`)
  return text.pipe(z.enum(names, { error }))
}

export function trueOrFalse() {
  const { error, text } = must('true or false')
  return text.pipe(z.stringbool({ truthy: ['true'], falsy: ['false'], case: 'sensitive', error }))
}

export function integer(min: number, max: number) {
  const { error, text } = must(`a whole number from ${min} to ${max}`)
  return text
    .meta({ range: `${min} to ${max}` })
    .regex(/^\d{1,15}$/, { error })
    .pipe(z.coerce.number<string>().min(min, { error }).max(max, { error }))
}

export function port(min: 0 | 1) {
  return integer(min, PORT_MAX)
}

export function ratio() {
  const { error, text } = must('a number from 0 to 1')
  return text
    .meta({ range: '0 to 1' })
    .regex(/^(0|1|[01]?\.\d{1,15})$/, { error })
    .pipe(z.coerce.number<string>().max(1, { error }))
}

export function host() {
  return matching(/^[A-Za-z0-9._:-]{1,253}$/, 'a host name or an IP address')
}

/**
 * In milliseconds; `usual` is the default. Refuses a bare number that would be nearer to the default in another unit: 86400 is a
 * day in seconds, but under two minutes in milliseconds.
 */
export function duration(min: string, max: string, usual: string) {
  const [minMs = 0, maxMs = 0, usualMs = 1] = [min, max, usual].map(milliseconds)
  const { error, text } = must(
    `a duration from ${min} to ${max} (a number and ms, s, m, h or d; a bare number is milliseconds)`,
  )
  const isGood = (found: string) => {
    const value = milliseconds(found)
    return value !== undefined && value >= minMs && value <= maxMs
  }
  /** Its distance from the default, in orders of magnitude. */
  const distance = (found: string) => Math.abs(Math.log((milliseconds(found) ?? 0) / usualMs))
  /** The likely meanings of a bare number, likeliest first. */
  const meant = (found: string) =>
    ['h', 'm', 's']
      .map((unit) => found + unit)
      .filter((meaning) => isGood(meaning) && (!isGood(found) || distance(meaning) < distance(found)))
      .sort((one, other) => distance(one) - distance(other))
  const unitless = ({ input }: { readonly input?: unknown }) =>
    `must have a unit: ${input} is ${input} milliseconds. Write ${meant(String(input)).join(' or ')}`
  return text
    .meta({ range: `${min} to ${max}` })
    .refine((found) => meant(found).length === 0, { error: unitless, abort: true })
    .refine(isGood, { error })
    .transform((found) => milliseconds(found) as number)
    .prefault(usual)
}

/** A comma-separated list. */
function commaSeparated(
  be: string,
  isGood: (items: readonly string[]) => boolean,
  options = { secret: false },
) {
  const { error, text } = must(`a comma-separated list of ${be}`, options)
  return text.refine((found) => isGood(list(found)), { error }).transform(list)
}

/** Without IPv6 literals: the Kafka client splits an address at its first colon. */
export function brokers() {
  const isBroker = (item: string) => {
    const number = Number(/^[A-Za-z0-9._-]{1,253}:(\d{1,5})$/.exec(item)?.[1])
    return number >= 1 && number <= PORT_MAX
  }
  return commaSeparated('host:port, without credentials', (items) => items.every(isBroker), { secret: true })
}

/** Kafka's rule for topic names. */
export function isTopicName(text: string): boolean {
  return /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/.test(text)
}

export function topics() {
  return commaSeparated(
    'different Kafka topic names (each 1 to 249 of A-Z a-z 0-9 . _ -)',
    (items) => items.every(isTopicName) && new Set(items).size === items.length,
  )
}

/** `none` is an empty list. */
export function jsonPointersOrNone() {
  const isNone = (items: readonly string[]) => items.join() === 'none'
  return commaSeparated(
    'JSON Pointers such as /party/email, or none',
    (items) => isNone(items) || areJsonPointers(items),
  ).transform((items) => (isNone(items) ? [] : items))
}

function areJsonPointers(items: readonly string[]): boolean {
  return items.every((item) => pointerFault(item) === null)
}

/**
 * Claim names may contain slashes and dots, as URLs do; only a JSON Pointer starts with a slash. Refuses paths in other
 * notations.
 */
export function claim() {
  const { error, text } = must('the name of a claim, or a JSON Pointer such as /realm_access/roles')
  const isName = (found: string) => !/^(#|\$\.|(realm|resource)_access\.)/.test(found)
  return text
    .regex(/^[ -~]{1,255}$/, { error })
    .refine((found) => (found.startsWith('/') ? pointerFault(found) === null : isName(found)), { error })
}

function list(found: string): string[] {
  return found.split(',').map((item) => item.trim())
}

/** Parses the URL of a token endpoint or a key set. RFC 6749 allows a token endpoint a query but no fragment. */
export function urlWithoutFragment() {
  const be = 'an http:// or https:// URL without credentials and fragment'
  return webUrl(be, (url) => !hasCredentials(url) && !url.href.includes('#'))
}

/** Credentials are allowed. */
export function proxyUrl() {
  return webUrl('an http:// or https:// URL of a proxy', () => true)
}

function webUrl(be: string, isGood: (url: URL) => boolean, options = { secret: true }) {
  const { error, text } = must(be, options)
  return text
    .pipe(z.url({ protocol: /^https?$/, error, abort: true }))
    .refine((found) => isGood(new URL(found)), { error })
}

/** Refuses headers that frame a request. The text may contain the secret value by mistake, so it is not repeated. */
export function headerName() {
  const be = 'the name of a header without its value, and none of the connection or the body'
  const { error, text } = must(be, { secret: true })
  const isFraming = (name: string) =>
    /^(accept|connection|content-.*|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade)$/i.test(name)
  return text.regex(/^[\w!#$%&'*+.^`|~-]{1,100}$/, { error }).refine((name) => !isFraming(name), { error })
}

/** Extensions by name; RFC 7628 allows letters in a name, and reserves `auth` for the token. */
export function saslExtensions() {
  const isExtension = (item: string) => /^(?!auth=)[A-Za-z]+=[ -~]+$/i.test(item)
  const byName = (items: readonly string[]) =>
    Object.fromEntries(items.map((item) => [item.split('=', 1)[0], item.slice(item.indexOf('=') + 1)]))
  return commaSeparated(
    'different name=value',
    (items) => items.every(isExtension) && Object.keys(byName(items)).length === items.length,
  ).transform(byName)
}

/** Host names without ports, in lower case. */
export function hostNames() {
  const isName = (item: string) => /^[A-Za-z0-9._-]{1,253}$/.test(item)
  return commaSeparated('host names without ports', (items) => items.every(isName)).transform((items) =>
    items.map((item) => item.toLowerCase()),
  )
}

/** The supported parameters of a database URL. `passwordfile` comes from DATABASE_PASSWORD_FILE. */
const PARAMETERS = ['sslmode', ...SSL_FILES, 'target_session_attrs', 'application_name', 'options']

/** Remedies for parameters of other drivers: ignoring one could disable encryption or select another database. */
const INSTEAD: readonly (readonly [names: RegExp, remedy: string])[] = [
  [/^(ssl|ssl_?mode|require_?ssl|tls|encrypt)$/i, 'write sslmode=verify-full (or require) for encryption'],
  [
    /^(user|password|port|dbname|host|hostaddr)$/i,
    'write it before the ?, as in postgres://user:password@host:5432/database',
  ],
  [/^passwordfile$|^passfile$/i, 'set DATABASE_PASSWORD_FILE'],
  [/^(currentSchema|schema|search_path)$/i, 'remove it: the schema is always `notifications`'],
  [/_timeout$/i, 'remove it: the service sets its own timeouts'],
]

/** The database driver decodes the parts of the URL, but would throw only when it connects. */
export function postgresUrl() {
  const { error, text } = must(
    `a postgres:// URL, special characters percent-encoded (% itself as %25), sslmode ${SSL_MODES.join(' or ')}, ` +
      'and target_session_attrs read-write or absent',
    { secret: true },
  )
  const unescaped = must(
    'a postgres:// URL with each @, # and / of user and password percent-encoded (%40, %23, %2F)',
    {
      secret: true,
    },
  )
  return text
    .refine((found) => !hasUnescaped(found), { error: unescaped.error, abort: true })
    .refine((found) => databaseUrls(found).every(isPostgresUrl), { error, abort: true })
    .superRefine((found, context) => {
      const { searchParams } = new URL(databaseUrls(found)[0] ?? '')
      const isEncrypted = ![null, 'disable'].includes(searchParams.get('sslmode'))
      if (!isEncrypted && SSL_FILES.some((name) => searchParams.has(name)))
        context.addIssue({
          code: 'custom',
          message: 'must be a URL whose certificates come with sslmode=verify-full',
        })
      for (const name of new Set(searchParams.keys())) {
        const message = parameterFault(name, searchParams.getAll(name))
        if (message !== null) context.addIssue({ code: 'custom', message })
      }
    })
}

/** True if part of the password may have become the host, the path or a parameter, and would be shown. */
function hasUnescaped(url: string): boolean {
  const [, authority = '', rest = ''] = /^[a-z]+:\/\/([^/?#]*)(.*)$/is.exec(url) ?? []
  return authority.split('@').length > 2 || /[@#]/.test(rest)
}

function parameterFault(name: string, [value = '', ...others]: readonly string[]): string | null {
  if (!PARAMETERS.includes(name)) {
    const known = nearest(name, PARAMETERS)
    const remedy =
      INSTEAD.find(([names]) => names.test(name))?.[1] ?? (known === null ? null : `did you mean ${known}?`)
    // An unknown name may be the end of a password.
    if (remedy === null) return `must be a URL with no parameters but ${PARAMETERS.join(', ')}`
    return `must be a URL without the parameter ${JSON.stringify(name.slice(0, 80))}, which is not supported: ${remedy}`
  }
  if (others.length > 0) return `must be a URL with ${name} once`
  if (SSL_FILES.includes(name) && !isReadableFile(value))
    return must(`a URL whose ${name} is a readable file`).error({ input: value })
  return null
}

function isPostgresUrl(found: string): boolean {
  const url = z.url({ protocol: /^postgres(ql)?$/ }).safeParse(found)
  // Without the slashes the host would be part of the path.
  return (
    url.success &&
    found.includes('://') &&
    isPercentEncoded(found) &&
    isConnectable(new URL(found).searchParams)
  )
}

function isConnectable(parameters: URLSearchParams): boolean {
  const mode = parameters.get('sslmode')
  return (
    // The service writes, so the other values cannot work.
    ['read-write', null].includes(parameters.get('target_session_attrs')) &&
    (mode === null || SSL_MODES.includes(mode))
  )
}

function isReadableFile(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** Path of a file that is read later. */
export function readablePath() {
  const { error, text } = must('a readable file')
  return text.refine(isReadableFile, { error })
}

/** Content of the named file, read once at start. */
export function pemFile() {
  const { error, text } = must('a file in PEM format that this process can read')
  return text.transform((path, context): string => {
    const content = readPem(path)
    if (content !== undefined) return content
    context.addIssue({ code: 'custom', message: error({ input: path }) })
    return z.NEVER
  })
}

/** Path of a PEM file that is read later. */
export function pemPath() {
  const { error, text } = must('a file in PEM format that this process can read')
  return text.refine((path) => readPem(path) !== undefined, { error })
}

function readPem(path: string): string | undefined {
  try {
    const content = readFileSync(path, 'utf8')
    return content.includes('-----BEGIN ') ? content : undefined
  } catch {
    return undefined
  }
}

/** The result has no trailing slash. */
export function baseUrl() {
  const be = 'an http:// or https:// URL without credentials, query and fragment'
  return webUrl(be, (url) => !hasCredentials(url) && !/[?#]/.test(url.href)).transform((found) => {
    const { origin, pathname } = new URL(found)
    return `${origin}${pathname}`.replace(/\/+$/, '')
  })
}

/** The console shows it as a link: it must contain no secret and no script. */
export function traceUrl() {
  const be = 'an http:// or https:// URL without credentials and with {traceId} in it'
  return webUrl(be, (url) => !hasCredentials(url), { secret: false }).refine(
    (found) => found.includes('{traceId}'),
    { error: must(be).error },
  )
}

function hasCredentials({ username, password }: URL): boolean {
  return username !== '' || password !== ''
}
