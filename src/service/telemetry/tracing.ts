import { AsyncLocalStorage } from 'node:async_hooks'
import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
  serviceNameEnvDetector,
} from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import type { Batch, CommitResult } from '../decide/attempt/batch.ts'
import type { RunStage, StageName, Stages } from '../decide/attempt/stage.ts'
import { readTraceParent, type TraceParent } from '../decide/event/parse-event.ts'
import { type Contacts, countByState } from '../decide/party/contact.ts'
import { withTimeout } from '../time/with-timeout.ts'
import { markTrace } from './log.ts'

export interface TracingOptions extends NonNullable<Config['tracing']> {
  /** Maximum number of messages in a batch: each may come from another producer. */
  readonly batchMax: number
  readonly version: string
}

/** Spans beyond this number are dropped: one with 500 links takes about 150 kB, and each batch has one. */
const QUEUE_COUNT_MAX = 1_024
const EXPORT_COUNT_MAX = 128
/** Enough for the whole queue at a stop, and one export in progress. */
const EXPORTS_AT_ONCE_MAX = QUEUE_COUNT_MAX / EXPORT_COUNT_MAX + 1
const EXPORT_DELAY_MS = 1_000
const EXPORT_TIMEOUT_MS = 5_000
const PATH = '/v1/traces'
const SERVICE = 'notifications-service'
const DETECTORS = [serviceInstanceIdDetector, resourceAttributesEnvDetector, serviceNameEnvDetector]

export type Tracing = ReturnType<typeof createTracing>

/** Starts the span of a stage; `end` notes its result. */
type TraceStage<Name extends StageName> = (input: Stages[Name]['input']) => {
  readonly span: Span
  readonly end: (result: Stages[Name]['result']) => unknown
}

const current = new AsyncLocalStorage<Span>()
/** Maximum time that a stop waits for the collector. */
const STOP_WAIT_MS = 2_000

/**
 * Sends traces to a collector, as OTLP over HTTP (JSON), and follows `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` and
 * `OTEL_EXPORTER_OTLP_HEADERS`. Nothing waits for it: spans are queued, and dropped if the collector is too slow. Attributes
 * contain no contact and no message text.
 */
export function createTracing(options: TracingOptions, log: Logger) {
  const provider = createTracerProvider(options, log)
  const tracer = provider.getTracer('notifications-service', options.version)

  function start(name: string, kind: SpanKind, parent: Span | undefined): Span {
    const context = parent === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, parent)
    return tracer.startSpan(name, { kind }, context)
  }

  const spans: { readonly [Name in StageName]?: TraceStage<Name> } = {
    batch: (batch) => {
      const span = start(`process ${batch.topic}`, SpanKind.CONSUMER, undefined)
      // Unsampled spans examine no message.
      if (span.isRecording()) {
        span.setAttributes(batchAttributes(batch))
        span.addLinks(listProducers(batch).map((context) => ({ context })))
      }
      return { span, end: (result) => span.setAttributes(resultAttributes(result)) }
    },
    contacts: (partyLocators) => {
      const span = start('look up contacts', SpanKind.CLIENT, current.getStore())
      span.setAttribute('notifications.parties', partyLocators.length)
      return { span, end: (contacts) => span.setAttributes(countStates(contacts)) }
    },
    commit: () => ({ span: start('commit', SpanKind.CLIENT, current.getStore()), end: () => {} }),
    retry: (entries) => {
      const span = start('retry', SpanKind.INTERNAL, undefined)
      span.setAttribute('notifications.rows', entries.length)
      return { span, end: () => {} }
    },
  }

  /** A batch, its contact look-up, its transaction and one of retries have a span each; other stages have none. */
  const stage: RunStage = async (name, input, run) => {
    const traced = spans[name]?.(input)
    if (traced === undefined) return run()
    return within(traced.span, async () => {
      const result = await run()
      traced.end(result)
      return result
    })
  }

  return {
    stage,
    /** Sends queued spans, as far as the collector accepts them in time. Never rejects. */
    stop: async (): Promise<void> => {
      await withTimeout(
        STOP_WAIT_MS,
        provider.shutdown().catch(() => {}),
        () => {},
      )
    },
  }
}

