// node test/soak/eager-member.ts
// One member PUTs her preferences RATES (10, 50, 200) times a second, for SECONDS (10) each, while the database is DELAYS (60, 1) ms
// away and some 35 events/s arrive, one in ten of them hers. Exits 1 if an event of another member takes over 2 s, if hers are out of
// order, if an answered opt-out is overrun, if an event has no row, or if the opt-out of another member is refused or takes over 2 s.
import { setTimeout as sleep } from 'node:timers/promises'
import { endWithSignals } from '../stack/environment.ts'
import { startNetwork } from '../stack/network.ts'
import { recordTo } from '../stack/record-recipients.ts'
import { until } from '../stack/until.ts'
import { anEvent, createWorld } from '../stack/world.ts'
import { result, say } from './report.ts'

const listFrom = (name: string, usual: string) => (process.env[name] ?? usual).split(',').map(Number)
const rates = listFrom('RATES', '10,50,200')
const delaysMs = listFrom('DELAYS', '60,1')
const durationMs = Number(process.env.SECONDS ?? 10) * 1_000
const EVENTS_PER_TICK = 10
const TICK_MS = 275
const LATE_MS = 2_000
/** Preferences that were read so long before the send are not read again. */
const WRITE_MAX_MS = 100
const EAGER = 'party-eager'

interface Put {
  readonly number: number
  readonly status: number
  readonly sentMs: number
  readonly answeredMs: number
}

/** When each message was handed over, by event id. */
const handedOver = new Map<string, number>()
recordTo((_, messages) => {
  for (const { idempotencyKey } of messages)
    handedOver.set(idempotencyKey.replace(/\/\d+$/, ''), performance.now())
})

/** Whether her PUT of this number opts out: half of them do, in no rhythm with the events. */
const isOptOut = (number: number): boolean => (number * 7_919) % 101 < 50

endWithSignals()
const findings: Record<string, boolean> = {}
for (const delayMs of delaysMs) Object.assign(findings, await soak(delayMs))
result(findings)

