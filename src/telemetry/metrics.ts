import { collectDefaultMetrics, Registry } from 'prom-client'
import type { Batch, CommitResult } from '../core/batch/batch.ts'
import { REJECTIONS } from '../core/event/rejection.ts'
import type { RetriedEntry } from '../core/log/decide-retry.ts'
import type { Contact } from '../core/party/contact.ts'
import { EVENT_TYPES } from '../core/templates/event-types.ts'
import { createGauges, type Sources } from './gauges.ts'
import { createInstruments, STAGES, type Stage } from './instruments.ts'
import { Tally } from './tally.ts'

/** `moved`: another consumer had taken over; `failed`: nothing was written, and the batch is retried. */
const BATCH_RESULTS = ['committed', 'moved', 'failed'] as const

/** What the service counts about itself, in Prometheus's terms. Counting costs per batch, not per event. */
export interface Metrics {
  /** The same function with its duration observed, also when it rejects. */
  timed<Args extends unknown[], Result>(
    stage: Stage,
    run: (...args: Args) => Promise<Result>,
  ): (...args: Args) => Promise<Result>
  /** Observes one batch as a whole. */
  dispatched(batch: Batch, run: () => Promise<CommitResult>): Promise<CommitResult>
  /** Counts what a commit wrote; `refused` holds the locators of rows whose sender failed. */
  committed(result: CommitResult, refused: ReadonlySet<string>): void
  /** Counts the retries that were made. */
  retried(retried: readonly RetriedEntry[], refused: ReadonlySet<string>): void
  /** Counts how parties were resolved. */
  resolved(contacts: ReadonlyMap<string, Contact>): void
  /** A conflict with another transaction: the batch restarts from its look-ups. */
  conflict(): void
  /** The exposition text and its content type. */
  expose(): Promise<{ contentType: string; text: string }>
}

/** Resolution of event loop delays: coarse, so that an idle process rests. */
const EVENT_LOOP_PRECISION_MS = 50

/** Gauges of the library that are named like counters; it has the same ones without `_total`. */
const MISNAMED = ['handles', 'requests', 'resources'].map((kind) => `nodejs_active_${kind}_total`)

const KNOWN_EVENT_TYPES: ReadonlySet<string> = new Set(EVENT_TYPES)

export function createMetrics(sources: Sources): Metrics {
  const register = new Registry()
  const registers = [register]
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION_MS })
  for (const name of MISNAMED) register.removeSingleMetric(name)
  const readGauges = createGauges(sources, registers)

  const {
    outcomes,
    events,
    duplicates,
    rejected,
    batches,
    conflicts,
    batchMessages,
    batchSeconds,
    stageSeconds,
    lookUps,
    retries,
  } = createInstruments(registers)
  // Starting at 0, so that the first increase counts as one.
  for (const result of BATCH_RESULTS) batches.inc({ result }, 0)
  for (const code of Object.keys(REJECTIONS)) rejected.inc({ code }, 0)
  for (const stage of STAGES) stageSeconds.zero({ stage })

  return {
    timed:
      (stage, run) =>
      async (...args) => {
        const end = stageSeconds.startTimer({ stage })
        try {
          return await run(...args)
        } finally {
          end()
        }
      },

    dispatched: async (batch, run) => {
      const end = batchSeconds.startTimer()
      let result: (typeof BATCH_RESULTS)[number] = 'failed'
      try {
        const committed = await run()
        result = committed.kind
        if (committed.kind === 'committed') {
          batchMessages.observe(batch.messages.length)
          duplicates.inc(batch.messages.length - committed.inserted.length - committed.rejected.length)
        }
        return committed
      } finally {
        batches.inc({ result })
        end()
      }
    },

    committed: (result, refused) => {
      if (result.kind !== 'committed') return
      const byRule = new Tally()
      const byEventType = new Tally()
      for (const { locator, status, decision, event } of result.inserted) {
        const final = refused.has(locator) ? 'FAILED' : status
        byRule.add(decision.ruleId, final, decision.channel)
        const eventType = KNOWN_EVENT_TYPES.has(event.eventType) ? event.eventType : 'other'
        byEventType.add(eventType, final, decision.channel)
      }
      for (const { word, status, channel, count } of byRule) {
        outcomes.inc({ status, channel, rule: word }, count)
      }
      for (const { word, status, count } of byEventType) events.inc({ event_type: word, status }, count)
      for (const { rejection } of result.rejected) rejected.inc({ code: rejection.code })
    },

    retried: (retried, refused) => {
      const byRule = new Tally()
      for (const { due, status, decision } of retried) {
        byRule.add(decision.ruleId, refused.has(due.locator) ? 'FAILED' : status, decision.channel)
      }
      for (const { word, status, channel, count } of byRule) {
        retries.inc({ status, channel, rule: word }, count)
      }
    },

    resolved: (contacts) => {
      const counts = { found: 0, 'not found': 0, unresolved: 0 }
      for (const { state } of contacts.values()) counts[state]++
      for (const [state, count] of Object.entries(counts)) lookUps.inc({ state }, count)
    },

    conflict: () => conflicts.inc(),

    expose: async () => {
      await readGauges()
      return { contentType: register.contentType, text: await register.metrics() }
    },
  }
}
