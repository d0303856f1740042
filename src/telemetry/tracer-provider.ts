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
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'

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

/** Queues spans and sends them to the collector; the code that starts a span never waits for it. */
export function createTracerProvider(options: TracingOptions, log: Logger): TracerProvider {
  const exporter = new OTLPTraceExporter({
    url: urlOf(options.endpoint),
    timeoutMillis: EXPORT_TIMEOUT_MS,
    concurrencyLimit: EXPORTS_AT_ONCE_MAX,
  })
  return new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': SERVICE, 'service.version': options.version }))
      .merge(detectResources({ detectors: DETECTORS })),
    sampler: samplerOf(options),
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

function urlOf(endpoint: string): string {
  const base = endpoint.replace(/\/+$/, '')
  return base.endsWith(PATH) ? base : base + PATH
}

function samplerOf({ sampler, samplerRatio }: TracingOptions): Sampler {
  const ratio = sampler.endsWith('always_on') ? 1 : sampler.endsWith('always_off') ? 0 : samplerRatio
  const root = new TraceIdRatioBasedSampler(ratio)
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root
}

/** Logs once when traces cannot be sent, and once when they can again: the library reports neither. */
function reporting(exporter: SpanExporter, log: Logger): SpanExporter {
  let isFailing = false
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const { error } = result
        if (error !== undefined && !isFailing)
          log.warn(
            { reason: error.message },
            'traces cannot be sent to the collector; nothing else waits for it',
          )
        if (error === undefined && isFailing) log.info('traces are sent to the collector again')
        isFailing = error !== undefined
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
  }
}
