import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { PreparedBatch } from '../../src/core/batch/batch.ts'
import type { Message } from '../../src/core/event/message.ts'
import type { Entry } from '../../src/core/log/compose-entry.ts'
import type { Delivery, Send } from '../../src/core/log/delivery.ts'
import type { LogPosition } from '../../src/core/log/log-page.ts'
import { openPool } from '../../src/postgres/connection/pool.ts'
import { createMigratedDatabase } from '../stack/databases.ts'

/** A migrated database for one test file: our pool, and a client for what the tests arrange and look at. */
export async function openDatabase(t: { teardown: (cleanUp: () => Promise<void>) => void }) {
  const database = await createMigratedDatabase()
  const pool = await openPool({ databaseUrl: database.url, connectionCountMax: 8 })
  const client = new pg.Client(database.url)
  await client.connect()
  t.teardown(async () => {
    await client.end()
    await pool.end()
    await database.drop()
  })
  return { url: database.url, pool, client }
}

/** A row to be sent by EMAIL, but for what the test says. */
export function anEntry(eventId: string, overrides: Partial<Entry> = {}): Entry {
  return {
    locator: `NTF-${randomUUID()}`,
    event: {
      eventId,
      eventType: 'claim.paid',
      partyLocator: 'party-1',
      partyLocatorInvalid: false,
      locator: 'CLM-1',
      reason: null,
      traceId: null,
    },
    decision: {
      ruleId: 'send-email',
      outcome: 'SEND',
      channel: 'EMAIL',
      reason: null,
      failureReason: null,
      facts: {
        eventType: 'claim.paid',
        party: 'found',
        optedOut: false,
        preferredChannel: 'EMAIL',
        emailOnFile: true,
        phoneOnFile: true,
      },
      preferenceChangeId: null,
    },
    status: 'SENT',
    text: { subject: 'Your claim', body: 'Your claim CLM-1 is paid.' },
    variables: { eventType: 'claim.paid', locator: 'CLM-1', reason: null },
    templateRevision: 'abc',
    attemptCount: 1,
    address: 'member@example.com',
    offset: 0n,
    ...overrides,
  }
}

/** A row that failed because its contact could not be resolved. */
export function aFailedEntry(eventId: string): Entry {
  const entry = anEntry(eventId)
  const failureReason = 'contact could not be resolved: policy administration answered 500'
  return {
    ...entry,
    decision: {
      ...entry.decision,
      ruleId: 'unresolved',
      outcome: 'FAIL',
      reason: 'unresolved',
      failureReason,
    },
    status: 'FAILED',
    attemptCount: 0,
    address: null,
  }
}

/** A batch of partition 0 that holds these rows; the caller has made its checkpoint. */
export function aBatch(entries: readonly Entry[], overrides: Partial<PreparedBatch> = {}): PreparedBatch {
  return {
    topic: 'claims',
    partition: 0,
    heldOffset: -1n,
    nextOffset: BigInt(entries.length) - 1n,
    lastMessage: null,
    ruleTableRevision: 'def',
    envelopeMapRevision: 'ghi',
    partyLocators: [],
    decide: () => entries.toSorted((a, b) => (a.event.eventId < b.event.eventId ? -1 : 1)),
    rejected: [],
    messagesOf: (eventId) => [aMessage(entries.find(({ event }) => event.eventId === eventId)?.offset)],
    ...overrides,
  }
}

export function aMessage(offset = 0n, value: string | null = 'not an event'): Message {
  return { offset, key: null, value: value === null ? null : Buffer.from(value), headers: {} }
}

/** Senders that remember the event ids of the messages that they were handed. */
export function recordingSend(answer: (eventId: string) => Delivery = () => ({ receipt: 'r', error: null })) {
  const sent: string[] = []
  const send: Send = async (messages) => {
    const deliveries = new Map<string, Delivery>()
    for (const { locator, idempotencyKey } of messages) {
      const eventId = idempotencyKey.replace(/\/\d+$/, '')
      sent.push(eventId)
      deliveries.set(locator, answer(eventId))
    }
    return deliveries
  }
  return { sent, send }
}

interface Page {
  readonly items: readonly { readonly eventId: string }[]
  readonly next: LogPosition | null
}

/** The event ids of all pages of a list, in its order. */
export async function eventIdsOfPages(read: (after: LogPosition | null) => Promise<Page>): Promise<string[]> {
  const all: string[] = []
  for (let after: LogPosition | null | undefined; after !== null; ) {
    const page: Page = await read(after ?? null)
    all.push(...page.items.map(({ eventId }) => eventId))
    after = page.next
  }
  return all
}
