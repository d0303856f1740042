import { mock } from 'node:test'
import type { FastifyReply } from 'fastify'
import t from 'tap'
import { createTurns } from '../../../../src/service/http/server/turns.ts'

t.test('a request that has waited for 10 s is refused, and the next one has its turn', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const turns = createTurns(1)
  const [first, second, third] = [{}, {}, {}] as FastifyReply[] as [FastifyReply, FastifyReply, FastifyReply]
  await turns.wait('party-1', first)
  const refused = t.rejects(turns.wait('party-1', second), {
    message: 'Too many requests of this party are waiting. Try again later.',
  })
  mock.timers.tick(5_000)
  const entered = turns.wait('party-1', third)
  mock.timers.tick(5_000)
  await refused
  turns.leave(second)
  turns.leave(first)
  await t.resolves(entered, 'its own time is not over')
  turns.leave(third)
})
