import { ProblemError } from './problems/problem.ts'
import type { App } from './server/base.ts'

/** Where the page of the API document sends what is tried there. */
export const TRY_OUT = '/docs/api'

/** Asks the public listener's routes, in the process. */
export type AskApi = (request: {
  readonly method: 'GET' | 'PUT' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly payload?: Buffer
}) => Promise<{
  readonly statusCode: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly rawPayload: Buffer
}>

/** What the page adds to its requests: a browser lets a stranger's page send no such header to another origin. */
const TRY_OUT_HEADER = 'x-docs'

const REQUEST_HEADERS = ['accept', 'authorization', 'content-type'] as const
const RESPONSE_HEADERS = ['allow', 'content-type', 'retry-after', 'www-authenticate'] as const

/**
 * Passes requests of the page on to the API, whose rules all apply: tokens, limits, the log of reads. The page and the API
 * have other ports, and thus other origins; so the API need not be opened to any.
 */
export function tryOut(ask: AskApi) {
  return async (app: App): Promise<void> => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'buffer' }, async (_: unknown, body: Buffer) => body)
    for (const method of ['GET', 'PUT', 'POST'] as const) {
      app.route({
        method,
        url: '/*',
        exposeHeadRoute: false,
        // The API itself asks for tokens.
        config: { access: 'open' },
        handler: async ({ url, headers, body }, reply) => {
          if (headers[TRY_OUT_HEADER] === undefined) {
            throw new ProblemError('forbidden', {
              detail: 'Only the page of the API document may use this address.',
            })
          }
          const answer = await ask({
            method,
            url: url.slice(TRY_OUT.length),
            headers: pick(headers, REQUEST_HEADERS),
            ...(Buffer.isBuffer(body) ? { payload: body } : {}),
          })
          return reply
            .code(answer.statusCode)
            .headers(pick(answer.headers, RESPONSE_HEADERS))
            .send(answer.rawPayload)
        },
      })
    }
  }
}

function pick(headers: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  )
}
