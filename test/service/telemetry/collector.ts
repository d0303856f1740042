import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { close, listen } from '../../stack/listen.ts'

/** A span as it comes in OTLP's JSON. */
export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Absent or empty: it is the root. */
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly links?: readonly { readonly traceId: string; readonly spanId: string; readonly flags?: number }[]
  readonly droppedLinksCount?: number
  readonly status?: { readonly code?: number; readonly message?: string }
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  /** Attributes of the process. */
  readonly resource: Readonly<Record<string, string | number | boolean>>
}

// biome-ignore lint/suspicious/noExplicitAny: OTLP in JSON has no static type here
type Received = any

/** A collector: takes OTLP over HTTP as JSON, and answers unless told to hang. */
export async function startCollector() {
  const spans: ReceivedSpan[] = []
  const paths = new Set<string>()
  let answering = Promise.resolve()
  let goOn = () => {}
  const server = createServer(async (request, response) => {
    paths.add(`${request.method} ${request.url} ${request.headers['content-type']}`)
    const body = await json(request)
    await answering
    spans.push(...spansOf(body))
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    spans,
    /** Method, path and content type of what came in. */
    paths,
    hang: () => {
      const held = Promise.withResolvers<void>()
      answering = held.promise
      goOn = held.resolve
    },
    answer: () => {
      goOn()
      answering = Promise.resolve()
    },
    stop: async () => {
      goOn()
      await close(server)
    },
  }
}

function spansOf({ resourceSpans }: Received): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }: Received) =>
    scopeSpans.flatMap(({ spans }: Received) =>
      spans.map((span: Received) => ({
        ...span,
        attributes: valuesOf(span.attributes),
        resource: valuesOf(resource.attributes),
      })),
    ),
  )
}

function valuesOf(attributes: Received) {
  return Object.fromEntries(
    attributes.map(({ key, value }: Received) => {
      const number = value.intValue ?? value.doubleValue
      return [key, value.stringValue ?? value.boolValue ?? Number(number)]
    }),
  )
}
