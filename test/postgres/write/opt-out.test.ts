import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'slonik'
import t from 'tap'
import { z } from 'zod'
import type { PreparedBatch } from '../../../src/core/batch/batch.ts'
import { decideRetry } from '../../../src/core/log/decide-retry.ts'
import type { Contact } from '../../../src/core/party/contact.ts'
import { templates } from '../../../src/generated/templates.ts'
import { type DispatchNeeds, dispatchBatch } from '../../../src/pipeline/dispatch.ts'
import { createLocators } from '../../../src/pipeline/locators.ts'
import { findLogged } from '../../../src/postgres/read/find-logged.ts'
import { listDueEntries } from '../../../src/postgres/read/list-due-entries.ts'
import { loadCheckpoint } from '../../../src/postgres/write/checkpoints.ts'
import { commitBatch } from '../../../src/postgres/write/commit-batch.ts'
import { commitRedrive } from '../../../src/postgres/write/commit-redrive.ts'
import { commitRetries } from '../../../src/postgres/write/commit-retries.ts'
import { putPreferences } from '../../../src/postgres/write/put-preferences.ts'
import { aMessage, anEntry, openDatabase } from '../fixtures.ts'
import { ruleTable } from '../record.ts'

const PUT_COUNT = 300
const PARTIES = Array.from({ length: 10 }, (_, i) => `party-${i}`)
const LOOK_UP_MS = 5
const FOUND: Contact = { state: 'found', email: 'member@example.com', phone: null }
const DOWN: Contact = { state: 'unresolved', error: 'HTTP 500', unasked: false }

const { pool, client } = await openDatabase(t)
const table = await ruleTable()
const noDelivery = async () => new Map()
const putting = new AbortController()
let eventCount = 0

/** The pipeline with slow look-ups; a message's value is its event id, an index, which also tells its party. */
const needs: DispatchNeeds<PreparedBatch> = {
  parse: ({ value }) => {
    const eventId = String(value)
    const { event } = anEntry(eventId)
    return {
      kind: 'event',
      event: { ...event, partyLocator: PARTIES[Number(eventId) % PARTIES.length] ?? null },
    }
  },
  envelopeMapRevision: 'ghi',
  findLogged: (...wanted) => findLogged(pool, ...wanted),
  contactsOf: async (parties) => {
    await sleep(LOOK_UP_MS)
    return new Map(parties.map((party) => [party, eventCount % 3 === 0 ? DOWN : FOUND]))
  },
  ruleTable: table,
  templates,
  newLocator: createLocators(),
  commit: async (batch) => batch,
  isConflict: () => false,
}

async function preparedBatch(partition: number, heldOffset: bigint) {
  const messages = PARTIES.map((_, i) => aMessage(heldOffset + BigInt(i + 1), String(eventCount++)))
  const nextOffset = heldOffset + BigInt(messages.length)
  const batch = { topic: 'claims', partition, messages, heldOffset, nextOffset, lastMessage: null }
  return dispatchBatch(needs, batch)
}

async function dispatchBatches(partition: number): Promise<void> {
  let { offset } = await loadCheckpoint(pool, 'claims', partition)
  while (!putting.signal.aborted) {
    const batch = await preparedBatch(partition, offset)
    await commitBatch(pool, batch, noDelivery)
    offset = batch.nextOffset
  }
}

async function redrive(): Promise<void> {
  while (!putting.signal.aborted)
    await commitRedrive(pool, { rejectedId: 1n, by: 'test' }, await preparedBatch(9, 0n), noDelivery)
}

async function retry(): Promise<void> {
  const limits = { maxAgeMs: 3_600_000, attemptCountMax: 2, minPauseMs: -3_600_000 }
  while (!putting.signal.aborted) {
    const { due } = await listDueEntries(pool, limits, null, 100)
    await sleep(LOOK_UP_MS)
    const prepared = {
      ruleTableRevision: table.revision,
      asked: due.map((entry) => ({ due: entry, contact: FOUND })),
      request: null,
      decide: decideRetry.bind(null, table.decide),
    }
    await commitRetries(pool, prepared, noDelivery, { error: () => t.fail('a row was refused') })
  }
}

const now = z.object({ now: z.string() })

/** Opts a party out and in again, and notes when each change was answered, by the database's clock. */
async function changePreferences(party: string): Promise<readonly string[]> {
  const answeredAt: string[] = []
  for (let i = 0; i < PUT_COUNT / PARTIES.length; i++) {
    const optedOutEvents = i % 2 === 0 ? ['claim.paid'] : []
    const preferences = { email: null, phone: null, preferredChannel: 'EMAIL' as const, optedOutEvents }
    await putPreferences(pool, party, preferences, null)
    answeredAt.push(await pool.oneFirst(sql.type(now)`SELECT clock_timestamp() AS now`))
  }
  return answeredAt
}

t.test('a decision made after a change of preferences was answered follows it, or a later one', async (t) => {
  const working = Promise.all([dispatchBatches(0), dispatchBatches(1), redrive(), retry()])
  const answeredAt = await Promise.all(PARTIES.map(changePreferences))
  putting.abort()
  await working

  const { rows } = await client.query(`
    SELECT party_locator, attempt, outcome, preference_change_id::int AS change,
      to_char(decided_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS decided_at,
      coalesce((
        SELECT after -> 'optedOutEvents' ? 'claim.paid' FROM notifications.preference_change
        WHERE id = preference_change_id
      ), false) AS opted_out
    FROM notifications.decision`)
  const { rows: changes } = await client.query(
    'SELECT party_locator, array_agg(id::int ORDER BY id) AS ids FROM notifications.preference_change GROUP BY 1',
  )
  const idsOf = new Map<string, number[]>(changes.map(({ party_locator, ids }) => [party_locator, ids]))
  let followedCount = 0
  const late = rows.filter(({ party_locator, decided_at, change }) => {
    const answered = answeredAt[PARTIES.indexOf(party_locator)] ?? []
    const last = answered.findLastIndex((time) => time < decided_at)
    if (last !== -1) followedCount++
    return last !== -1 && (change ?? 0) < (idsOf.get(party_locator)?.[last] ?? 0)
  })
  t.same(late, [], 'none is decided by preferences of the past')
  t.ok(followedCount > 100, `${followedCount} decisions followed a change`)
  t.ok(rows.some(({ attempt, outcome }) => attempt > 0 && outcome === 'SKIP'))
  const contradicting = rows.filter(({ outcome, opted_out }) => outcome === 'SEND' && opted_out)
  t.same(contradicting, [], 'and what it names is what it heeds')
})
