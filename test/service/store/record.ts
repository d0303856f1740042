import { sql } from 'slonik'
import { v7 as uuidv7 } from 'uuid'
import { templates } from '#generated/templates.ts'
import { compileRuleTable } from '../../../src/authoring/check/compile-table.ts'
import { replay } from '../../../src/operations/replay/compare-log.ts'
import type { ReplayFinding } from '../../../src/operations/replay/replay-finding.ts'
import { commitBatch } from '../../../src/service/attempt/commit-batch.ts'
import { commitRetries } from '../../../src/service/attempt/retry.ts'
import type { Send } from '../../../src/service/decide/attempt/delivery.ts'
import type { Store } from '../../../src/service/decide/attempt/store.ts'
import type { Contact } from '../../../src/service/decide/party/contact.ts'
import type { Preferences, PreferencesByParty } from '../../../src/service/decide/party/preferences.ts'
import type { RuleTable } from '../../../src/service/decide/rules/table.ts'
import type { DatabasePool } from '../../../src/service/store/connection/pool.ts'
import { listDueEntries } from '../../../src/service/store/read/list-due-entries.ts'
import { sqlArray } from '../../../src/service/store/sql/columns.ts'
import { archiveRevisions } from '../../../src/service/store/write/archive-revisions.ts'
import { ensureCheckpoint } from '../../../src/service/store/write/checkpoints.ts'
import { createStore } from '../../../src/service/store/write/postgres-store.ts'
import { DEFAULT_TABLE } from '../../authoring/default-table.ts'
import { aLookedUpBatch, aMaker } from '../attempt/build.ts'
import { aFound } from '../build.ts'
import { anOpenAttempt, recordingSend, SIMPLE_RULES, UNRESOLVED } from '../decide/attempt/build.ts'

/** Gives up these rows: failed, after three attempts. */
export async function giveUp(pool: DatabasePool, locators: readonly string[]): Promise<void> {
  const isNamed = sql.fragment`locator = ANY(${sqlArray('text', locators)})`
  await pool.query(sql.unsafe`UPDATE notifications.notification_log SET attempt_count = 3 WHERE ${isNamed}`)
  await pool.query(sql.unsafe`UPDATE notifications.decision SET attempt = 3 WHERE ${isNamed}`)
}

/** The facts and data of one event. Defaults are those of an event that is sent by EMAIL. */
export interface Known {
  readonly eventId: string
  readonly eventType?: string
  readonly reason?: string
  /** What it is about. */
  readonly reference?: string
  readonly partyLocator?: string | null
  readonly invalid?: boolean
  readonly contact?: Contact
  readonly preferences?: Preferences
  /** The sender's error; without it, it answers with a receipt. It defers if this begins with `EMAIL deferred: `. */
  readonly sendError?: string
}

const FOUND = aFound({ email: 'member@example.com' })

export { UNRESOLVED }

export function ruleTable(source = DEFAULT_TABLE): Promise<RuleTable> {
  return compileRuleTable(source, { eventTypes: [] })
}

/**
 * Records events as the service does, by the real templates and a real rule table, in a batch for each run of events with the same
 * preferences. Returns their locators in the order given.
 */
export async function record(
  pool: DatabasePool,
  all: readonly Known[],
  table?: RuleTable,
): Promise<readonly string[]> {
  const inForce = table ?? (await ruleTable())
  await archiveRevisions(pool, inForce, [...templates.values()])
  const open = all.map(openAttemptOf)
  const errorOf = new Map(all.map(({ eventId, sendError = null }) => [eventId, sendError]))
  const { send } = recordingSend((eventId) => {
    const error = errorOf.get(eventId) ?? null
    const isDeferred = error?.startsWith('EMAIL deferred: ') ?? false
    return { receipt: error === null ? 'recorded' : null, error, ...(isDeferred && { isDeferred }) }
  })
  for (let start = 0; start < all.length; ) {
    const preferences = all[start]?.preferences
    const count = all.slice(start).findIndex((known) => known.preferences !== preferences)
    const end = count === -1 ? all.length : start + count
    const maker = makerBy(pool, inForce, send, preferences)
    const { offset: expectedCheckpoint } = await ensureCheckpoint(pool, 'claims', 0)
    const batch = aLookedUpBatch(open.slice(start, end), { expectedCheckpoint })
    const { kind } = await commitBatch(maker, batch)
    if (kind !== 'committed') throw new Error('another test of this database moved the checkpoint')
    start = end
  }
  return open.map(({ locator }) => locator)
}

function openAttemptOf(known: Known) {
  const { eventId, partyLocator = 'party-1', invalid = false, contact = FOUND } = known
  const { eventType = 'claim.paid', reference = 'CLM-1', reason = null } = known
  const variables = { eventType, locator: reference, reason }
  const stated = invalid ? { invalidLocator: true } : {}
  const locator = `NTF-${uuidv7()}`
  return anOpenAttempt(eventId, { locator, eventType, partyLocator, stated, contact, variables })
}

/** Retries all failed rows, with the given knowledge of every party. */
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
  const { send } = recordingSend(() => ({ receipt: 'recorded', error: null }))
  await commitRetries(makerBy(pool, inForce, send, preferences), asked)
}

/** Compares the whole log with its decisions, in pages of 5, and inserts missing rows where told to. */
export async function replayAll(pool: DatabasePool, { rebuild }: { rebuild: boolean }) {
  const findings: ReplayFinding[] = []
  const report = async (finding: ReplayFinding) => void findings.push(finding)
  const isSound = await replay(pool, { isRebuild: rebuild, report, onProgress: () => {} }, 5)
  return { isSound, findings }
}

/** Attempts for parties that all have the given preferences, whatever is stored. */
function makerBy(pool: DatabasePool, inForce: RuleTable, send: Send, preferences: Preferences | undefined) {
  const stored = createStore(pool)
  const readPreferences = async (parties: readonly string[]): Promise<PreferencesByParty> =>
    new Map(preferences === undefined ? [] : parties.map((party) => [party, preferences]))
  const store: Store = {
    ...stored,
    transaction: (work) =>
      stored.transaction((tx) =>
        work({
          ...tx,
          readPreferences,
          lockCheckpoints: async (partitions, parties) => ({
            ...(await tx.lockCheckpoints(partitions, [])),
            preferences: await readPreferences(parties),
          }),
        }),
      ),
  }
  return aMaker(store, send, { ...SIMPLE_RULES, ruleTable: inForce, templates })
}
