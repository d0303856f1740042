import pg from 'pg'
import { pino } from 'pino'
import { sql } from 'slonik'
import { z } from 'zod'
import { readRuleFiles } from '../../src/app/rule-files.ts'
import { decideAttempts } from '../../src/core/attempt/attempt.ts'
import type { Message } from '../../src/core/event/message.ts'
import { parseEvent, variablesOf } from '../../src/core/event/parse-event.ts'
import { templates } from '../../src/generated/templates.ts'
import { createPartyClient } from '../../src/party/client.ts'
import { createLocators } from '../../src/pipeline/locators.ts'
import { openPool } from '../../src/postgres/connection/pool.ts'
import { findLogged } from '../../src/postgres/read/find-logged.ts'
import { loadCheckpoint, lockCheckpoint } from '../../src/postgres/write/checkpoints.ts'
import { insertEntries } from '../../src/postgres/write/insert-entries.ts'
import { readPreferences } from '../../src/postgres/write/read-preferences.ts'
import { recordDecisions } from '../../src/postgres/write/record-decisions.ts'
import { createMigratedDatabase } from '../stack/databases.ts'
import type { Contacts } from './contacts.ts'
import { cpuMsOf } from './cpu.ts'
import { type BenchEvent, generateEvents } from './events.ts'
import { insertPreferences } from './parties.ts'

/** CPU µs for each event, in our process and in the database's; null where that cannot be known. */
export interface Stage {
  readonly name: string
  readonly processUs: number
  readonly postgresUs: number | null
}

const BATCH_EVENT_COUNT = 1_000
const PLACE = { topic: 'claims', partition: 0 }

/**
 * The stages of a batch's way, each measured while all else stands still, for so many events and after half as many that
 * are not measured. What it costs to have the messages from the broker and to send is in none of them.
 */
export async function measureStages(contacts: Contacts, eventCount: number): Promise<readonly Stage[]> {
  const { database, pool, backendPid } = await openDatabase()
  const parties = createPartyClient({
    baseUrl: contacts.url,
    connectionCountMax: 32,
    echo: ['/partyLocator', '/locator'],
    deadlineMs: 60_000,
    log: pino({ enabled: false }),
  })
  const { ruleTable, envelopeMap, envelopeMapRevision } = await readRuleFiles()
  const newLocator = createLocators()
  const clock = createClock(backendPid)
  let { offset: checkpoint } = await loadCheckpoint(pool, PLACE.topic, PLACE.partition)

  async function runAll(messages: readonly Message[]): Promise<void> {
    for (let start = 0; start < messages.length; start += BATCH_EVENT_COUNT) {
      await runBatch(messages.slice(start, start + BATCH_EVENT_COUNT))
    }
  }

  async function runBatch(messages: readonly Message[]): Promise<void> {
    const parsed = await clock.time('parse', () =>
      messages.map((message) => parseEvent(message, envelopeMap)).filter((one) => one.kind === 'event'),
    )
    const events = [...new Map(parsed.map(({ event }) => [event.eventId, event])).values()]
    const partyLocators = [...new Set(events.flatMap(({ partyLocator }) => partyLocator ?? []))]
    const eventIds = events.map(({ eventId }) => eventId)
    const { eventIds: logged } = await clock.time('logged ids', () =>
      findLogged(pool, PLACE.topic, PLACE.partition, eventIds),
    )
    const found = await clock.time('contact look-up', () => parties.lookUp(partyLocators))
    const fresh = events.filter(({ eventId }) => !logged.has(eventId))
    const open = fresh.map((event, i) => ({
      locator: newLocator(),
      eventId: event.eventId,
      eventType: event.eventType,
      partyLocator: event.partyLocator,
      isPartyInvalid: event.partyLocatorInvalid,
      contact: found.get(event.partyLocator ?? ''),
      origin: {
        ...PLACE,
        offset: BigInt(i),
        traceId: event.traceId,
        envelopeMapRevision: envelopeMapRevision.revision,
      },
      variables: variablesOf(event),
      stored: null,
      isPruned: false,
      before: null,
      request: null,
    }))
    const preferences = await clock.time('preferences', () => readPreferences(pool, partyLocators))
    const attempts = await clock.time('decide and render', () =>
      decideAttempts({ ruleTable, templates }, open, preferences),
    )
    checkpoint += BigInt(messages.length)
    const move = { ...PLACE, offset: checkpoint, lastMessage: null }
    let committed: () => Promise<void> = async () => {}
    await pool.transaction(async (tx) => {
      await clock.time('write statements', async () => {
        await lockCheckpoint(tx, PLACE)
        await insertEntries(tx, attempts)
        await recordDecisions(tx, attempts, new Map(), ruleTable.revision, move)
      })
      committed = await clock.start('commit')
    })
    await committed()
  }

  try {
    const warmUpCount = Math.ceil(eventCount / 2)
    const messages = [...generateEvents(1, warmUpCount + eventCount)].map(toMessage)
    await runAll(messages.slice(0, warmUpCount))
    clock.reset()
    await runAll(messages.slice(warmUpCount))
    return clock.stages(eventCount)
  } finally {
    await parties.close()
    await pool.end()
    await database.drop()
  }
}

function toMessage({ value }: BenchEvent, offset: number): Message {
  return { offset: BigInt(offset), key: null, value: Buffer.from(value), headers: {} }
}

/** With one connection only, so that one process of the database does all the work. */
async function openDatabase() {
  const database = await createMigratedDatabase()
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await insertPreferences(client)
  await client.end()
  const pool = await openPool({ databaseUrl: database.url, connectionCountMax: 1 })
  const pid = z.object({ pid: z.number() })
  return { database, pool, backendPid: await pool.oneFirst(sql.type(pid)`SELECT pg_backend_pid() AS pid`) }
}

/** Adds up, by name, the CPU that pieces of work took in this process and in that one of the database. */
function createClock(backendPid: number) {
  const sums = new Map<string, { processUs: number; postgresMs: number }>()

  /** Resolves to what ends the piece. */
  async function start(name: string): Promise<() => Promise<void>> {
    const postgresMs = await cpuMsOf(backendPid)
    const own = process.cpuUsage()
    return async () => {
      const { user, system } = process.cpuUsage(own)
      const postgresEndMs = await cpuMsOf(backendPid)
      const sum = sums.get(name) ?? { processUs: 0, postgresMs: 0 }
      sums.set(name, {
        processUs: sum.processUs + user + system,
        postgresMs: sum.postgresMs + (postgresEndMs ?? Number.NaN) - (postgresMs ?? Number.NaN),
      })
    }
  }

  return {
    start,
    time: async <T>(name: string, work: () => T | Promise<T>): Promise<T> => {
      const end = await start(name)
      const value = await work()
      await end()
      return value
    },
    reset: () => sums.clear(),
    stages: (eventCount: number): Stage[] =>
      [...sums].map(([name, { processUs, postgresMs }]) => ({
        name,
        processUs: processUs / eventCount,
        postgresUs: Number.isNaN(postgresMs) ? null : (postgresMs * 1_000) / eventCount,
      })),
  }
}
