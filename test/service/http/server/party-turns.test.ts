import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { mock } from 'node:test'
import t from 'tap'
import { createTurns } from '../../../../src/service/http/server/party-turns.ts'

t.test('a request that has waited for 10 s is refused, and the next one has its turn', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const turns = createTurns(1)
  const first = await turns.enter('party-1', new EventEmitter() as ServerResponse)
  const refused = t.rejects(turns.enter('party-1', new EventEmitter() as ServerResponse), {
    message: 'Too many requests of this party are waiting. Try again later.',
  })
  mock.timers.tick(5_000)
  const entered = turns.enter('party-1', new EventEmitter() as ServerResponse)
  mock.timers.tick(5_000)
  await refused
  first.leave()
  const third = await entered
  third.leave()
  await t.resolves(
    turns.enter('party-1', new EventEmitter() as ServerResponse),
    'nobody is left in its queue',
  )
})
