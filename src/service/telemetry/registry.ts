import { collectDefaultMetrics, Registry } from 'prom-client'
import type { AddressPointers } from '../decide/data-faults/find-addresses.ts'
import type { Rule } from '../decide/rules/rule.ts'
import { countStages, createCounters, startAtZero } from './counters.ts'
import { createGauges, type GaugeSources } from './gauges.ts'
import { createMinutely } from './minutely.ts'

export interface MetricSources extends GaugeSources {
  readonly topics: readonly string[]
  readonly rules: readonly Pick<Rule, 'id' | 'outcome'>[]
  /** Event types with a template; all others are counted together. */
  readonly eventTypes: ReadonlySet<string>
  /** True if a text or a rule names the type in another letter case. */
  readonly isInOtherCase: (eventType: string) => boolean
  /** True if the text of an event type inserts the reason. */
  readonly givesReason: (eventType: string) => boolean
  /** The places of each address in an answer; none if policy administration has no such addresses. */
  readonly addressPlaces: AddressPointers
  /** Attempts after which a failed row is given up. */
  readonly attemptCountMax: number
}

export type Metrics = ReturnType<typeof createMetrics>

/** Resolution of event loop delays: coarse, so that an idle process sleeps. */
const EVENT_LOOP_PRECISION_MS = 50

/** The library's gauges that are named like counters; it also has them without `_total`. */
const MISNAMED = ['handles', 'requests', 'resources'].map((kind) => `nodejs_active_${kind}_total`)

/** The library's metrics and the service's own: counters.ts and gauges.ts define them. */
export function createMetrics(sources: MetricSources) {
  const register = new Registry()
  const registers = [register]
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION_MS })
  for (const name of MISNAMED) register.removeSingleMetric(name)
  const { dataFaults, readGauges } = createGauges(sources, registers)
  const counters = createCounters(registers)
  startAtZero(counters, sources.topics, sources.rules)
  const minutely = createMinutely(counters, dataFaults)
  return {
    stage: countStages(
      counters,
      sources.eventTypes,
      sources.isInOtherCase,
      sources.givesReason,
      sources.addressPlaces,
      sources.attemptCountMax,
    ),
    /** Logs the counts since the last call, see `createMinutely`. */
    logMinute: minutely.log,
    /** Present faults of the data. */
    dataFaults: minutely.notices,
    /** Counts a restart of a batch from its look-ups, after a serialization failure or deadlock. */
    countRestart: () => counters.restarts.inc(),
    /** Counts messages that the broker's retention deleted before they were processed. */
    countLost: (topic: string, count: bigint) => counters.lost.inc({ topic }, Number(count)),
    /** Counts messages whose rows the database has lost. */
    countRowsLost: (topic: string, count: bigint) => counters.rowsLost.inc({ topic }, Number(count)),
    observeResponse: (route: string, method: string, status: number, seconds: number) =>
      counters.responseSeconds.observe({ route, method, status }, seconds),
    expose: async () => {
      await readGauges()
      return { contentType: register.contentType, text: await register.metrics() }
    },
  }
}
