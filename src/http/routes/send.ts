import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { App } from '../server/base.ts'

const accepted = z.object({ status: z.literal('accepted') })

/**
 * `POST /send`: accepts anything and does nothing (specification). It answers before a body would be parsed, so that
 * none can be refused; Node.js throws away what still comes of it, until the time for a request is up.
 */
export async function sendRoute(app: App): Promise<void> {
  const accept = async (_request: FastifyRequest, reply: FastifyReply) =>
    reply.code(202).send({ status: 'accepted' })
  app.post(
    '/send',
    { config: { access: 'open' }, schema: { response: { 202: accepted } }, onRequest: accept },
    accept,
  )
}
