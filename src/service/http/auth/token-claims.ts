import type { Config } from '../../config/config.ts'
import { parsePointer, pointerText, valueAt } from '../../decide/event/json-pointer.ts'
import { printable } from '../../text/sanitize.ts'

export type TokenRules = NonNullable<Config['tokens']>

/** Tolerance for clock differences. */
export const CLOCK_TOLERANCE_MS = 5_000
/** Many identity providers set no `nbf`, and their clocks may be ahead. */
const ISSUED_TOLERANCE_MS = 60_000
const SHOWN_LENGTH_MAX = 200
const DEPTH_MAX = 4
const CLOCKS = 'the clocks of this machine and of the identity provider'

/** One reason to refuse a token: its value, cut to a maximum length, and the value that a variable requires. */
export interface Disagreement {
  readonly claim: string
  readonly found: string
  readonly wanted: string
  /** The setting to correct, unless the token is at fault. */
  readonly variable: string
}

/** The reasons why a token was refused, for operators only. */
export interface Refusal {
  readonly reason: string
  readonly disagreements: readonly Disagreement[]
}

/** True if a token was issued so far in the future that this machine's clock must be slow; it would accept expired tokens, too. */
export function isFromFuture(iat: number, wallMs: number): boolean {
  return iat * 1_000 - ISSUED_TOLERANCE_MS > wallMs
}

/** The claims that disagree with the rules. None if the token cannot be read. Its signature may be wrong, too. */
export function findDisagreements(
  token: string,
  { issuer, audience }: Pick<TokenRules, 'issuer' | 'audience'>,
  wallMs: number,
): Disagreement[] {
  const claims = decode(token.split('.')[1])
  if (claims === null) return []
  const found: Disagreement[] = []
  const add = (claim: string, wanted: string, variable: string, value: unknown = claims[claim]) =>
    found.push({ claim, found: show(value), wanted, variable })
  const time = (claim: string) => (typeof claims[claim] === 'number' ? claims[claim] * 1_000 : null)
  const [exp, nbf] = [time('exp'), time('nbf')]
  if (exp === null || exp + CLOCK_TOLERANCE_MS < wallMs)
    add('exp', `a time after ${formatTime(wallMs)}`, CLOCKS, exp === null ? claims.exp : formatTime(exp))
  if (nbf !== null && nbf - CLOCK_TOLERANCE_MS > wallMs)
    add('nbf', `a time before ${formatTime(wallMs)}`, CLOCKS, formatTime(nbf))
  if (typeof claims.iat === 'number' && isFromFuture(claims.iat, wallMs))
    add('iat', `a time before ${formatTime(wallMs)}`, CLOCKS, formatTime(claims.iat * 1_000))
  if (issuer !== null && claims.iss !== issuer) add('iss', show(issuer), 'IDP_ISSUER')
  if (audience !== null && ![claims.aud].flat().includes(audience)) add('aud', show(audience), 'IDP_AUDIENCE')
  return found
}

/** The disagreement about a right that a valid token lacks, with the place where the token has it, if any. */
export function lackOfRight(
  claims: object,
  { adminClaim }: Pick<TokenRules, 'adminClaim'>,
  scope: string,
  variable: string,
): Disagreement {
  const elsewhere = findWord(claims, scope)
  return {
    claim: adminClaim,
    found: showClaim(claims, claimAt(claims, adminClaim)),
    wanted: `${show(scope)}${hintAt(elsewhere)}`,
    variable: elsewhere === null ? `${variable} or IDP_ADMIN_CLAIM` : 'IDP_ADMIN_CLAIM',
  }
}

/** The disagreement about the party that a valid token does not name, with the place where the token names it, if any. */
export function lackOfParty(claims: object, partyClaim: string, partyLocator: string): Disagreement {
  const value = valueAt(claims, [partyClaim])
  const wanted = `${show(partyLocator)}, the party of the request`
  return {
    claim: partyClaim,
    found: showClaim(claims, value),
    wanted: `${wanted}${hintAt(findWord(claims, partyLocator))}`,
    variable: 'IDP_PARTY_CLAIM',
  }
}

function hintAt(place: string | null): string {
  return place === null ? '' : `, which the token has at ${place}`
}

function showClaim(claims: object, value: unknown): string {
  if (value !== undefined) return show(value)
  return printable(`no such claim among ${Object.keys(claims).join(', ')}`).slice(0, SHOWN_LENGTH_MAX)
}

/** The elements of a list claim, or the words of a string claim; none for any other claim. */
export function wordsIn(token: object, claim: string): readonly unknown[] {
  return words(claimAt(token, claim))
}

function claimAt(token: object, claim: string): unknown {
  return valueAt(token, claim.startsWith('/') ? parsePointer(claim) : [claim])
}

function words(value: unknown): readonly unknown[] {
  if (typeof value === 'string') return value.split(' ')
  return Array.isArray(value) ? value : []
}

/** The place of a word within the claims, as `IDP_ADMIN_CLAIM` names it. */
function findWord(value: unknown, word: string, path: readonly string[] = []): string | null {
  if (path.length > 0 && words(value).includes(word))
    return path.length === 1 ? `${path[0]}` : pointerText(path)
  if (typeof value !== 'object' || value === null || path.length === DEPTH_MAX) return null
  for (const [name, inner] of Object.entries(value)) {
    const found = findWord(inner, word, [...path, name])
    if (found !== null) return found
  }
  return null
}

/** An unverified part of a token. */
function decode(part = ''): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString())
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

export function show(value: unknown): string {
  return value === undefined ? 'none' : printable(JSON.stringify(value)).slice(0, SHOWN_LENGTH_MAX)
}

/** A time beyond all dates is shown as its number. */
function formatTime(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString()
}
