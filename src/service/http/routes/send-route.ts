import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { HttpApp } from '../server/base.ts'

/** Time for which the rest of a body is discarded. A reset would lose the answer of a client that is still writing. */
const DRAIN_MS = 2_000

const schema = {
  tags: ['Placeholders'],
  operationId: 'send',
  summary: 'Accept anything and do nothing',
  description: 'Nothing is enqueued or sent, whatever the body and its content type.',
  response: { 202: z.object({ status: z.literal('accepted') }).meta({ examples: [{ status: 'accepted' }] }) },
}

/**
 * `POST /send`: accepts anything and does nothing (specification). Answers before the body is parsed, so that none can be
 * refused; Node.js discards the rest of the body for 2 s.
 */
export async function sendRoute(app: HttpApp): Promise<void> {
  const accept = async ({ raw }: FastifyRequest, reply: FastifyReply) => {
    if (raw.complete === false) {
      const timer = setTimeout(() => raw.destroy(), DRAIN_MS)
      raw.once('close', () => clearTimeout(timer))
    }
    return reply.code(202).send({ status: 'accepted' })
  }
  app.post(
    '/send',
    { config: { access: 'open', returnsPersonalData: false }, schema, onRequest: accept },
    accept,
  )
}
