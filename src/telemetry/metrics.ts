import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import type { Batch, CommitResult } from '../core/batch/batch.ts'
import { REJECTIONS } from '../core/event/event.ts'
import type { RetriedEntry } from '../core/log/retry.ts'
import type { Contact } from '../core/party/contact.ts'
import { EVENT_TYPES } from '../core/templates/event-types.ts'
import { createGauges, type Sources } from './gauges.ts'
import { Tally } from './tally.ts'

/** Steps of a batch's way; `send` is a part of `commit`. */
const STAGES = ['look_up', 'contacts', 'commit', 'send'] as const
export type Stage = (typeof STAGES)[number]

/** `moved`: another consumer had taken over; `failed`: nothing was written, and it is tried again. */
const BATCH_RESULTS = ['committed', 'moved', 'failed'] as const

/** What the service counts about itself, in Prometheus's terms. Counting costs per batch, not per event. */
export interface Metrics {
  /** The same function, with its duration observed, also where it rejects. */
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
  /** Another transaction won: the batch starts again from its look-ups. */
  conflict(): void
  /** All of it as text, and the content type of that. */
  expose(): Promise<{ contentType: string; text: string }>
}

const BATCH_MESSAGES = [1, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000]
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** How finely delays of the event loop are seen; Prometheus asks every 15 s or so, and an idle process is to rest. */
const EVENT_LOOP_PRECISION_MS = 50

/** Gauges of the library's whose names are those of counters; the same ones without `_total` tell it by type. */
const MISNAMED = ['handles', 'requests', 'resources'].map((kind) => `nodejs_active_${kind}_total`)

const KNOWN_EVENT_TYPES: ReadonlySet<string> = new Set(EVENT_TYPES)

export function createMetrics(sources: Sources): Metrics {
  const register = new Registry()
  const registers = [register]
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION_MS })
  for (const name of MISNAMED) register.removeSingleMetric(name)
  const readGauges = createGauges(sources, registers)

  const outcomes = new Counter({
    name: 'notifications_outcomes_total',
    help: 'Log rows written for consumed events, by the rule that decided',
    labelNames: ['status', 'channel', 'rule'],
    registers,
  })
  const events = new Counter({
    name: 'notifications_events_total',
    help: 'Log rows written for consumed events, by event type; types without a template are "other"',
    labelNames: ['event_type', 'status'],
    registers,
  })
  const duplicates = new Counter({
    name: 'notifications_duplicates_total',
    help: 'Messages whose event id was logged already',
    registers,
  })
  const rejected = new Counter({
    name: 'notifications_rejected_messages_total',
    help: 'Messages that are no event, kept in rejected_message',
    labelNames: ['code'],
    registers,
  })
  const batches = new Counter({
    name: 'notifications_batches_total',
    help: 'Batches of a partition; a failed one is tried again',
    labelNames: ['result'],
    registers,
  })
  const conflicts = new Counter({
    name: 'notifications_conflicts_total',
    help: 'Batches that lost against another transaction and started again',
    registers,
  })
  const batchMessages = new Histogram({
    name: 'notifications_batch_messages',
    help: 'Messages of a batch',
    buckets: BATCH_MESSAGES,
    registers,
  })
  const batchSeconds = new Histogram({
    name: 'notifications_batch_duration_seconds',
    help: 'Time from the messages of a batch to its commit',
    buckets: SECONDS,
    registers,
  })
  const stageSeconds = new Histogram({
    name: 'notifications_stage_duration_seconds',
    help: 'Time of one stage of a batch; send is a part of commit',
    labelNames: ['stage'],
    buckets: SECONDS,
    registers,
  })
  const lookUps = new Counter({
    name: 'notifications_contact_lookups_total',
    help: 'Parties looked up in policy administration, by what came of it',
    labelNames: ['state'],
    registers,
  })
  const retries = new Counter({
    name: 'notifications_retries_total',
    help: 'Retries of failed rows, by the status after it and the rule that decided',
    labelNames: ['status', 'channel', 'rule'],
    registers,
  })
  // From 0 on, so that the first increase is seen as one.
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
