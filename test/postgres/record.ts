import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { v7 as uuidv7 } from 'uuid'
import { decide } from '../../src/core/decision/decide.ts'
import { composeEntry } from '../../src/core/log/compose-entry.ts'
import { decideRetry, type PreparedRetries } from '../../src/core/log/decide-retry.ts'
import type { Contact } from '../../src/core/party/contact.ts'
import type { Preferences } from '../../src/core/party/preferences.ts'
import { createRuleTable, type RuleTable } from '../../src/core/rules/table.ts'
import { templates } from '../../src/generated/templates.ts'
import type { DatabasePool } from '../../src/postgres/connection/pool.ts'
import { listDueEntries } from '../../src/postgres/read/list-due-entries.ts'
import { archiveRevisions } from '../../src/postgres/write/archive-revisions.ts'
import { loadCheckpoint } from '../../src/postgres/write/checkpoints.ts'
import { commitBatch } from '../../src/postgres/write/commit-batch.ts'
import { commitRetries } from '../../src/postgres/write/commit-retries.ts'
import { aBatch, anEntry, recordingSend } from './fixtures.ts'

export const DEFAULT_TABLE = await readFile(new URL('../../rules/dispatch.csv', import.meta.url), 'utf8')

/** What is known of one event when it is decided; what is left out is as for an event that is sent by EMAIL. */
export interface Known {
  readonly eventId: string
  readonly eventType?: string
  readonly reason?: string
  readonly partyLocator?: string | null
  readonly invalid?: boolean
  readonly contact?: Contact
  readonly preferences?: Preferences
  /** What the sender answers; a receipt, unless told otherwise. */
  readonly sendError?: string
}

const FOUND: Contact = { state: 'found', email: 'member@example.com', phone: null }
export const UNRESOLVED: Contact = { state: 'unresolved', error: 'HTTP 500', unasked: false }

export function ruleTable(source = DEFAULT_TABLE): Promise<RuleTable> {
  return createRuleTable(source, [], sha256)
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/**
 * Records events as the service does, by the real templates and a real rule table, in one batch. Returns their
 * locators in the order given.
 */
export async function record(
  pool: DatabasePool,
  all: readonly Known[],
  table?: RuleTable,
): Promise<readonly string[]> {
  const inForce = table ?? (await ruleTable())
  await archiveRevisions(pool, inForce, [...templates.byEventType.values(), templates.generic])
  const { offset: heldOffset } = await loadCheckpoint(pool, 'claims', 0)
  const entries = all.map((known, i) => {
    const { partyLocator = 'party-1', invalid = false, contact = FOUND, preferences } = known
    const { event } = anEntry(known.eventId)
    const { eventType = event.eventType, reason = null } = known
    const party = { partyLocator, invalid }
    const decision = decide(inForce.decide, eventType, party, contact, preferences)
    return composeEntry(
      `NTF-${uuidv7()}`,
      { ...event, eventType, reason, partyLocator, partyLocatorInvalid: invalid },
      heldOffset + BigInt(i + 1),
      decision,
      contact,
      templates,
    )
  })
  const errorOf = new Map(all.map(({ eventId, sendError = null }) => [eventId, sendError]))
  const { kind } = await commitBatch(
    pool,
    aBatch(entries, {
      heldOffset,
      nextOffset: heldOffset + BigInt(all.length),
      ruleTableRevision: inForce.revision,
    }),
    recordingSend((eventId) => {
      const error = errorOf.get(eventId) ?? null
      return { receipt: error === null ? 'recorded' : null, error }
    }).send,
  )
  if (kind !== 'committed') throw new Error('another test of this database moved the checkpoint')
  return entries.map(({ locator }) => locator)
}

/** Retries all failed rows, with what is known of every party by now. */
export async function retryAll(
  pool: DatabasePool,
  contact: Contact = FOUND,
  preferences?: Preferences,
  table?: RuleTable,
): Promise<void> {
  const inForce = table ?? (await ruleTable())
  const limits = { maxAgeMs: 3_600_000, attemptCountMax: 100, minPauseMs: -3_600_000 }
  const { due } = await listDueEntries(pool, limits, null, 1_000)
  const asked = due.map((entry) => ({ due: entry, contact }))
  const decide: PreparedRetries['decide'] = (entry) => decideRetry(inForce.decide, entry, preferences)
  const { send } = recordingSend(() => ({ receipt: 'recorded', error: null }))
  await commitRetries(
    pool,
    { ruleTableRevision: inForce.revision, asked, request: null, decide },
    send,
    QUIET,
  )
}

const QUIET = { error: () => {} }
