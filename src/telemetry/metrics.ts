import { collectDefaultMetrics, Registry } from 'prom-client'
import type { Attempt } from '../core/attempt/attempt.ts'
import type { CommitResult, Dispatch } from '../core/batch/batch.ts'
import { REJECTIONS } from '../core/event/rejection.ts'
import { type Contacts, countByState, type LookUpContacts } from '../core/party/contact.ts'
import { createGauges, type Sources } from './gauges.ts'
import { createInstruments, type Instruments, STAGES, type Stage } from './instruments.ts'
import { Tally } from './tally.ts'

/** `moved`: another consumer had taken over; `failed`: nothing was written, and the batch is retried. */
const BATCH_RESULTS = ['committed', 'moved', 'failed'] as const

/**
 * The service's own metrics. Each function returns the given one, observed. Counting costs per batch, not per event.
 */
export interface Metrics {
  /** Its duration, also when it rejects. */
  timed<Args extends unknown[], Result>(
    stage: Stage,
    run: (...args: Args) => Promise<Result>,
  ): (...args: Args) => Promise<Result>
  /** Batches as a whole, and the rows they wrote, by rule and event type. */
  countBatches(dispatch: Dispatch): Dispatch
  /** Retries by rule. */
  countRetries<A>(
    commit: (asked: A) => Promise<readonly Attempt[]>,
  ): (asked: A) => Promise<readonly Attempt[]>
  /** How parties were resolved. */
  countContacts(lookUp: LookUpContacts): LookUpContacts
  /** Conflicts with other transactions, after which a batch restarts from its look-ups. */
  countConflicts(isConflict: (error: unknown) => boolean): (error: unknown) => boolean
  /** The exposition text and its content type. */
  expose(): Promise<{ contentType: string; text: string }>
}

/** Resolution of event loop delays: coarse, so that an idle process rests. */
const EVENT_LOOP_PRECISION_MS = 50

/** Gauges of the library that are named like counters; it has the same ones without `_total`. */
const MISNAMED = ['handles', 'requests', 'resources'].map((kind) => `nodejs_active_${kind}_total`)

export function createMetrics(sources: Sources): Metrics {
  const register = new Registry()
  const registers = [register]
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION_MS })
  for (const name of MISNAMED) register.removeSingleMetric(name)
  const readGauges = createGauges(sources, registers)
  const instruments = createInstruments(registers)
  const { stageSeconds, batchSeconds, batchMessages, batches, duplicates, conflicts, rejected, lookUps } =
    instruments
  // Starting at 0, so that the first increase counts as one.
  for (const result of BATCH_RESULTS) batches.inc({ result }, 0)
  for (const code of Object.keys(REJECTIONS)) rejected.inc({ code }, 0)
  for (const stage of STAGES) stageSeconds.zero({ stage })
  for (const state of Object.keys(countByState(new Map()))) lookUps.inc({ state }, 0)

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
    countBatches: (dispatch) => async (batch) => {
      const end = batchSeconds.startTimer()
      let result: CommitResult['kind'] | 'failed' = 'failed'
      try {
        const committed = await dispatch(batch)
        result = committed.kind
        if (committed.kind === 'committed') {
          const { lastOffset, inserted, rejected } = committed
          const count = batch.messages.filter(({ offset }) => offset <= lastOffset).length
          batchMessages.observe(count)
          duplicates.inc(count - inserted.length - rejected.length)
          countRows(instruments, sources.eventTypes, committed)
        }
        return committed
      } finally {
        batches.inc({ result })
        end()
      }
    },
    countRetries: (commit) => async (asked) => counted(await commit(asked), countRetries),
    countContacts: (lookUp) => async (partyLocators) => counted(await lookUp(partyLocators), countContacts),
    countConflicts: (isConflict) => (error) => {
      const found = isConflict(error)
      if (found) conflicts.inc()
      return found
    },
    expose: async () => {
      await readGauges()
      return { contentType: register.contentType, text: await register.metrics() }
    },
  }

  function counted<Result>(
    result: Result,
    count: (instruments: Instruments, result: Result) => void,
  ): Result {
    count(instruments, result)
    return result
  }
}

function countRows(
  { outcomes, events, rejected }: Instruments,
  eventTypes: ReadonlySet<string>,
  committed: Extract<CommitResult, { kind: 'committed' }>,
): void {
  const byRule = new Tally()
  const byEventType = new Tally()
  for (const { status, decision, eventType } of committed.inserted) {
    byRule.add(decision.ruleId, status, decision.channel)
    byEventType.add(eventTypes.has(eventType) ? eventType : 'other', status, decision.channel)
  }
  for (const { word, status, channel, count } of byRule) outcomes.inc({ status, channel, rule: word }, count)
  for (const { word, status, count } of byEventType) events.inc({ event_type: word, status }, count)
  for (const { rejection } of committed.rejected) rejected.inc({ code: rejection.code })
}

function countRetries({ retries }: Instruments, retried: readonly Attempt[]): void {
  const byRule = new Tally()
  for (const { status, decision } of retried) byRule.add(decision.ruleId, status, decision.channel)
  for (const { word, status, channel, count } of byRule) retries.inc({ status, channel, rule: word }, count)
}

function countContacts({ lookUps }: Instruments, contacts: Contacts): void {
  for (const [state, count] of Object.entries(countByState(contacts))) lookUps.inc({ state }, count)
}