async function soak(delayMs: number): Promise<Readonly<Record<string, boolean>>> {
  const world = await createWorld()
  const databaseUrl = new URL(world.databaseUrl)
  const network = await startNetwork(Number(databaseUrl.port))
  network.slow(delayMs / 2)
  databaseUrl.port = String(network.port)
  const service = await world.serve({ DATABASE_URL: databaseUrl.href, LOG_LEVEL: 'warn' })
  const findings: Record<string, boolean> = {}
  let putCount = 0
  try {
    await world.publish([anEvent()])
    await world.caughtUp()
    for (const rate of rates) {
      const name = `${rate} PUTs/s, ${delayMs} ms away`
      const [events, hers, others] = await Promise.all([
        publishSteadily(crypto.randomUUID().slice(0, 8)),
        putSteadily(rate),
        optOutNowAndThen(),
      ])
      await world.caughtUp()
      for (const [what, holds] of Object.entries(await judge(events, hers, others)))
        findings[`${name}: ${what}`] = holds
    }
    return findings
  } finally {
    await world.close()
    await network.close()
  }

  async function put(party: string, number: number, isOptOut: boolean): Promise<Put> {
    const sentMs = performance.now()
    const response = await fetch(`${service.url}/preferences/${party}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ phone: String(number), optedOutEvents: isOptOut ? ['claim.paid'] : [] }),
    })
    await response.arrayBuffer()
    return { number, status: response.status, sentMs, answeredMs: performance.now() }
  }

  async function putSteadily(rate: number): Promise<readonly Put[]> {
    const puts: Promise<Put>[] = []
    const startedMs = performance.now()
    for (let count = 0; performance.now() - startedMs < durationMs; count++) {
      putCount++
      puts.push(put(EAGER, putCount, isOptOut(putCount)))
      await sleep(Math.max(0, startedMs + ((count + 1) / rate) * 1_000 - performance.now()))
    }
    return Promise.all(puts)
  }

  async function optOutNowAndThen(): Promise<readonly Put[]> {
    const puts: Put[] = []
    for (const startedMs = performance.now(); performance.now() - startedMs < durationMs; await sleep(500))
      puts.push(await put(`calm-${puts.length}`, 0, true))
    return puts
  }

  /** Resolves to the event ids, each with the time from publishing to commit. */
  async function publishSteadily(name: string): Promise<ReadonlyMap<string, number>> {
    const published = new Map<string, number>()
    const tookMs = new Map<string, number>()
    const look = async () => {
      const open = [...published.keys()].filter((id) => !tookMs.has(id))
      const found = await world.sql(
        'SELECT event_id FROM notifications.notification_log WHERE event_id = ANY($1)',
        [open],
      )
      for (const { event_id: id } of found) tookMs.set(id, performance.now() - (published.get(id) ?? 0))
    }
    const startedMs = performance.now()
    while (performance.now() - startedMs < durationMs) {
      const events = Array.from({ length: EVENTS_PER_TICK }, (_, i) => {
        const number = published.size + i
        const party = i === 0 ? EAGER : `party-${number % 50}`
        const kind = i === 0 ? 'hers' : 'theirs'
        return { ...anEvent({ eventId: `${name}-${number}-${kind}`, partyLocator: party }), partition: 0 }
      })
      for (const { eventId } of events) published.set(eventId, performance.now())
      await world.publish(events)
      for (let i = 0; i < TICK_MS / 25; i++) {
        await sleep(25)
        await look()
      }
    }
    const isComplete = async () => {
      await look()
      return tookMs.size === published.size
    }
    await until(isComplete, { what: 'all events to have rows' })
    return tookMs
  }

  async function judge(events: ReadonlyMap<string, number>, hers: readonly Put[], others: readonly Put[]) {
    const decided = await world.sql(`
      SELECT event_id AS id, outcome, (after ->> 'phone')::integer AS number
      FROM notifications.decision LEFT JOIN notifications.preference_change AS change ON change.id = preference_change_id
      WHERE decision.party_locator = '${EAGER}' AND attempt <= 1`)
    const told = decided.filter(({ id }) => events.has(id) && handedOver.has(id))
    const sentMs = (id: string) => handedOver.get(id) ?? 0
    const overrun = told.filter(({ id, number }) => {
      const answered = hers.filter((put) => put.status === 200 && put.answeredMs < sentMs(id) - WRITE_MAX_MS)
      const newest = Math.max(0, ...answered.map((put) => put.number))
      return (number !== null && isOptOut(number)) || (number ?? 0) < newest
    })
    for (const { id, number } of overrun)
      say(
        `${id} was sent at ${sentMs(id)} by change ${number}; answered: ${JSON.stringify(hers.filter((put) => Math.abs(put.answeredMs - sentMs(id)) < 300))}`,
      )
    const order = told
      .toSorted((a, b) => sentMs(a.id) - sentMs(b.id))
      .map(({ id }) => Number(id.split('-')[1]))
    const theirs = [...events].filter(([id]) => id.endsWith('theirs')).map(([, ms]) => ms)
    const slowest = Math.round(Math.max(...theirs))
    const slowestPut = Math.round(Math.max(...others.map((put) => put.answeredMs - put.sentMs)))
    const countOf = (status: number) => hers.filter((put) => put.status === status).length
    say(
      `${delayMs} ms away, ${hers.length} PUTs: ${countOf(200)} stored, ${countOf(503)} refused; ${told.length} of ${decided.filter(({ id }) => events.has(id)).length} of her events sent; slowest event of ${theirs.length} others ${slowest} ms, slowest opt-out of ${others.length} others ${slowestPut} ms`,
    )
    return {
      'the events of others within 2 s': slowest <= LATE_MS,
      'hers in order': order.every((number, i) => number >= (order[i - 1] ?? 0)),
      'no opt-out overrun': overrun.length === 0,
      'opt-outs of others within 2 s': others.every(({ status }) => status === 200) && slowestPut <= LATE_MS,
    }
  }
}
