import { once } from 'node:events'
import { Readable } from 'node:stream'
import { z } from 'zod'
import type { App } from '../server/base.ts'

const BODY_BYTES_MAX = 64 * 1024
const BODY_TIMEOUT_MS = 2_000
const LINGER_MS = 1_000

const accepted = z.object({ status: z.literal('accepted') })
const ACCEPTED = { status: 'accepted' } as const

/**
 * `POST /send`: accepts anything and does nothing (specification). Of the body at most 64 kB, and no longer than 2 s,
 * are drained, and nothing is read; where more was sent, the answer closes the connection.
 */
export async function sendRoute(app: App): Promise<void> {
  // Without a content type every body goes to the parser below; a malformed one would be a 415 before any parser.
  app.addHook('onRequest', async (request) => {
    delete request.headers['content-type']
  })
  app.addContentTypeParser('*', (_request, body, done) => {
    drain(body).then((drained) => done(null, drained))
  })

  const schema = { response: { 202: accepted } }
  app.post('/send', { config: { access: 'open' }, schema }, async (request, reply) => {
    reply.code(202)
    if (request.body !== 'more') return ACCEPTED
    const json = JSON.stringify(ACCEPTED)
    reply.headers({
      connection: 'close',
      'content-type': 'application/json; charset=utf-8',
      'content-length': json.length,
    })
    // Streams pass the serializer by, which its types do not know.
    reply.send(Readable.from(lingering(json, request.raw)) as never)
    return reply
  })
}

/**
 * The whole answer at once, but its end only when the client has stopped sending or after 1 s: a connection that is
 * closed on unread data is reset, and a client that is still writing would lose the answer.
 */
async function* lingering(answer: string, body: NodeJS.ReadableStream): AsyncGenerator<string> {
  yield answer
  body.resume()
  await once(body, 'close', { signal: AbortSignal.timeout(LINGER_MS) }).catch(() => {})
}

/** Throws a body away until it ends, or breaks off, or there is `more` of it than one wants to wait for. */
function drain(body: NodeJS.ReadableStream): Promise<'ended' | 'more'> {
  return new Promise((resolve) => {
    let bytes = 0
    const timer = setTimeout(() => stop('more'), BODY_TIMEOUT_MS)
    const onData = (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > BODY_BYTES_MAX) stop('more')
    }
    const onEnd = () => stop('ended')
    const stop = (result: 'ended' | 'more') => {
      clearTimeout(timer)
      body.off('data', onData).off('end', onEnd).off('close', onEnd).off('error', onEnd)
      body.pause()
      resolve(result)
    }
    body.on('data', onData).on('end', onEnd).on('close', onEnd).on('error', onEnd)
  })
}
