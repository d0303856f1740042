import { Counter, Histogram, type Registry } from 'prom-client'
import type { StageName } from '../core/attempt/stage.ts'

export const TIMED_STAGES = ['look_up', 'contacts', 'commit', 'send'] as const satisfies readonly StageName[]

const BATCH_MESSAGES = [1, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000]
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Counters and histograms; gauges.ts has the values read at a scrape. */
export function createInstruments(registers: Registry[]) {
  function counter<Label extends string = never>(name: string, help: string, labelNames: Label[] = []) {
    return new Counter({ name: `notifications_${name}`, help, labelNames, registers })
  }
  function histogram<Label extends string = never>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: Label[] = [],
  ) {
    return new Histogram({ name: `notifications_${name}`, help, buckets, labelNames, registers })
  }
  return {
    outcomes: counter('outcomes_total', 'Log rows written for consumed events, by the rule that decided', [
      'status',
      'channel',
      'rule',
    ]),
    events: counter(
      'events_total',
      'Log rows written for consumed events, by event type; types without a template are "other"',
      ['event_type', 'status'],
    ),
    duplicates: counter('duplicates_total', 'Messages whose event id was already logged'),
    tombstones: counter('tombstones_total', 'Messages without a value, which are no events'),
    rejected: counter(
      'rejected_messages_total',
      'Messages that are not valid events, kept in rejected_message',
      ['code'],
    ),
    batches: counter('batches_total', 'Batches of a partition; a failed one is retried', ['result']),
    conflicts: counter(
      'conflicts_total',
      'Batches that conflicted with another transaction and were restarted',
    ),
    batchMessages: histogram('batch_messages', 'Messages in a batch', BATCH_MESSAGES),
    batchSeconds: histogram('batch_duration_seconds', 'Time from receiving a batch to its commit', SECONDS),
    stageSeconds: histogram(
      'stage_duration_seconds',
      'Duration of one stage of a batch; send is part of commit',
      SECONDS,
      ['stage'],
    ),
    responseSeconds: histogram(
      'http_response_duration_seconds',
      'Time from a request to its response, on both listeners; requests without a route have "none"',
      SECONDS,
      ['route', 'method', 'status'],
    ),
    sends: counter('sends_total', 'Messages for a sender, by its answer; only accepted ones count as sent', [
      'channel',
      'answer',
    ]),
    lookUps: counter('contact_lookups_total', 'Parties looked up in policy administration, by result', [
      'state',
    ]),
    retries: counter('retries_total', 'Retries of failed rows, by resulting status and deciding rule', [
      'status',
      'channel',
      'rule',
    ]),
  }
}

export type Instruments = ReturnType<typeof createInstruments>
