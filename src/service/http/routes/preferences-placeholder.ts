import { z } from 'zod'
import { parseJson } from '../input/fields.ts'
import { ProblemError } from '../problems/problem.ts'
import type { HttpApp } from '../server/base.ts'

/**
 * The version-2 placeholders (specification): `GET /preferences` is an empty object, `PUT /preferences` returns its body byte by
 * byte if it is JSON, whatever its content type. They neither store nor read anything.
 */
export async function preferencesPlaceholderRoutes(app: HttpApp): Promise<void> {
  // Without a content type every body reaches the parser below; a malformed type would be a 415 before it.
  app.addHook('onRequest', async (request) => {
    delete request.headers['content-type']
  })
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) => {
    parseJson(body)
    return body
  })

  const tags = ['Placeholders']
  const getSchema = {
    tags,
    operationId: 'getPreferencesPlaceholder',
    summary: 'An empty object',
    description: 'Placeholder of version 2: reads nothing.',
    response: { 200: z.strictObject({}).meta({ examples: [{}] }) },
  }
  app.get(
    '/preferences',
    { config: { access: 'token', returnsPersonalData: false }, schema: getSchema },
    async () => ({}),
  )

  const json = z.unknown().meta({ examples: [{ anything: ['that', 'is', 'JSON'] }] })
  const putSchema = {
    tags,
    operationId: 'echoPreferencesPlaceholder',
    summary: 'The body, byte for byte, if it is JSON',
    description: 'Placeholder of version 2: stores nothing.',
    body: json,
    response: { 200: json },
  }
  app.put(
    '/preferences',
    { config: { access: 'token', returnsPersonalData: false }, schema: putSchema },
    async (request, reply) => {
      if (!Buffer.isBuffer(request.body)) {
        throw new ProblemError('invalid-request', { detail: 'The body is missing; send JSON.' })
      }
      return reply.type('application/json; charset=utf-8').send(request.body)
    },
  )
}
