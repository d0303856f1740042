import { z } from 'zod'
import { ProblemError } from '../problems/problem.ts'
import { parseJson } from '../request/json.ts'
import type { App } from '../server/base.ts'

/**
 * The version-2 placeholders (specification): `GET /preferences` is an empty object, `PUT /preferences` returns its
 * body unchanged, byte by byte, if it is JSON, whatever its content type says. Neither stores or reads anything.
 */
export async function preferencesPlaceholderRoutes(app: App): Promise<void> {
  // Without a content type every body reaches the parser below; a malformed type would be a 415 before it.
  app.addHook('onRequest', async (request) => {
    delete request.headers['content-type']
  })
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) => {
    parseJson(body)
    return body
  })

  app.get(
    '/preferences',
    { config: { access: 'token' }, schema: { response: { 200: z.strictObject({}) } } },
    async () => ({}),
  )

  const schema = { body: z.unknown(), response: { 200: z.unknown() } }
  app.put('/preferences', { config: { access: 'token' }, schema }, async (request, reply) => {
    if (!Buffer.isBuffer(request.body)) {
      throw new ProblemError('invalid-request', { detail: 'The body is missing; send JSON.' })
    }
    return reply.type('application/json; charset=utf-8').send(request.body)
  })
}
