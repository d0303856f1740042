import type { Check } from './remedies.ts'

export const collectorCheck: Check = {
  name: 'collector',
  prefix: 'OTEL_',
  run: async ({ tracing }) => {
    if (tracing === null) return null
    const { tryCollector } = await import('../../service/telemetry/tracing.ts')
    await tryCollector(tracing)
    return 'it accepts traces'
  },
  remedies: {
    other:
      'check OTEL_ENDPOINT (OTLP over HTTP, usually port 4318) and OTEL_EXPORTER_OTLP_HEADERS; the service works without it',
  },
}