function batchAttributes({ topic, partition, messages, lastOffset }: Batch) {
  return {
    'messaging.system': 'kafka',
    'messaging.operation.type': 'process',
    'messaging.operation.name': 'process',
    'messaging.destination.name': topic,
    'messaging.destination.partition.id': String(partition),
    'messaging.kafka.offset': String(messages[0]?.offset ?? lastOffset),
    'messaging.batch.message_count': messages.length,
  }
}

function resultAttributes(result: CommitResult) {
  if (result.kind !== 'committed') return { 'notifications.result': result.kind }
  return {
    'notifications.result': result.kind,
    'notifications.inserted': result.inserted.length,
    'notifications.rejected': result.rejected.length,
  }
}

/** Ends the span with the result of `run`. Records only an error's name: its message could quote personal data. */
async function within<Result>(span: Span, run: () => Promise<Result>): Promise<Result> {
  try {
    return await current.run(span, run)
  } catch (error) {
    markTrace(error, span.spanContext().traceId)
    span.setStatus({ code: SpanStatusCode.ERROR })
    span.setAttribute('error.type', error instanceof Error ? error.name : typeof error)
    throw error
  } finally {
    span.end()
  }
}

/** The distinct trace contexts of the producers. */
function listProducers({ messages }: Batch) {
  const producers = new Map<string, TraceParent>()
  for (const message of messages) {
    const parent = readTraceParent(message)
    if (parent !== null) producers.set(`${parent.traceId}/${parent.spanId}`, parent)
  }
  return [...producers.values()].map(({ traceId, spanId, flags }) => ({
    traceId,
    spanId,
    traceFlags: flags,
    isRemote: true,
  }))
}

function countStates(contacts: Contacts): Record<string, number> {
  const counts = countByState(contacts)
  return {
    'notifications.parties.found': counts.found,
    'notifications.parties.not_found': counts['not found'],
    'notifications.parties.unresolved': counts.unresolved + counts['wrong party'],
  }
}

/** Sends an empty export, as the service sends its traces. Rejects with the collector's answer or the connection's error. */
export async function tryCollector({ endpoint }: Pick<TracingOptions, 'endpoint'>): Promise<void> {
  const exporter = createExporter(endpoint)
  try {
    await new Promise<void>((resolve, reject) =>
      exporter.export([], ({ error }) => (error === undefined ? resolve() : reject(error))),
    )
  } finally {
    await exporter.shutdown()
  }
}

function createExporter(endpoint: string): OTLPTraceExporter {
  return new OTLPTraceExporter({
    url: buildUrl(endpoint),
    timeoutMillis: EXPORT_TIMEOUT_MS,
    concurrencyLimit: EXPORTS_AT_ONCE_MAX,
    httpAgentOptions: { keepAlive: true, proxyEnv: process.env },
  })
}

/** Queues spans and sends them to the collector; the code that starts a span never waits for it. */
function createTracerProvider(options: TracingOptions, log: Logger): TracerProvider {
  const exporter = createExporter(options.endpoint)
  return new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': SERVICE, 'service.version': options.version }))
      .merge(detectResources({ detectors: DETECTORS })),
    sampler: createSampler(options),
    // The library's limit is 128.
    spanLimits: { linkCountLimit: options.batchMax },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: reporting(exporter, log),
        maxQueueSize: QUEUE_COUNT_MAX,
        maxExportBatchSize: EXPORT_COUNT_MAX,
        scheduledDelayMillis: EXPORT_DELAY_MS,
        exportTimeoutMillis: 2 * EXPORT_TIMEOUT_MS,
      }),
    ],
  })
}

function buildUrl(endpoint: string): string {
  const base = endpoint.replace(/\/+$/, '')
  return base.endsWith(PATH) ? base : base + PATH
}

/** All spans of a batch have its trace id, so a parent's decision makes no difference. */
function createSampler({ sampler, samplerRatio }: TracingOptions): Sampler {
  const ratio = sampler.endsWith('always_on') ? 1 : sampler.endsWith('always_off') ? 0 : samplerRatio
  return new TraceIdRatioBasedSampler(ratio)
}

/** Logs once when traces cannot be sent, and once when they can again; the library reports neither. */
function reporting(exporter: SpanExporter, log: Logger): SpanExporter {
  let isFailing = false
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const { error } = result
        if (error !== undefined && !isFailing)
          log.warn(
            { reason: error.message },
            'traces cannot be sent to the collector; the service continues without it',
          )
        if (error === undefined && isFailing) log.info('traces are sent to the collector again')
        isFailing = error !== undefined
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
  }
}
